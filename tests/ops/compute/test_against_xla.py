"""Elementwise ops and movement with random shapes, element types and attributes, against XLA on a CPU.

Ops with regions are in `test_regions_against_xla.py`, linear algebra, gathers and random bits in
`test_algebra_against_xla.py`, special numbers in `test_elementwise.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.frontends.builder import emit, ops
from shardy_py.ops.compute import Array
from tests.ops.compute import one_module as draw
from tests.ops.compute.one_module import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NARROW,
    NUMBERS,
    SMALL,
    Case,
    compare_random_ops,
)

OPS_IN_A_PROGRAM, PROGRAMS = 16, 2
ROUNDED, FUNCTIONS = 2, 64
"""Units in the last place, of arithmetic and of functions such as tanh."""

REALS = (*FLOATS, *NARROW)
WHOLE = (*INTEGERS, *SMALL)
ANY = (*ALL, *NARROW, *SMALL)
UNARY = {
    "abs negate sign": (*INTEGERS[::2], *REALS, *COMPLEX),
    "ceil floor round_nearest_afz round_nearest_even is_finite cbrt": REALS,
    "cosine sine exponential log sqrt rsqrt tanh logistic": (*REALS, *COMPLEX),
    "exponential_minus_one log_plus_one tan": REALS,
    "not": (*BOOL, *WHOLE),
    "popcnt count_leading_zeros": INTEGERS,
    "real imag": (*FLOATS[:2], *COMPLEX),
}
BINARY = {
    "add multiply maximum minimum": (*BOOL, *NUMBERS, *NARROW, *SMALL),
    "subtract divide": (*NUMBERS, *NARROW, *SMALL),
    "remainder power": (*WHOLE, *REALS),
    "and or xor": (*BOOL, *WHOLE),
    "shift_left shift_right_arithmetic shift_right_logical": WHOLE,
    "atan2": REALS,
    "complex": FLOATS[:2],
}
SIX = np.array(6).astype(NARROW[-1])
MOST_POWER = 63
"""XLA takes the lowest 6 bits of an exponent, as all larger powers overflow; StableHLO's integers wrap."""


def _op_of(random: Random, table: dict[str, tuple[np.dtype[Any], ...]]) -> tuple[str, np.dtype[Any]]:
    names, types = random.choice([(name, types) for names, types in table.items() for name in names.split()])
    return names, random.choice(types)


def unary(random: Random) -> Case:
    name, dtype = _op_of(random, UNARY)
    return Case(lambda x: emit(name, x)[0], [draw.array(random, draw.shape(random), dtype)], FUNCTIONS)


def binary(random: Random) -> Case:
    name, dtype = _op_of(random, BINARY)
    shape = draw.shape(random)
    operands = [draw.array(random, shape, dtype) for _ in range(2)]
    if name == "power" and dtype in INTEGERS:
        operands[1] = np.minimum(operands[1], dtype.type(MOST_POWER))
    units = FUNCTIONS if name in ("power", "atan2") or dtype in COMPLEX else ROUNDED
    return Case(lambda x, y: emit(name, x, y)[0], operands, units)


def compare(random: Random) -> Case:
    dtype, shape = random.choice(ANY), draw.shape(random)
    direction = random.choice(("EQ", "NE") if dtype in COMPLEX else ("EQ", "NE", "GE", "GT", "LE", "LT"))
    x, y = (draw.array(random, shape, dtype) for _ in range(2))
    kind = random.choice((None, "FLOAT", "TOTALORDER")) if dtype in FLOATS else None
    if dtype in FLOATS:
        x, y = (
            np.where(draw.array(random, shape, BOOL[0]), z, dtype.type(z[:1] * 0)).astype(dtype)
            for z in (x, -y)
        )
    y = np.where(draw.array(random, shape, BOOL[0]), x[:1], y[:1]).astype(dtype)
    return Case(lambda a, b: ops.compare(a, b, direction, kind), [x, y])


def select(random: Random) -> Case:
    dtype, shape = random.choice(ALL), draw.shape(random)
    flag = draw.array(random, random.choice(((), shape)), BOOL[0])
    return Case(
        lambda p, x, y: emit("select", p, x, y)[0],
        [flag, *(draw.array(random, shape, dtype) for _ in range(2))],
    )


def clamp(random: Random) -> Case:
    dtype, shape = random.choice((*WHOLE, *REALS)), draw.shape(random)
    bounds = [draw.array(random, random.choice(((), shape)), dtype) for _ in range(2)]
    return Case(
        lambda a, x, b: emit("clamp", a, x, b)[0], [bounds[0], draw.array(random, shape, dtype), bounds[1]]
    )


def convert(random: Random) -> Case:
    before, after = random.choice(ANY), random.choice(ANY)
    x = draw.array(random, draw.shape(random), before, random.choice((2, 1000, 1e6)))
    if before == SIX.dtype and after in WHOLE:  # XLA takes the largest number for infinity.
        x = np.where(np.abs(x) == SIX, SIX.dtype.type(0), x)
    return Case(lambda x: ops.convert(x, after), [x])


def bitcast(random: Random) -> Case:
    before, after = (random.choice((*INTEGERS, *REALS[:-1])) for _ in range(2))
    x, ratio = draw.shape(random), before.itemsize / after.itemsize
    narrower = (*x, int(1 / ratio)) if ratio < 1 else x
    result = (*x, int(ratio)) if ratio > 1 else x
    value = draw.array(random, narrower, before)
    return Case(lambda x: ops.bitcast_convert(x, after, result), [value])


