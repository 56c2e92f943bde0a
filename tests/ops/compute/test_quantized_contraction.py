"""Products of quantized tensors, against exact sums of the numbers that they stand for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shardy_py.ops.compute import Array
from tests.ops.compute.against_jax import run_text

LEFT, RIGHT = "!quant.uniform<i8:f32, 0.5:-1>", "!quant.uniform<i8:f32, 0.25:2>"
BY_AXIS = "!quant.uniform<i8<-127:127>:f32:1, {0.5, 0.25:0, 2.0}>"
RESULT = "!quant.uniform<i8:f32, 4.0:3>"
INTEGERS = "!quant.uniform<i32:f32, 0.125:0>"


def _numbers(stored: Array, scales: list[float], zero_points: list[int]) -> list[list[Fraction]]:
    """The values of the rows of a matrix; scales and zero points by column."""
    columns = list(zip(scales, zero_points, strict=True))
    return [
        [(int(x) - zero) * Fraction(scale) for x, (scale, zero) in zip(row, columns, strict=True)]
        for row in stored
    ]


def _stored(value: Fraction, scale: float, zero_point: int, low: int, high: int) -> int:
    """The integer nearest to a value, halves to even."""
    return min(max(round(value / Fraction(scale) + zero_point), low), high)


def _products(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = list(zip(*right, strict=True))
    return [[sum(map(Fraction.__mul__, row, column), Fraction()) for column in columns] for row in left]


CONVOLUTION = (
    "stablehlo.convolution(%x, %w) dim_numbers = [b, f]x[i, o]->[b, f], window = {} "
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
)
PRODUCT = "stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
RIGHTS = {RIGHT: ([0.25] * 3, [2] * 3), BY_AXIS: ([0.5, 0.25, 2.0], [0] * 3)}
RESULTS = {RESULT: (4.0, 3, 8), INTEGERS: (0.125, 0, 32)}


@pytest.mark.parametrize("op", [PRODUCT, CONVOLUTION])
@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("result", RESULTS)
def test_products_are_those_of_the_values(op: str, right: str, result: str) -> None:
    """dequantize_op_quantize of StableHLO's specification; a convolution with windows of one element."""
    types = f"(tensor<4x5x{LEFT}>, tensor<5x3x{right}>) -> tensor<4x3x{result}>"
    scale, zero_point, bits = RESULTS[result]
    text = f"""func.func @main(%a: tensor<4x5xi8>, %b: tensor<5x3xi8>) -> tensor<4x3xi{bits}> {{
  %x = stablehlo.bitcast_convert %a : (tensor<4x5xi8>) -> tensor<4x5x{LEFT}>
  %w = stablehlo.bitcast_convert %b : (tensor<5x3xi8>) -> tensor<5x3x{right}>
  %0 = {op}{types}
  %1 = stablehlo.bitcast_convert %0 : (tensor<4x3x{result}>) -> tensor<4x3xi{bits}>
  return %1 : tensor<4x3xi{bits}>
}}"""
    random = np.random.default_rng(0)
    a, b = (random.integers(-127, 128, shape).astype(np.int8) for shape in ((1, 4, 5), (1, 5, 3)))
    (got,) = run_text(text, a, b)
    values = _products(_numbers(a[0], [0.5] * 5, [-1] * 5), _numbers(b[0], *RIGHTS[right]))
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    assert got[0].tolist() == [[_stored(v, scale, zero_point, low, high) for v in row] for row in values]


def test_hybrid_products_are_of_floats() -> None:
    """hybrid_dequantize_then_op: only the right operand is quantized."""
    text = f"""func.func @main(%x: tensor<2x2xf32>, %b: tensor<2x3xi8>) -> tensor<2x3xf32> {{
  %w = stablehlo.bitcast_convert %b : (tensor<2x3xi8>) -> tensor<2x3x{BY_AXIS}>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<2x2xf32>, tensor<2x3x{BY_AXIS}>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}}"""
    x = np.array([[[1.5, 2], [0, -1]]], np.float32)
    b = np.array([[[2, 4, 1], [-2, 8, 3]]], np.int8)
    (got,) = run_text(text, x, b)
    assert got[0].tolist() == [[-0.5, 5.5, 15], [1, -2, -6]]
