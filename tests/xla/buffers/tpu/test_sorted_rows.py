"""Sorts and selections of rows: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_NEAR = 128 << 10


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _selected(rows: int, count: int, element: str = "f32") -> str:
    given, held = f"tensor<{rows}x131072x{element}>", f"tensor<{rows}x131072xf32>"
    values, places = f"tensor<{rows}x{count}xf32>", f"tensor<{rows}x{count}xi32>"
    convert = f"%0 = stablehlo.convert %x : ({given}) -> {held}" if element != "f32" else ""
    return f"""
    func.func @main(%x: {given}) -> ({values}, {places}) {{
      {convert}
      %values, %places = chlo.top_k({"%0" if convert else "%x"}, k = {count}) : {held} -> ({values}, {places})
      return %values, %places : {values}, {places}
    }}"""


@pytest.mark.parametrize(
    ("rows", "count", "element", "allocated"),
    [
        (32, 8, "f32", 67108864),  # a copy in columns, where 32 rows fill one of four lanes
        (32, 64, "f32", 0),  # results of 32 by 64 are row-major, and so is what they are selected of
        (32, 64, "bf16", 0),  # the call converts what it reads itself
    ],
)
def test_the_largest_of_few_rows_are_selected_of_rows(
    rows: int, count: int, element: str, allocated: int
) -> None:
    assert abs(_temporaries(_selected(rows, count, element)) - allocated) <= _NEAR


PLACES_READ_AGAIN = """
func.func @main(%x: tensor<32x131072xf32>) -> (tensor<32x131072xi32>, tensor<32xf32>) {
  %i = stablehlo.iota dim = 1 : tensor<32x131072xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<32x131072xf32>, tensor<32x131072xi32>) -> (tensor<32x131072xf32>, tensor<32x131072xi32>)
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.convert %i : (tensor<32x131072xi32>) -> tensor<32x131072xf32>
  %3 = stablehlo.multiply %0#0, %2 : tensor<32x131072xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<32x131072xf32>, tensor<f32>) -> tensor<32xf32>
  return %0#1, %4 : tensor<32x131072xi32>, tensor<32xf32>
}"""


def test_places_that_are_sorted_are_counted_again_by_other_readers() -> None:
    assert abs(_temporaries(PLACES_READ_AGAIN) - 16777216) <= _NEAR
