"""Programs on which damaged inputs showed an internal error."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.cli.check import main as check
from shardy_py.cli.compare import main as compare
from shardy_py.cli.diff import main as diff
from shardy_py.cli.opt import main as opt

BLOCKS = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  "cf.br"()[^end] : () -> ()
^end:
  return %x : tensor<8xf32>
}
"""
HUGE = """
func.func @main(%x: tensor<4xf32>) -> tensor<8x9223372036854775807x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<4xf32>) -> tensor<8x9223372036854775807x4xf32>
  return %0 : tensor<8x9223372036854775807x4xf32>
}
"""
GATHERED = """HloModule m, is_scheduled=true
ENTRY %main {
  %p = f32[30,2]{1,0} parameter(0)
  ROOT %g = f32[30,4611686018427387904]{1,0} all-gather(%p), dimensions={1}, replica_groups={{0,2},{1,3}}
}
"""
UNREGISTERED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  "interpreter.run_parallel"() {infeed = [@queue], programs = [[@f]]} : () -> ()
  return %x : tensor<4xf32>
}
"""

ODD = """
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %c: tensor<f32>)
    -> tensor<6x16xf32> {
  %0 = "stablehlo.reduce_window"(%x, %c, %x) <{window_dimensions = array<i64: 3, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%a) : (tensor<f32>) -> ()
  }) : (tensor<8x16xf32>, tensor<f32>, tensor<8x16xf32>) -> tensor<6x16xf32>
  return %0 : tensor<6x16xf32>
}
"""
NOWHERE = """
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<4x3x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {}]>},
    %y: tensor<3x8xi32>) -> tensor<4x3x8xi32> {
  %0 = "chlo.broadcast_add"(%x, %y) <{broadcast_dimensions = array<i64: 3, 2>}>
    : (tensor<4x3x8xi32>, tensor<3x8xi32>) -> tensor<4x3x8xi32>
  return %0 : tensor<4x3x8xi32>
}
"""
ENDLESS = """
func.func @main(%x: tensor<8xf32>) {
  %s0 = shard.sharding @grid split_axes"= [[9223372036854775808, 9223372036854775808]] : !shard.sharding
  return
}
"""
JOINED = """
func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @SPMDShardToFullShape() {mhlo.sharding = "{devices=[2]<=[2]}"}
    : () -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
    : (tensor<8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
BRANCHES = """
sdy.mesh @mesh = <["a"=2]>
func.func @main(%i: tensor<i32>, %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>})
    -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
"""
NAMED = """
"builtin.module"() ({
^bb0:
}) {sym_name = dense<[0, 1]> : tensor<2xi55>} : () -> ()
"""
TURNED = """
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}, {"a"}]>] out_shardings=[<@mesh, [{"a"}]>]
      manual_axes={"a"} (%y: tensor<8x8xf32>) {
    %1 = stablehlo.dot_general %y, %y, batching_dims = [1] x [1], contracting_dims = [0] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8x16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""
ORIGINAL = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = 3 : i64} {
  %c = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0 = stablehlo.add %x, %c : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""
PERMUTED = """HloModule m, is_scheduled=true
ENTRY %main {
  %p = f32[8] parameter(0)
  ROOT %g = f32[8] collective-permute(%p), source_target_pairs={{0,1,2},{1,0}}
}
"""


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (BLOCKS, ["--allow-unregistered-dialect", "--memory-report"]),
        (HUGE, ["--memory-report"]),
        (UNREGISTERED, ["--allow-unregistered-dialect", "--sdy-propagation-pipeline"]),
        (ODD, ["--communication-report", "--sdy-propagation-pipeline"]),
        (NOWHERE, ["--communication-report", "--partitioner=shardy", "--sdy-propagation-pipeline"]),
        (ENDLESS, ["--sdy-propagation-pipeline"]),
        (JOINED, ["--xla-sdy-stablehlo-round-trip-shard-map-import"]),
        (BRANCHES, ["--memory-report", "--sdy-propagation-pipeline"]),
        (NAMED, ["--sdy-propagation-pipeline"]),
        (TURNED, ["--memory-report", "--sdy-propagation-pipeline"]),
        (ORIGINAL, ["--sdy-propagation-pipeline"]),
    ],
)
def test_sdy_opt_ends_without_internal_error(text: str, flags: list[str], tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_text(text)
    assert opt([str(path), "--no-progress", *flags]) in (0, 1)


@pytest.mark.parametrize("text", [HUGE, GATHERED])
def test_the_linter_takes_programs_of_any_size(text: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text(text)
    assert check([str(path), "--no-progress"]) in (0, 1)


def test_a_difference_of_programs_without_locations_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(
        "func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@none, [{}]>} loc(unknown)) {\n"
        "  return loc(unknown)\n} loc(unknown)\n"
    )
    assert diff([str(path), str(path), "--propagate", "--no-progress"]) == 2
    assert f"{path}:1:1: error: 'func.func' op arg 0 - unknown mesh: @none" in capsys.readouterr().err


def test_what_is_no_pair_of_devices_is_left_out(tmp_path: Path) -> None:
    program, path = tmp_path / "program.mlir", tmp_path / "compiled.hlo"
    program.write_text(UNREGISTERED.replace('  "interpreter.run_parallel"', "  //"))
    path.write_text(PERMUTED)
    assert compare([str(program), str(path), "--no-progress"]) in (0, 1)
