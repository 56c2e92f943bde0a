"""Reductions of several values: what they read is computed in their kernel, as of any reduction."""

from __future__ import annotations

from shardy_py import Program, propagate

ROWS, COLUMNS = 64, 4096
PROGRAM = f"""
func.func @main(%a: tensor<{ROWS}x{COLUMNS}xf32>) -> tensor<{ROWS}xi32> {{
  %i = stablehlo.iota dim = 1 : tensor<{ROWS}x{COLUMNS}xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %least), (%i init: %zero) across dimensions = [1]
      : (tensor<{ROWS}x{COLUMNS}xf32>, tensor<{ROWS}x{COLUMNS}xi32>, tensor<f32>, tensor<i32>)
      -> (tensor<{ROWS}xf32>, tensor<{ROWS}xi32>)
   reducer(%x: tensor<f32>, %y: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {{
    %1 = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %x, %y : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }}
  return %0#1 : tensor<{ROWS}xi32>
}}
"""


def test_positions_are_not_stored() -> None:
    """The positions that an argmax compares have as many elements as its operand."""
    estimate = propagate(Program.parse(PROGRAM)).memory(target="h100").estimate
    assert estimate is not None
    assert estimate.temporaries < ROWS * COLUMNS
