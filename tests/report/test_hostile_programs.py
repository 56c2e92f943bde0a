"""Valid programs on which reports once failed or did not end; each is a kind that random programs found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.report import view
from shardy_py.sharding import Mesh, device_slices

NOTHING = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<f32> { return %b : tensor<f32> }
"""
"""A function without ops."""

ONE_DEVICE = """sdy.mesh @mesh = <["y"=3, "w"=4]>
sdy.mesh @one = <[], device_ids=[1]>
func.func @main(%a: tensor<i1>, %b: tensor<16x4xi1>) -> (tensor<16x4xbf16>, tensor<16x4xi1>) {
  %0 = stablehlo.not %a : tensor<i1>
  %1 = sdy.sharding_constraint %0 <@one, []> : tensor<i1>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<16x4xi1>
  %3 = stablehlo.transpose %2, dims = [0, 1] : (tensor<16x4xi1>) -> tensor<16x4xi1>
  %4 = stablehlo.convert %2 : (tensor<16x4xi1>) -> tensor<16x4xbf16>
  %5 = stablehlo.or %3, %b : tensor<16x4xi1>
  return %4, %5 : tensor<16x4xbf16>, tensor<16x4xi1>
}
"""
"""Collectives whose reshards were made for each other."""

LARGE = """sdy.mesh @mesh = <["y"=3, "q"=2147483648]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %b: tensor<16x8xf32>
    {sdy.sharding = #sdy.sharding<@mesh, [{"q"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""
"""A mesh with more devices than can be listed."""

GROUPS = """sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @other = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
      axes = [#stablehlo.axis_ref<name = "y">]>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
"""Groups of devices by the axes of one of two meshes."""

NEVER = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<8x8xf32> cond {
    %1 = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.dot %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %i, %2 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
"""
"""A loop that never runs."""

PAD = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<0x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [1, 0], high = [1, 0], interior = [0, 0]
      {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
      : (tensor<0x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
"""
"""A window over a tensor without elements."""


def _xla(result: Result) -> object:
    return str(result.communication(partitioner="xla"))


def _shardy(result: Result) -> object:
    return str(result.communication(partitioner="shardy"))


def _time(result: Result) -> object:
    return str(result.time("tpu-v5p", partitioner="xla"))


def _memory(result: Result) -> object:
    return str(result.memory("linear"))


def _explorer(result: Result) -> object:
    return str(result.explorer())


def _model_explorer(result: Result) -> object:
    return result.model_explorer().text()


def _device(result: Result) -> object:
    return result.device_slices(result.values[0]).at(5)


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (NOTHING, _explorer),
        (NOTHING, _model_explorer),
        (ONE_DEVICE, _shardy),
        (LARGE, _shardy),
        (LARGE, _memory),
        (LARGE, _device),
        (GROUPS, _time),
        (NEVER, _time),
        (PAD, _xla),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_reports_end(text: str, report: Callable[[Result], object]) -> None:
    assert report(propagate(Program.parse(text, as_compiled=False)))


@pytest.mark.parametrize("report", [_xla, _time])
def test_meshes_whose_devices_are_not_listed_are_an_error(report: Callable[[Result], object]) -> None:
    result = propagate(Program.parse(LARGE))
    with pytest.raises(ShardyError, match="XLA's partitioner: expected a mesh of at most 1,048,576 devices"):
        report(result)


def test_groups_of_devices_that_are_not_listed_are_an_error() -> None:
    large = GROUPS.replace('"y"=2]>', '"y"=4194304]>', 1).replace('"y"=2]', '"y"=2]')
    result = propagate(Program.parse(large.replace("sdy.mesh @other", "sdy.mesh @unused"), as_compiled=False))
    with pytest.raises(ShardyError, match=r"expected .* at most 1,048,576 devices"):
        _xla(result)


def test_a_sharding_over_many_devices_is_drawn_and_described() -> None:
    result = propagate(Program.parse(LARGE))
    sharding, mesh = result.values[1].sharding, Mesh.of(y=3, q=1 << 31)
    assert sharding is not None
    assert "2147483648" in view.describe(sharding.value, mesh, (16, 8)).replace(",", "")
    assert view.draw(sharding.value, mesh, (16, 8))
    with pytest.raises(ShardyError, match="listed devices: expected at most"):
        _ = device_slices(sharding.value, mesh, (16, 8)).offsets


def test_traces_of_chakra_are_of_one_mesh(tmp_path: Path) -> None:
    text = """sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @other = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{}]>}) {
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
"""
    report = propagate(Program.parse(text)).time("tpu-v5p", partitioner="shardy")
    with pytest.raises(ShardyError, match="in a trace of Chakra is unsupported; use one mesh"):
        report.chakra(tmp_path)
