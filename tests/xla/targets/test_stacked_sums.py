"""Small sums that a loop stacks are summed after it, unless a tuple has an element at their position.

As jax 0.10.2 compiles gradients of layers for an H100, with and without `jax.checkpoint`, whose barrier is in
the body of the loop.
"""

from __future__ import annotations

import pytest

from tests.xla.targets.test_gathered_rows import sent

_TEXT = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<4x64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
    %y: tensor<16xf32>, %z: tensor<16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %0:3 = stablehlo.while(%i = %zero, %c = %y, %sums = %none) : tensor<i32>, tensor<16xf32>, tensor<4x16xf32>
    cond {
      %n = stablehlo.constant dense<4> : tensor<i32>
      %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %first = stablehlo.constant dense<0> : tensor<i32>
      %start = stablehlo.constant dense<0.0> : tensor<f32>
      %part = stablehlo.dynamic_slice %x, %i, %first, %first, sizes = [1, 64, 16]
        : (tensor<4x64x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x16xf32>
      %a = stablehlo.reshape %part : (tensor<1x64x16xf32>) -> tensor<64x16xf32>
      BARRIER
      %e = stablehlo.multiply %d, USED : tensor<16xf32>
      %s = stablehlo.reduce(%b init: %start) applies stablehlo.add across dimensions = [0]
        : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
      %row = stablehlo.reshape %s : (tensor<16xf32>) -> tensor<1x16xf32>
      %new = stablehlo.dynamic_update_slice %sums, %row, %i, %first
        : (tensor<4x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %e, %new : tensor<i32>, tensor<16xf32>, tensor<4x16xf32>
    }
  return %0#1, %0#2 : tensor<16xf32>, tensor<4x16xf32>
}"""
_TWO = "%b, %d = stablehlo.optimization_barrier %a, %c : tensor<64x16xf32>, tensor<16xf32>"
_THREE = """%b, %d, %f = stablehlo.optimization_barrier %a, %c, %z
        : tensor<64x16xf32>, tensor<16xf32>, tensor<16xf32>"""


@pytest.mark.parametrize(
    ("barrier", "used", "size"),
    [(_TWO, "%z", 4 * 16 * 4), (_THREE, "%z", 4 * 16 * 4), (_THREE, "%f", 16 * 4)],
)
def test_sums_are_stacked_first_if_no_element_is_at_their_position(
    barrier: str, used: str, size: int
) -> None:
    assert sent(_TEXT.replace("BARRIER", barrier).replace("USED", used)) == [("all_reduce", size)]