def reduce_precision(random: Random) -> Case:
    """Without mantissa bits NaN becomes infinity, as in StableHLO's interpreter; XLA keeps it."""
    x = draw.array(random, draw.shape(random), random.choice(REALS), random.choice((1e-4, 2, 1000)))
    x = np.where(np.isnan(x), x.dtype.type(1), x)
    bits = random.randint(1, 8), random.randint(0, 10)
    return Case(lambda x: ops.reduce_precision(x, *bits), [x])


def slice_(random: Random) -> Case:
    sizes = draw.shape(random, least=0)
    start = [random.randint(0, size) for size in sizes]
    limit = [random.randint(low, size) for low, size in zip(start, sizes, strict=True)]
    strides = [random.randint(1, 3) for _ in sizes]
    return Case(
        lambda x: ops.slice_(x, start, limit, strides), [draw.array(random, sizes, random.choice(ANY))]
    )


def _starts(random: Random, sizes: tuple[int, ...]) -> list[Array]:
    dtype = random.choice(INTEGERS)
    return [draw.array(random, (), dtype) % dtype.type(9) for _ in sizes]


def dynamic_slice(random: Random) -> Case:
    sizes = draw.shape(random, 1)
    taken = [random.randint(0, size) for size in sizes]
    operand = draw.array(random, sizes, random.choice(ANY))
    return Case(lambda x, *at: ops.dynamic_slice(x, at, taken), [operand, *_starts(random, sizes)])


def dynamic_update_slice(random: Random) -> Case:
    sizes, dtype = draw.shape(random, 1), random.choice(ANY)
    update = [random.randint(1, size) for size in sizes]
    operands = [draw.array(random, sizes, dtype), draw.array(random, update, dtype)]
    return Case(lambda x, y, *at: ops.dynamic_update_slice(x, y, at), [*operands, *_starts(random, sizes)])


def pad(random: Random) -> Case:
    sizes, dtype = draw.shape(random, least=0), random.choice(ANY)
    interior = [random.randint(0, 2) for _ in sizes]
    low = [random.randint(-size, 3) for size in sizes]
    whole = [size + max(size - 1, 0) * more for size, more in zip(sizes, interior, strict=True)]
    high = [random.randint(-min(n + lo, n), 3) for n, lo in zip(whole, low, strict=True)]
    operands = [draw.array(random, sizes, dtype), draw.array(random, (), dtype)]
    return Case(lambda x, fill: ops.pad(x, fill, low, high, interior), operands)


def concatenate(random: Random) -> Case:
    """XLA's compiler aborts on elements of less than a byte."""
    sizes, dtype = list(draw.shape(random, 1)), random.choice((*ALL, *NARROW[:-1]))
    along = random.randrange(len(sizes))
    parts = [[*sizes[:along], random.randint(0, 3), *sizes[along + 1 :]] for _ in range(random.randint(1, 4))]
    return Case(lambda *x: ops.concatenate(x, along), [draw.array(random, part, dtype) for part in parts])


def transpose(random: Random) -> Case:
    sizes = draw.shape(random, high=4)
    order = random.sample(range(len(sizes)), len(sizes))
    return Case(lambda x: ops.transpose(x, order), [draw.array(random, sizes, random.choice(ANY))])


def reshape(random: Random) -> Case:
    sizes = draw.shape(random, 1, 4)
    at = random.randrange(len(sizes))
    after = (1, *sizes[:at], int(np.prod(sizes[at:])))
    return Case(lambda x: ops.reshape(x, after), [draw.array(random, sizes, random.choice(ANY))])


def broadcast_in_dim(random: Random) -> Case:
    result = draw.shape(random, 0, 4)
    dimensions = random.sample(range(len(result)), random.randint(0, len(result)))
    sizes = [random.choice((1, result[d])) for d in dimensions]
    operand = draw.array(random, sizes, random.choice(ANY))
    return Case(lambda x: ops.broadcast_in_dim(x, result, dimensions), [operand])


def reverse(random: Random) -> Case:
    sizes = draw.shape(random)
    axes = random.sample(range(len(sizes)), random.randint(0, len(sizes)))
    return Case(lambda x: ops.reverse(x, axes), [draw.array(random, sizes, random.choice(ANY))])


def iota(random: Random) -> Case:
    sizes, dtype = draw.shape(random, 1), random.choice(NUMBERS)
    dimension = random.randrange(len(sizes))
    return Case(lambda: ops.iota(sizes, dimension, dtype), [])


FAMILIES: dict[str, tuple[Callable[[Random], Case], ...]] = {
    "elementwise": (unary, binary),
    "compare and convert": (compare, select, clamp, convert, bitcast, reduce_precision),
    "slices": (slice_, dynamic_slice, dynamic_update_slice, pad, concatenate),
    "movement": (transpose, reshape, broadcast_in_dim, reverse, iota),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=PROGRAMS, deadline=None, database=None)
@given(st.integers(0, 1 << 31))
def test_family(family: str, seed: int) -> None:
    compare_random_ops(FAMILIES[family], seed, OPS_IN_A_PROGRAM)
