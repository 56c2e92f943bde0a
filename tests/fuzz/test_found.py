"""Programs on which damaged inputs showed an internal error."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.cli.check import main as check
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


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (BLOCKS, ["--allow-unregistered-dialect", "--memory-report"]),
        (HUGE, ["--memory-report"]),
        (UNREGISTERED, ["--allow-unregistered-dialect", "--sdy-propagation-pipeline"]),
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
