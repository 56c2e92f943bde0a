"""Reports of the communication as XLA's SPMD partitioner sends it, beside what XLA compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.api import P, Program, Result, ShardyError, propagate
from shardy_py.cli.diff import main as sdy_diff
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.testing import assert_collectives
from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import Hlo, partitioned

pytestmark = pytest.mark.reference

MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'

# w is gathered rather than h: Shardy reshards h.
PRODUCTS = (
    MESH
    + """
func.func @main(%a: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
                %w: tensor<256x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> tensor<64x16xf32> {
  %h = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %t = stablehlo.tanh %h : tensor<64x256xf32>
  %o = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0]
      : (tensor<64x256xf32>, tensor<256x16xf32>) -> tensor<64x16xf32> loc("model.py":7:3)
  return %o : tensor<64x16xf32>
}
"""
)
LOOP = (
    MESH
    + """
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<64x64xf32>
  cond {
    %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %d = func.call @layer(%v, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    stablehlo.return %n, %d : tensor<i32>, tensor<64x64xf32>
  }
  return %0#1 : tensor<64x64xf32>
}
func.func private @layer(%v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %d = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}
"""
)
MANUAL = (
    MESH
    + """
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<16x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%arg1: tensor<4x8xf32>) {
    %1 = "stablehlo.all_reduce"(%arg1) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
        replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>}
        : (tensor<4x8xf32>) -> tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
"""
)


def propagated(text: str) -> Result:
    return propagate(Program.parse(text, as_compiled=True))


def by_kind(result: Result) -> dict[str, int]:
    report = result.communication(partitioner="xla")
    return {total.key: total.cost.bytes for total in report.by_kind}


@pytest.mark.parametrize("text", [PRODUCTS, LOOP, MANUAL], ids=["products", "loop", "manual"])
def test_bytes_are_those_of_xla(text: str) -> None:
    (compiled,) = partitioned([text])
    plan = CollectivePlan(tuple(Hlo(compiled.after).collectives()))
    assert by_kind(propagated(text)) == plan.bytes_by_kind != {}


def test_the_op_and_line_of_each_collective() -> None:
    result = propagated(PRODUCTS)
    uses = result.communication(partitioner="xla").collectives
    assert {use.cause.op for use in uses} == {"stablehlo.dot_general"}
    assert {use.cause.location for use in uses} == {"model.py:7:3"}
    shardy = result.communication(partitioner="shardy")
    assert by_kind(result) != {total.key: total.cost.bytes for total in shardy.by_kind}


def test_calls_are_inlined_and_runs_of_loops_count() -> None:
    report = propagate(Program.parse(LOOP)).communication(partitioner="xla")
    assert {use.times for use in report.collectives} == {5}
    assert report.total.bytes == sum(by_kind(propagated(LOOP)).values())


def test_collectives_of_the_program_count_once_with_their_axes() -> None:
    uses = propagated(MANUAL).communication(partitioner="xla").collectives
    assert [(use.kind, use.axes) for use in uses if use.cause.is_explicit] == [("all_reduce", (("x", 4),))]
    assert [use.kind for use in uses].count("all_reduce") == 1


def test_reports_say_whose_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(PRODUCTS)
    command = [str(path), "--sdy-propagation-pipeline", "--communication-report"]
    assert sdy_opt([*command, "--partitioner=xla"]) == 0
    assert capsys.readouterr().out.startswith("Communication of XLA's SPMD partitioner (partitioner: xla)")
    assert sdy_opt(command) == 0
    assert capsys.readouterr().out.startswith("Communication of Shardy's reshards (partitioner: shardy)")
    assert sdy_opt([*command, "--partitioner=xla", "--json"]) == 0
    assert '"partitioner": "xla"' in capsys.readouterr().out
    assert sdy_opt([*command, "--partitioner=gspmd"]) == 1
    assert "Cannot find option named 'gspmd'" in capsys.readouterr().err


def test_differences_by_partitioner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("a.mlir", "b.mlir")]
    paths[0].write_text(PRODUCTS)
    paths[1].write_text(PRODUCTS.replace('[{"x"}, {"y"}]>})', '[{}, {"y"}]>})'))
    command = [*map(str, paths), "--propagate"]
    assert sdy_diff([*command, "--partitioner", "xla"]) == 0
    by_xla = capsys.readouterr().out
    assert sdy_diff(command) == 0
    assert capsys.readouterr().out != by_xla


def test_tests_can_pin_xla() -> None:
    result = propagated(PRODUCTS)
    counts = result.communication(partitioner="xla").counts
    assert_collectives(result, counts, partitioner="xla")
    with pytest.raises(ShardyError, match="partitioner"):
        result.communication(partitioner="gspmd")  # pyright: ignore[reportArgumentType]


WITH_AXES = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<2048x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
                  %arg1: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
      -> (tensor<2048x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2}]>}) {
    %0 = stablehlo.dot %arg0, %arg1 : (tensor<2048x256xf32>, tensor<256x64xf32>) -> tensor<2048x64xf32>
    return %0 : tensor<2048x64xf32>
  }
}
"""


def test_axes_and_operands_are_named() -> None:
    result = propagate(Program.parse(WITH_AXES))
    report = result.communication()
    assert report.partitioner == "xla"
    assert {use.kind: use.axes for use in report.sending} == {"all_reduce": (("y:(2)2", 2),)}
    assert all(result.sides(use) for use in report.sending)


@pytest.mark.parametrize(("edit", "axes"), [("y", (("y", 4),)), ("y:(1)2", (("y:(1)2", 2),))])
def test_gathers_along_axes_and_sub_axes(edit: str, axes: tuple[tuple[str, int], ...]) -> None:
    name, _, part = edit.partition(":")
    spelled = f'"{name}":{part}' if part else f'"{name}"'
    text = WITH_AXES.replace('[{}, {"y"}]', f"[{{}}, {{{spelled}}}]").replace('[{"y"}, {}]', "[{}, {}]")
    result = propagate(Program.parse(text.replace('[{"x"}, {"y":(1)2}]', "[{}, {}]")))
    found = [(use.kind, use.axes, use.cause.operand) for use in result.communication().sending]
    assert found[-1][1] == axes


def test_what_if_is_that_of_xla() -> None:
    """tanh(x@u)@d with a batch of 2048: rows of d take half of what XLA sends before."""
    text = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["data"=1, "model"=8]>
  func.func @main(%arg0: tensor<2048x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                  %arg1: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %arg2: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
      -> tensor<2048x1024xf32> {
    %0 = stablehlo.dot %arg0, %arg1 : (tensor<2048x1024xf32>, tensor<1024x4096xf32>) -> tensor<2048x4096xf32>
    %1 = stablehlo.tanh %0 : tensor<2048x4096xf32>
    %2 = stablehlo.dot %1, %arg2 : (tensor<2048x4096xf32>, tensor<4096x1024xf32>) -> tensor<2048x1024xf32>
    return %2 : tensor<2048x1024xf32>
  }
}
"""
    result = propagate(Program.parse(text))
    better = result.what_if({"%arg2": P("model", None)})
    assert [figures.partitioner for figures in better.figures] == ["xla", "xla"]
    assert [figures.bytes for figures in better.figures] == [29_360_128, 14_680_064]


def test_without_a_plan_of_xla_shardy_is_reported() -> None:
    text = WITH_AXES.replace('"y"=4', '"y"=1073741824')
    report = propagate(Program.parse(text)).communication()
    assert report.partitioner == "shardy"
    assert "XLA's cannot be planned" in str(report)
    with pytest.raises(ShardyError):
        propagate(Program.parse(text)).communication(partitioner="xla")
