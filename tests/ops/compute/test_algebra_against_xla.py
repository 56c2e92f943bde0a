"""Gathers, random bits, factorizations, transforms, products and convolutions against XLA on a CPU, with
random shapes, element types and attributes.

XLA does not compile `chlo.ragged_dot` there: see `test_contraction.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.frontends.builder import dot_general, ops, tensor
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.precision import kind_of
from tests.ops.compute import one_module as draw
from tests.ops.compute.dimension_numbers import DimensionNumbers
from tests.ops.compute.one_module import ALL, COMPLEX, FLOATS, INTEGERS, NARROW, Case, compare_random_ops

OPS_IN_A_PROGRAM, PROGRAMS = 12, 2
SOLVED = 1024
"""Units in the last place, of solutions of small well-conditioned systems."""


def gather(random: Random) -> Case:
    numbers = DimensionNumbers(random.getrandbits(31))
    operand = draw.array(random, numbers.shape, random.choice((*ALL, *NARROW)))
    indices = draw.array(random, numbers.index_shape, random.choice(INTEGERS))
    indices = np.where(draw.array(random, numbers.index_shape, np.dtype(np.bool_)), indices % 4, indices)
    named = numbers.named(
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
    return Case(lambda x, at: ops.gather(x, at, named, numbers.sizes), [operand, indices])


def random_bits(random: Random) -> Case:
    """Of unsigned integers: XLA's results have their types also where signed ones are declared."""
    algorithm = random.choice(("DEFAULT", "THREE_FRY", "PHILOX"))
    size = 2 if algorithm == "THREE_FRY" else random.choice((2, 3))
    state = draw.array(random, (size,), np.dtype(np.uint64))
    result = tensor(draw.shape(random, 0, 4), random.choice(INTEGERS[1::2]))
    return Case(lambda x: ops.rng_bit_generator(x, result, algorithm), [state])


def _numbers(random: Random, sizes: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return draw.array(random, sizes, dtype, 1)


def cholesky(random: Random) -> Case:
    dtype, size = random.choice((*FLOATS[:2], *COMPLEX)), random.randint(1, 6)
    root = _numbers(random, (*draw.shape(random, high=2), size, size), dtype)
    matrix = root @ root.conj().swapaxes(-1, -2) + np.diag(np.full(size, size, dtype))
    is_lower = random.random() < 0.5
    return Case(lambda x: ops.cholesky(x, lower=is_lower), [matrix], SOLVED)


def triangular_solve(random: Random) -> Case:
    dtype, size = random.choice((*FLOATS[:2], *COMPLEX)), random.randint(1, 6)
    batch, columns = draw.shape(random, high=2), random.randint(1, 3)
    matrix = _numbers(random, (*batch, size, size), dtype) + np.diag(np.full(size, 4, dtype))
    is_left, is_lower, is_unit = (random.random() < 0.5 for _ in range(3))
    if is_unit:
        matrix /= 4
    right = _numbers(random, (*batch, size, columns) if is_left else (*batch, columns, size), dtype)
    transposed = random.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))

    def function(a: Any, b: Any) -> Any:
        flags = {"left_side": is_left, "lower": is_lower, "unit_diagonal": is_unit}
        return ops.triangular_solve(a, b, transpose_a=transposed, **flags)

    return Case(function, [matrix, right], SOLVED)


def fft(random: Random) -> Case:
    kind, is_double = random.choice(("FFT", "IFFT", "RFFT", "IRFFT")), random.random() < 0.5
    sizes = [random.randint(1, 9) for _ in range(random.randint(1, 4))]
    length = sizes[-random.randint(1, min(3, len(sizes))) :]
    if kind == "IRFFT":
        sizes[-1] = length[-1] // 2 + 1
    dtype = (FLOATS if kind == "RFFT" else COMPLEX)[is_double]
    operand = _numbers(random, tuple(sizes), dtype)
    return Case(lambda x: ops.fft(x, kind, length), [operand], 4 * prod(length))


