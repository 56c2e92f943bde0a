"""Operands and sums that are reshaped for what sends them have other ranks than the ops that need them."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

DOT = """sdy.mesh @mesh = <["a"=3, "b"=8, "c"=2]>
func.func @main(%x: tensor<3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c", ?}, {?}]>})
    -> tensor<3xf32> {
  %0:2 = call @f(%x) : (tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3x3xf32>)
  return %0#0 : tensor<3xf32>
}
func.func private @f(%x: tensor<3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b":(2)4, ?}]>})
    -> (tensor<3xf32>, tensor<3x3x3xf32>) {
  %0 = sdy.sharding_constraint %x <@mesh, [{?}, {?}]> : tensor<3x3xf32>
  %1 = stablehlo.dot_general %x, %x, batching_dims = [0] x [1], contracting_dims = [] x []
    : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3x3xf32>
  %2 = stablehlo.dot_general %0, %0, batching_dims = [1] x [1], contracting_dims = [0] x [0]
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>}
    : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
  return %2, %1 : tensor<3xf32>, tensor<3x3x3xf32>
}
"""
SUM = """sdy.mesh @mesh = <["a"=2, "b"=1]>
sdy.mesh @turned = <["a"=2, "b"=1], device_ids=[1, 0]>
func.func @main(%x: tensor<8x4xf32>, %y: tensor<4x4xf32>,
    %z: tensor<4x4x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {}, {}, {?}]>},
    %p: tensor<i1>) -> tensor<4x8x4xf32> {
  %0 = stablehlo.convolution(%y, %x) dim_numbers = [b, f]x[o, i]->[b, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64,
     sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}
    : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x4x8xf32>
  %2 = "stablehlo.if"(%p) ({
    stablehlo.return %1 : tensor<4x4x8xf32>
  }, {
    stablehlo.return %1 : tensor<4x4x8xf32>
  }) : (tensor<i1>) -> tensor<4x4x8xf32>
  %3 = stablehlo.reshape %2
    {sdy.sharding = #sdy.sharding_per_value<[<@turned, [{?}, {?}, {?}, {"a", ?}]>]>}
    : (tensor<4x4x8xf32>) -> tensor<4x1x4x8xf32>
  %4:2 = stablehlo.optimization_barrier %y, %3 : tensor<4x4xf32>, tensor<4x1x4x8xf32>
  %5 = stablehlo.dot_general %4#0, %z, batching_dims = [1] x [0], contracting_dims = [0] x [1]
    : (tensor<4x4xf32>, tensor<4x4x8x4xf32>) -> tensor<4x8x4xf32>
  return %5 : tensor<4x8x4xf32>
}
"""


@pytest.mark.parametrize("text", [DOT, SUM], ids=["product", "sum"])
@pytest.mark.parametrize("target", ["h100", "tpu-v5p"])
def test_programs_of_reshaped_parts_are_compiled(text: str, target: str) -> None:
    report = propagate(Program.parse(text)).communication(target=target)
    assert str(report).partition("\n")[0].endswith(f"for {target}")
