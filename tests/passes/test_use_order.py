"""Uses are in program order, the newest first, as propagation is to visit them."""

from __future__ import annotations

from shardy_py.api import pipeline
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops
from shardy_py.passes.import_.constants import renew_uses

BRANCHES = """
  func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.negate %a : tensor<i32>
    %1 = "stablehlo.case"(%a) ({
      %2 = stablehlo.add %a, %a : tensor<i32>
      stablehlo.return %a : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    return %a : tensor<i32>
  }"""


def test_an_op_with_regions_comes_before_what_they_hold() -> None:
    module = parse_module(BRANCHES)
    value = find_ops(module, "stablehlo.case")[0].operands[0]
    before = [(use.operation.name, use.index) for use in value.uses]
    renew_uses(module)
    after = [(use.operation.name, use.index) for use in value.uses]
    assert before[0] == after[0] == ("func.return", 0)
    assert before[1:] == [
        ("stablehlo.case", 0),
        ("stablehlo.return", 0),
        ("stablehlo.add", 1),
        ("stablehlo.add", 0),
        ("stablehlo.negate", 0),
    ]
    assert after[1:] == [
        ("stablehlo.return", 0),
        ("stablehlo.add", 1),
        ("stablehlo.add", 0),
        ("stablehlo.case", 0),
        ("stablehlo.negate", 0),
    ]
    assert print_module(module) == print_module(parse_module(BRANCHES))


def test_propagation_follows_that_order() -> None:
    """The loop takes `%arg1` before the branch in it returns it; found by a differential test."""
    text = """
      sdy.mesh @mesh = <["x"=2]>
      func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<f32>) {
        %0:2 = stablehlo.while(%x = %arg1, %y = %arg2) : tensor<8x8xf32>, tensor<f32> cond {
          %2 = stablehlo.compare LT, %y, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %2 : tensor<i1>
        } do {
          %2 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
          %c = stablehlo.constant dense<0> : tensor<i32>
          %3:2 = "stablehlo.case"(%c) ({
            %4 = stablehlo.add %x, %2 : tensor<8x8xf32>
            stablehlo.return %4, %arg1 : tensor<8x8xf32>, tensor<8x8xf32>
          }, {
            stablehlo.return %x, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
          }) : (tensor<i32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
          stablehlo.return %3#1, %y : tensor<8x8xf32>, tensor<f32>
        }
        %1 = sdy.sharding_constraint %arg1 <@mesh, [{?}, {"x", ?}]> : tensor<8x8xf32>
        return
      }"""
    result = pipeline.decide_shardings(text)
    assert '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in result
