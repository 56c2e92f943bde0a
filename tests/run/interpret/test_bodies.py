"""Regions of one op on their arguments and on constants."""

from __future__ import annotations

import numpy as np

from shardy_py import Program

FOLDED = """func.func @main(%a: tensor<4xi32>, %i: tensor<i32>) -> tensor<i32> {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.constant dense<3> : tensor<i32>
    %l = stablehlo.maximum %y, %c : tensor<i32>
    stablehlo.return %l : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}"""


def test_a_combiner_of_an_argument_and_a_constant_runs() -> None:
    results = Program.parse(FOLDED).run([np.array([5, 1, 7, 2], np.int32), np.array(0, np.int32)])
    assert int(results["result 0"]) in (3, 5, 7)
