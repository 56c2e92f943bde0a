"""The sharding of a value, from wherever it is written."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.sdy.verify_sharding import sharding_behind_barriers, sharding_of

PROGRAM = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %arg1: tensor<8xf32>) {
  %0 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}]>]>} : tensor<8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}]> : tensor<8xf32>
  %2 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{"a", "b"}]>] out_shardings=[<@mesh, [{"a"}]>]
      manual_axes={"a"} (%arg2: tensor<4xf32>) {
    %6 = stablehlo.negate %arg2 : tensor<4xf32>
    sdy.return %6 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.sign %2 : tensor<8xf32>
  %4 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8xf32>
  %5 = stablehlo.sqrt %4 : tensor<8xf32>
  return
}
"""


@pytest.fixture
def ops() -> dict[str, Any]:
    """The ops of the program by name."""
    return {op.name: op for op in parse_module(PROGRAM).walk()}


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("stablehlo.abs", None),
        ("sdy.reshard", '<@mesh, [{"b"}]>'),
        ("stablehlo.sign", '<@mesh, [{"a"}]>'),
        ("stablehlo.negate", '<@mesh, [{"b"}]>'),
        ("stablehlo.sqrt", None),
    ],
)
def test_sharding_of_operands(ops: dict[str, Any], user: str, expected: str | None) -> None:
    found = sharding_of(ops[user].operands[0])
    assert (found and str(found)) == expected


def test_sharding_of_arguments(ops: dict[str, Any]) -> None:
    first, second = ops["func.func"].body.blocks[0].args
    assert str(sharding_of(first)) == '<@mesh, [{"a"}]>'
    assert sharding_of(second) is None


def test_behind_a_barrier(ops: dict[str, Any]) -> None:
    assert str(sharding_behind_barriers(ops["stablehlo.sqrt"].operands[0])) == '<@mesh, [{"b"}]>'


def test_of_a_reshard(ops: dict[str, Any]) -> None:
    assert str(sharding_of(ops["sdy.reshard"].results[0])) == "<@mesh, [{}]>"
