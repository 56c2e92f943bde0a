"""Values that regions use from outside: found for all ops at once as for each alone."""

from __future__ import annotations

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import ops_with_regions
from shardy_py.mlir.nesting import free_values, free_values_inside

NESTED = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = "stablehlo.if"(%c) ({
    %2 = stablehlo.add %b, %0 : tensor<4xf32>
    %3:2 = stablehlo.while(%x = %a, %y = %c) : tensor<4xf32>, tensor<i1>
    cond {
      stablehlo.return %y : tensor<i1>
    } do {
      %4 = stablehlo.add %x, %2 : tensor<4xf32>
      %5 = stablehlo.add %4, %b : tensor<4xf32>
      stablehlo.return %5, %c : tensor<4xf32>, tensor<i1>
    }
    stablehlo.return %3#0 : tensor<4xf32>
  }, {
    stablehlo.return %0 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def test_free_values_of_all_ops_are_those_of_each() -> None:
    module = parse_module(NESTED)
    found = free_values_inside(module)
    ops = [op for op in ops_with_regions(module) if op is not module]
    assert {id(op) for op in ops} == found.keys()
    assert all(found[id(op)] == [*dict.fromkeys(free_values(op))] for op in ops)
    assert [len(found[id(op)]) for op in ops] == [0, 4, 3]
