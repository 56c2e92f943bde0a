"""Gathers of single elements: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_NEAR = 128 << 10


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _taken(shape: tuple[int, ...], width: int, element: str = "f32") -> str:
    """Elements of each row at places of that row."""
    rank = len(shape)
    rows = "x".join(map(str, shape[:-1]))
    table, places = f"tensor<{rows}x{shape[-1]}x{element}>", f"tensor<{rows}x{width}xi32>"
    made = f"tensor<{rows}x{width}x{element}>"
    batch = ", ".join(map(str, range(rank - 1)))
    return f"""
    func.func @main(%x: {table}, %i: {places}) -> {made} {{
      %one = stablehlo.constant dense<1> : {places}
      %zero = stablehlo.constant dense<0.0> : {made}
      %0 = stablehlo.subtract %i, %one : {places}
      %1 = stablehlo.reshape %0 : ({places}) -> tensor<{rows}x{width}x1xi32>
      %2 = "stablehlo.gather"(%x, %1) <{{dimension_numbers = #stablehlo.gather<
        collapsed_slice_dims = [{rank - 1}], operand_batching_dims = [{batch}],
        start_indices_batching_dims = [{batch}], start_index_map = [{rank - 1}], index_vector_dim = {rank}>,
        slice_sizes = array<i64: {", ".join("1" * rank)}>}}>
        : ({table}, tensor<{rows}x{width}x1xi32>) -> {made}
      %3 = stablehlo.compare LT, %i, %one : ({places}, {places}) -> tensor<{rows}x{width}xi1>
      %4 = stablehlo.select %3, %zero, %2 : tensor<{rows}x{width}xi1>, {made}
      return %4 : {made}
    }}"""


@pytest.mark.parametrize(
    ("shape", "width", "element", "allocated"),
    [
        ((256, 32000), 32000, "f32", 32833472),  # places in a row; what is found is in the result at first
        ((4096, 32000), 8, "bf16", 2260960),  # places are put into rows of 128 lanes before
        ((64, 512, 512), 128, "f32", 0),  # tiles of 128 lanes are rows already
    ],
)
def test_places_and_elements_are_in_rows(
    shape: tuple[int, ...], width: int, element: str, allocated: int
) -> None:
    assert abs(_temporaries(_taken(shape, width, element)) - allocated) <= _NEAR


def test_places_in_two_dimensions_are_one_number_each() -> None:
    """They are put together in no memory: one number of each is made where they are computed."""
    places, pair = "tensor<2048x1024xi32>", "tensor<2048x1024x1xi32>"
    text = f"""
    func.func @main(%x: tensor<4096x4096xf32>, %i: {places}, %j: {places}) -> tensor<2048x1024xf32> {{
      %0 = stablehlo.reshape %i : ({places}) -> {pair}
      %1 = stablehlo.reshape %j : ({places}) -> {pair}
      %2 = stablehlo.concatenate %0, %1, dim = 2 : ({pair}, {pair}) -> tensor<2048x1024x2xi32>
      %3 = "stablehlo.gather"(%x, %2) <{{dimension_numbers = #stablehlo.gather<
        collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
        slice_sizes = array<i64: 1, 1>}}>
        : (tensor<4096x4096xf32>, tensor<2048x1024x2xi32>) -> tensor<2048x1024xf32>
      return %3 : tensor<2048x1024xf32>
    }}"""
    assert abs(_temporaries(text) - 8388608) <= _NEAR