def batch_norm(random: Random) -> Case:
    name = random.choice(("training", "inference", "grad"))
    sizes, dtype = draw.shape(random, 1, 4), random.choice(FLOATS[:2])
    feature = random.randrange(len(sizes))
    vectors = [_numbers(random, (sizes[feature],), dtype) for _ in range(4)]
    vectors[3] = vectors[3] ** 2
    operand, scale, offset, mean, variance = _numbers(random, sizes, dtype), *vectors
    operands = {
        "training": [operand, scale, offset],
        "inference": [operand, scale, offset, mean, variance],
        "grad": [operand, scale, mean, variance, _numbers(random, sizes, dtype)],
    }[name]
    # Variances of a single element are 0 but for rounding, which a small number would magnify.
    function = getattr(ops, f"batch_norm_{name}")
    return Case(lambda *x: function(*x, 0.5, feature), operands, SOLVED)


def product(random: Random) -> Case:
    dtype = random.choice((*INTEGERS, *FLOATS, *COMPLEX, *NARROW[:7]))
    kind = kind_of(dtype)
    wide = np.dtype(f"{kind}4") if kind in "iu" else np.dtype(np.float32)
    result = wide if dtype.itemsize == 1 or (dtype.itemsize == 2 and random.random() < 0.5) else dtype
    sizes = {letter: random.randint(1, 5) for letter in "abckmn"}
    batch, summed = (random.sample(letters, random.randint(0, 2)) for letters in ("ab", "ck"))
    sides = [random.sample(free, len(free)) for free in ([*batch, *summed, "m"], [*batch, *summed, "n"])]
    operands = [_numbers(random, tuple(sizes[c] for c in side), dtype) for side in sides]
    contracting, batching = (
        (tuple(map(sides[0].index, part)), tuple(map(sides[1].index, part))) for part in (summed, batch)
    )
    terms = prod(sizes[c] for c in summed)
    return Case(
        lambda x, y: dot_general(x, y, contracting, batching, result), operands, _rounding(dtype, terms)
    )


def _rounding(dtype: np.dtype[Any], terms: int) -> float:
    """Units in the last place of a sum of products."""
    return 0 if kind_of(dtype) in "iu" else 4 * (terms + 1)


def convolution(random: Random) -> Case:
    rank = random.randint(0, 2)
    by_feature, by_batch = random.choice(((1, 1), (2, 1), (1, 2)))
    features, outputs, batch = (random.randint(1, 3) for _ in range(3))

    def some(low: int, high: int) -> list[int]:
        return [random.randint(low, high) for _ in range(rank)]

    spatial, window, strides, base, dilation = some(3, 6), some(1, 3), some(1, 3), some(1, 2), some(1, 2)
    image = (batch * by_batch, features * by_feature, *spatial)
    kernel = (features, outputs * by_feature * by_batch, *window)
    orders = [random.sample(range(rank + 2), rank + 2) for _ in range(3)]
    dtype = random.choice((*INTEGERS, *FLOATS, *COMPLEX))
    operands = [
        _numbers(random, tuple(shape[order.index(d)] for d in range(rank + 2)), dtype)
        for shape, order in zip((image, kernel), orders, strict=False)
    ]
    names = (
        ("input_batch", "input_feature"),
        ("kernel_input_feature", "kernel_output_feature"),
        ("output_batch", "output_feature"),
    )
    numbers: dict[str, Any] = {}
    for side, (first, second), order in zip(("input", "kernel", "output"), names, orders, strict=True):
        numbers |= {f"{first}_dimension": order[0], f"{second}_dimension": order[1]}
        numbers[f"{side}_spatial_dimensions"] = tuple(order[2:])
    attributes: dict[str, Any] = {
        "window_strides": strides,
        "padding": list(zip(some(-1, 2), some(2, 3), strict=True)),
        "lhs_dilation": base,
        "rhs_dilation": dilation,
        "window_reversal": [random.random() < 0.5 for _ in range(rank)],
        "feature_group_count": by_feature,
        "batch_group_count": by_batch,
    }
    units = _rounding(dtype, features * prod(window))
    return Case(lambda x, y: ops.convolution(x, y, numbers, **attributes), operands, units)


FAMILIES: dict[str, tuple[Callable[[Random], Case], ...]] = {
    "gathers and random bits": (gather, gather, random_bits),
    "linear algebra": (cholesky, triangular_solve, fft, batch_norm),
    "products": (product, convolution),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=PROGRAMS, deadline=None, database=None)
@given(st.integers(0, 1 << 31))
def test_family(family: str, seed: int) -> None:
    compare_random_ops(FAMILIES[family], seed, OPS_IN_A_PROGRAM)
