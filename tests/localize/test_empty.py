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
ROW = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}'
GATHER = f"""{MESH}func.func @main(%x: tensor<4xf32> {SHARDED}) -> tensor<0xf32> {{
  %0 = stablehlo.slice %x [1:1:2] {ROW} : (tensor<4xf32>) -> tensor<0xf32>
  %1 = sdy.all_gather [{{"x"}}] %0 out_sharding=<@mesh, [{{}}]> : tensor<0xf32>
  return %1 : tensor<0xf32>
}}
"""
WINDOW = f"""{MESH}func.func @main(%x: tensor<0xf32> {SHARDED}) -> (tensor<2xf32> {SHARDED}) {{
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{{window_dimensions = array<i64: 2>,
      padding = dense<[[1, 2]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) {ROW} : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}
"""
ROWS = SHARDED.replace("]>}", ", {}]>}")
RESHAPE = f"""{MESH}func.func @main(%x: tensor<4x0xf32> {ROWS}) -> tensor<0x0x4xf32> {{
  %0 = stablehlo.reshape %x : (tensor<4x0xf32>) -> tensor<0x0x4xf32>
  return %0 : tensor<0x0x4xf32>
}}
"""


@pytest.mark.parametrize(
    "text", [SLICE, CONCATENATE, GATHER, WINDOW], ids=["slice", "concatenate", "gather", "window"]
)
@pytest.mark.filterwarnings("ignore")
def test_empty_tensors_are_partitioned(text: str) -> None:
    result = propagate(Program.parse(text))
    assert result.partition().prove().is_equal
    assert result.communication(partitioner="shardy").counts == result.partition().communication().counts


RESHARD = """sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<0x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<0x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %x : tensor<0x8xf32>
}
"""


@pytest.mark.parametrize("text", [RESHAPE, RESHARD])
def test_xla_sends_nothing_for_empty_tensors(text: str) -> None:
    result = propagate(Program.parse(text, as_compiled=False))
    assert not result.communication(partitioner="xla").sending
