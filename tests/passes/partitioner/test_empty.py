"""Tensors without elements: each device holds the empty tensor."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

MESH = 'sdy.mesh @mesh = <["x"=2]>\n'
SHARDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
SLICE = f"""{MESH}func.func @main(%x: tensor<4xf32> {SHARDED}) -> tensor<0xf32> {{
  %0 = stablehlo.slice %x [1:1:2] : (tensor<4xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}}
"""
CONCATENATE = f"""{MESH}func.func @main(%x: tensor<4xf32> {SHARDED}) -> tensor<4xf32> {{
  %0 = stablehlo.slice %x [1:1:2] : (tensor<4xf32>) -> tensor<0xf32>
  %1 = stablehlo.concatenate %0, %x, dim = 0 : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}
"""


@pytest.mark.parametrize("text", [SLICE, CONCATENATE], ids=["slice", "concatenate"])
@pytest.mark.filterwarnings("ignore")
def test_empty_tensors_are_partitioned(text: str) -> None:
    result = propagate(Program.parse(text))
    assert result.partition().prove().is_equal
    assert result.communication(partitioner="shardy").counts == result.partition().communication().counts
