"""What became of values: held against marks that ops carry through the passes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, cast

import pytest
from xdsl.dialects.builtin import IntegerAttr, i64

from shardy_py.api import Options, Program, Value, propagate

MARK = "test.mark"
PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<i1>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %scalar = stablehlo.constant dense<1.0> : tensor<f32>
  %unused = stablehlo.constant dense<3.0> : tensor<8x8xf32>
  %row = stablehlo.iota dim = 0 : tensor<8xf32>
  %whole = stablehlo.broadcast_in_dim %row, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %sum = stablehlo.add %whole, %whole : tensor<8x8xf32>
  %ones = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %0 = stablehlo.add %arg0, %sum : tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %ones : tensor<8x8xf32>
  %2 = stablehlo.add %arg1, %sum : tensor<8x8xf32>
  %3 = stablehlo.multiply %2, %ones : tensor<8x8xf32>
  %4 = func.call @twice(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = func.call @twice(%3) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = func.call @once(%4) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %7 = stablehlo.while(%held = %5) : tensor<8x8xf32>
  cond {
    stablehlo.return %arg2 : tensor<i1>
  } do {
    %8 = stablehlo.subtract %held, %whole : tensor<8x8xf32>
    stablehlo.return %8 : tensor<8x8xf32>
  }
  return %6, %7, %whole : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @twice(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = func.call @once(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = func.call @once(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func private @once(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<8x8xf32>
  %0 = stablehlo.power %arg0, %c : tensor<8x8xf32>
  %1 = stablehlo.power %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""


def marked() -> Program:
    program = Program.parse(PROGRAM)
    for number, value in enumerate(results(program)):
        value.entry.op.attributes[MARK] = IntegerAttr(number, i64)
    return program


def results(program: Program) -> list[Value]:
    """Those of ops, block arguments left out."""
    entries = [(value, value.entry) for value in program.values if value.role == "intermediate"]
    return [value for value, entry in entries if cast(Any, entry.value).owner is entry.op]


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(enable_insert_explicit_collectives=True),
        Options(dedup_functions_fully=True),
        Options(propagation_strategy="basic"),
    ],
)
def test_values_lead_to_all_their_copies(options: Options) -> None:
    program = marked()
    result = propagate(program, options)
    carrying: dict[object, set[Value]] = defaultdict(set)
    for value in results(result.program):
        carrying[value.entry.op.attributes.get(MARK)].add(value)
    counts: set[int] = set()
    for value in results(program):
        copies = result.copies(value)
        assert set(copies) == carrying[value.entry.op.attributes[MARK]], value
        counts.add(len(copies))
    assert {0, 1, 2} <= counts
