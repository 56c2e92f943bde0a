"""Concatenations: the temporaries that XLA:TPU (v5p) allocates for programs on one device.

XLA:TPU counts 32 bytes for each tuple, too.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.tpu.written_parts import is_written_by_parts


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _products(count: int) -> str:
    """A product with the concatenation of some products."""
    part, whole = "tensor<256x1024xf32>", f"tensor<{256 * count}x1024xf32>"
    left, made = f"tensor<1024x{256 * count}xf32>", "tensor<1024x1024xf32>"
    shared = "tensor<512x1024xf32>"
    lines = [
        f"""%c{i} = stablehlo.constant dense<{i}.0> : tensor<f32>
        %s{i} = stablehlo.broadcast_in_dim %c{i}, dims = [] : (tensor<f32>) -> {shared}
        %y{i} = stablehlo.add %y, %s{i} : {shared}
        %p{i} = stablehlo.dot_general %x, %y{i}, contracting_dims = [1] x [0]
          : (tensor<256x512xf32>, {shared}) -> {part}"""
        for i in range(count)
    ]

    return f"""func.func @main(%x: tensor<256x512xf32>, %y: {shared}, %w: {left}) -> {made} {{
        {" ".join(lines)}
        %j = stablehlo.concatenate {", ".join(f"%p{i}" for i in range(count))}, dim = 0
          : ({", ".join([part] * count)}) -> {whole}
        %d = stablehlo.dot_general %w, %j, contracting_dims = [1] x [0] : ({left}, {whole}) -> {made}
        %r = stablehlo.tanh %d : {made}
        return %r : {made} }}"""


@pytest.mark.parametrize(("count", "compiled"), [(4, 1769280), (5, 2719648)])
def test_products_read_four_values_and_write_into_five(count: int, compiled: int) -> None:
    """Four of 512 KiB each are read where they are, as bf16, but one is made where the result will be."""
    assert abs(_temporaries(_products(count)) - compiled) <= 256


def test_products_compute_what_puts_two_values_together() -> None:
    """Two values of bf16, which are arguments: nothing is stored."""
    part, whole = "tensor<1024x512xbf16>", "tensor<1024x1024xbf16>"
    text = f"""func.func @main(%x: {part}, %y: {part}, %w: {whole}) -> {whole} {{
        %j = stablehlo.concatenate %x, %y, dim = 1 : ({part}, {part}) -> {whole}
        %d = stablehlo.dot_general %j, %w, contracting_dims = [1] x [0] : ({whole}, {whole}) -> {whole}
        %r = stablehlo.tanh %d : {whole}
        return %r : {whole} }}"""
    assert _temporaries(text) == 0


@pytest.mark.parametrize(("turned", "compiled"), [("NO_TRANSPOSE", 60456032), ("TRANSPOSE", 3570784)])
def test_solutions_are_written_into_all_that_they_are_in(turned: str, compiled: int) -> None:
    """Of 16 blocks: those before each block are a concatenation, into which each of them is written at once.

    From the last block on, the first value of each of them is made last.
    """
    matrix, right = "tensor<2048x2048xf32>", "tensor<2048x1024xf32>"
    text = f"""func.func @main(%a: {matrix}, %b: {right}) -> {right} {{
        %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = true, lower = true, unit_diagonal = false,
          transpose_a = #stablehlo<transpose {turned}>}}> : ({matrix}, {right}) -> {right}
        return %0 : {right} }}"""
    found = _temporaries(text)
    assert abs(found - compiled) < 0.03 * (compiled + (32 << 20))


@pytest.mark.parametrize(
    ("shapes", "dimension", "is_written"),
    [
        # As XLA:TPU (v5p) compiled them.
        ([(128, 256)] * 4, 0, False),
        ([(128, 256)] * 5, 0, True),
        ([(128, 256)] * 5, 1, True),
        ([(100, 200)] * 5, 0, False),
        ([(104, 200)] * 5, 0, False),
        ([(128, 200)] * 4 + [(44, 200)], 0, True),
        ([(44, 200)] + [(128, 200)] * 4, 0, False),
        ([(128, 128)] * 4 + [(128, 44)], 1, True),
        ([(128, 64)] * 6, 1, True),
        ([(3, 100, 200)] * 5, 0, True),
        ([(128, 1)] * 8, 0, True),
        ([(128,)] * 8, 0, True),
        ([(100,)] * 8, 0, False),
        ([(4, 100, 200)] * 5, 2, False),
        ([(4, 104, 200)] * 5, 1, False),
        ([(8, 256)] * 5, 0, True),
        ([(1, 256)] * 5, 0, False),
        ([(4, 256)] * 6, 0, False),
    ],
)
def test_values_that_start_at_tiles_are_written(
    shapes: list[tuple[int, ...]], dimension: int, is_written: bool
) -> None:
    """In the order of dimensions with the least padding."""
    made = [*shapes[0]]
    made[dimension] = sum(shape[dimension] for shape in shapes)
    types = tuple([TensorType(shape, "f32") for shape in shapes])
    record = OpRecord(
        *("stablehlo.concatenate", types, (TensorType(tuple(made), "f32"),), {"dimension": dimension})
    )
    assert is_written_by_parts(record) == is_written
