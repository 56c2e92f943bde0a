"""`--target` of `sdy-diff` and `sdy-suggest`, for each kind of device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shardy_py.cli import diff, suggest

_DEVICES = (
    "cpu",
    "h100",
    "h200",
    "b200",
    "mi300x",
    "tpu-v4",
    "tpu-v5e",
    "tpu-v5p",
    "tpu-v6e",
    "tpu7x",
    "trn2",
)
_TEXT = """
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<64x32xf32>SHARDING, %w: tensor<32x16xf32>,
    %v: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [0] x [0]
      : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.add %0, %w : tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
"""
_ROWS = ' {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, sharding in (("a.mlir", ""), ("b.mlir", _ROWS)):
        (tmp_path / name).write_text(_TEXT.replace("SHARDING", sharding))
    return [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]


@pytest.mark.parametrize("device", _DEVICES)
def test_differences_are_those_of_a_target(
    device: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert diff.main([*files, "--propagate", "--json", "--target", device]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"]["collectives"] == {"all_reduce": 1}
    assert diff.main([*files, "--propagate", "--target", device]) == 0
    assert device in capsys.readouterr().out


@pytest.mark.parametrize("device", _DEVICES)
def test_plans_are_scored_for_a_target(
    device: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert suggest.main([files[0], "--tries", "4", "--target", device]) == 0
    assert device in capsys.readouterr().out
