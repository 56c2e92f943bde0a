"""What programs lack for their reports: one remark each, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import P, Program, propagate
from shardy_py.cli.opt import main
from shardy_py.mlir.dialects import parse_module
from shardy_py.xla.gspmd.missing import remarks_on_missing

PLAIN = """
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
MESH = 'sdy.mesh @mesh = <["x"=4]>\n'
SHARDED = PLAIN.replace(
    "tensor<8x16xf32>)", "tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})"
)
SINGLE = """
sdy.mesh @one = <[], device_ids=[0]>
func.func @main(%w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%w)
      {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
LOCAL = """
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
NO_MESH = "no mesh and no shardings, so each device computes the whole program; "
NO_SHARDINGS = "no shardings, though mesh "
NO_LINES = "no source locations, so reports name lines of this text: print it by jax.jit(f).lower("


def by_jax(text: str, locations: str = "") -> str:
    return f"module @jit_f attributes {{mhlo.num_partitions = 4 : i32}} {{{text}}}{locations}"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (PLAIN, [f"{NO_MESH}add sdy.mesh @mesh"]),
        (
            MESH + PLAIN,
            [f'{NO_SHARDINGS}@mesh <["x"=4]>, so each device computes the whole program; give arguments'],
        ),
        (MESH + SHARDED, []),
        (SINGLE, [NO_MESH, NO_LINES]),
        (LOCAL, []),
        (f'module attributes {{mhlo.spmd_output_sharding = "{{replicated}}"}} {{{PLAIN}}}', []),
        (by_jax(PLAIN), [f"{NO_MESH}pass in_shardings=NamedSharding(", NO_LINES]),
        (by_jax(MESH + SHARDED), [NO_LINES]),
        (by_jax(MESH + SHARDED, " loc(unknown)"), []),
        (by_jax(PLAIN.replace("16xf32>)", '16xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"})')), [NO_LINES]),
    ],
)
def test_remarks(text: str, starts: list[str]) -> None:
    remarks = remarks_on_missing(parse_module(text))
    assert len(remarks) == len(starts)
    assert all(remark.startswith(start) for remark, start in zip(remarks, starts, strict=True))


def test_results_say_once_what_their_reports_need(caplog: pytest.LogCaptureFixture) -> None:
    program = Program.parse(MESH + PLAIN, "a.mlir")
    result = propagate(program)
    assert NO_SHARDINGS not in caplog.text
    result.memory()
    result.communication()
    assert caplog.text.count(f"a.mlir: remark: {NO_SHARDINGS}") == 1
    caplog.clear()
    propagate(program.annotate({"%a": P("x", None)})).time()
    assert NO_SHARDINGS not in caplog.text


def test_reports_of_the_command_line_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(by_jax(PLAIN))
    for flags, count in (
        (["--memory-report=linear", "--communication-report"], 1),
        (["--sdy-partitioner-pipeline", "--prove"], 0),
        ([], 0),
    ):
        assert main([str(path), "--sdy-propagation-pipeline", *flags]) == 0
        err = capsys.readouterr().err
        assert [err.count(f"a.mlir: remark: {text}") for text in (NO_MESH, NO_LINES)] == [count, count]


def test_values_on_one_device_are_planned_without_another_mesh() -> None:
    report = propagate(Program.parse(SINGLE)).communication(partitioner="xla")
    assert not report.sending
