"""A local program runs on XLA's CPU devices as in the simulator; more: `python -m tests.partition.on_xla`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x6xf32>, tensor<i32>) {
  %0 = stablehlo.dot %a, %b : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.tanh %0 : tensor<8x6xf32>
  %2 = stablehlo.constant dense<3> : tensor<i32>
  return %1, %2 : tensor<8x6xf32>, tensor<i32>
}
"""  # noqa: E501


def test_the_local_program_runs_on_devices_of_jax(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib", reason="JAX is not installed")
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    command = [sys.executable, "-m", "tests.partition.on_xla", str(file)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "1 programs, 1 equal\n", done.stdout + done.stderr
