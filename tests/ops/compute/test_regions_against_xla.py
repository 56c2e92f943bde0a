"""Ops with regions, with random shapes, element types, attributes and bodies, against XLA on a CPU.

Ops without regions are in `test_against_xla.py` and `test_algebra_against_xla.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.frontends.builder import (
    emit,
    map_,
    ops,
    reduce,
    reduce_window,
    scatter,
    select_and_scatter,
    sort,
)
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.precision import kind_of
from tests.ops.compute import one_module as draw
from tests.ops.compute.dimension_numbers import DimensionNumbers
from tests.ops.compute.one_module import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NARROW,
    SMALL,
    Case,
    compare_random_ops,
)

OPS_IN_A_PROGRAM, PROGRAMS = 12, 2
COMBINERS = {
    "add": (*INTEGERS, *SMALL, *FLOATS, *COMPLEX),
    "multiply": (*INTEGERS, *SMALL, *FLOATS, *COMPLEX),
    "maximum": (*BOOL, *INTEGERS, *SMALL, *FLOATS, *NARROW),
    "minimum": (*BOOL, *INTEGERS, *SMALL, *FLOATS, *NARROW),
    "and": (*BOOL, *INTEGERS),
    "or": (*BOOL, *INTEGERS),
    "xor": (*BOOL, *INTEGERS, *SMALL),
}
"""Ops that combine two elements, with their element types."""
Body = Callable[..., tuple[Any, ...]]


def _op(name: str, *operands: Any) -> Any:
    return emit(name, *operands)[0]


def _each(names: list[str]) -> Body:
    """Combines operand k of both sides by the op of that number."""

    def body(*values: Any) -> tuple[Any, ...]:
        return tuple(
            _op(name, a, b)
            for name, a, b in zip(names, values[: len(names)], values[len(names) :], strict=True)
        )

    return body


def _complex_product(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, ...]:
    """The product of a + bi and c + di, whose parts are integers."""
    return a * c - b * d, a * d + b * c


def _joined(a: Any, b: Any) -> tuple[Any, ...]:
    """(1 + a) (1 + b) - 1, of integers."""
    return (a + b + a * b,)


def _best(direction: str) -> Body:
    """The extreme value and its index; of equal values the smaller index, as `jax.numpy.argmax`."""

    def body(a: Any, i: Any, b: Any, j: Any) -> tuple[Any, ...]:
        best = _op("or", ops.compare(a, b, direction), ops.compare(a, a, "NE"))
        tie = _op("and", ops.compare(a, b, "EQ"), ops.compare(i, j, "LT"))
        return _op("select", best, a, b), _op("select", _op("or", best, tie), i, j)

    return body


def _body(random: Random) -> tuple[Body, list[np.dtype[Any]]]:
    """Returns an associative region, and the element types of the operands that it combines."""
    form = random.choice(("one op", "one op", "each", "complex product", "joined", "best"))
    if form == "one op":
        name = random.choice(list(COMBINERS))
        return _each([name]), [random.choice(COMBINERS[name])]
    if form == "each":
        names = random.choices(list(COMBINERS), k=random.randint(2, 3))
        return _each(names), _types(random, [COMBINERS[name] for name in names])
    if form == "best":
        return _best(random.choice(("GT", "LT"))), [
            random.choice((*INTEGERS, *FLOATS)),
            random.choice(INTEGERS),
        ]
    dtype = random.choice(INTEGERS)
    return (_complex_product, [dtype, dtype]) if form == "complex product" else (_joined, [dtype])


def _replacement(random: Random) -> tuple[Body, list[np.dtype[Any]]]:
    types = _types(random, [ALL] * random.randint(1, 2))
    return lambda *values: values[len(types) :], types


def _types(random: Random, choices: Sequence[Sequence[np.dtype[Any]]]) -> list[np.dtype[Any]]:
    """Returns types as XLA takes them together: floats of one type, integers of 8 bits and more."""
    allowed = {*BOOL, *INTEGERS, random.choice((*FLOATS, *COMPLEX))}
    return [random.choice([dtype for dtype in types if dtype in allowed]) for types in choices]


def _units(types: list[np.dtype[Any]], count: int) -> float:
    """Sums of floats depend on their order."""
    return 4 * count if any(kind_of(dtype) in "fc" for dtype in types) else 0


def _arrays(random: Random, sizes: tuple[int, ...], types: list[np.dtype[Any]]) -> list[Array]:
    return [draw.array(random, sizes, dtype, 1) for dtype in types]


def reduction(random: Random) -> Case:
    """XLA leaves out the initial value of reductions of one element, as the specification permits."""
    body, types = _body(random)
    dimensions: list[int] = []
    sizes: tuple[int, ...] = ()
    while all(sizes[d] == 1 for d in dimensions):
        sizes = draw.shape(random, 1, 4)
        dimensions = random.sample(range(len(sizes)), random.randint(1, len(sizes)))
    operands = [*_arrays(random, sizes, types), *_arrays(random, (), types)]
    half = len(types)
    return Case(
        lambda *x: reduce(x[:half], x[half:], dimensions, body), operands, _units(types, int(np.prod(sizes)))
    )


def window(random: Random) -> Case:
    body, types = _body(random)
    sizes = draw.shape(random, 1, 3)
    extents = [random.randint(1, 4) for _ in sizes]
    strides, dilations, base = ([random.choice((1, 1, 2, 3)) for _ in sizes] for _ in range(3))
    padding = [(random.randint(0, 3), random.randint(0, 3)) for _ in sizes]
    operands = [*_arrays(random, sizes, types), *_arrays(random, (), types)]
    half = len(types)

    def function(*x: Any) -> Any:
        return reduce_window(
            x[:half],
            x[half:],
            body,
            extents,
            window_strides=strides,
            base_dilations=base,
            window_dilations=dilations,
            padding=padding,
        )

    return Case(function, operands, _units(types, int(np.prod(extents))))


def cumulative(random: Random) -> Case:
    """A window as long as the dimension, as of `jax.lax.cumsum`."""
    name = random.choice(("add", "multiply", "maximum", "minimum"))
    dtype = random.choice(COMBINERS[name])
    sizes = [random.randint(1, 4), random.randint(1, 40)]
    at, size = random.choice(((0, sizes[0]), (1, sizes[1])))
    extents = [size if d == at else 1 for d in range(2)]
    ends = random.choice(((size - 1, 0), (0, size - 1)))
    padding = [ends if d == at else (0, 0) for d in range(2)]
    start = {"add": 0, "multiply": 1}.get(name)
    first = np.full((1,), start).astype(dtype) if start is not None else draw.array(random, (), dtype)
    # Products of floats stay within their range.
    operand = draw.array(random, sizes, dtype, 1)
    return Case(
        lambda x, init: reduce_window((x,), (init,), _each([name]), extents, padding=padding),
        [operand, first],
        _units([dtype], size),
    )


def selection(random: Random) -> Case:
    """Of different values: of equal ones XLA's compiled code may select another than its constant folding."""
    scatters = random.choice(("add", "multiply", "maximum", "minimum"))
    dtype = random.choice([*INTEGERS, *FLOATS])
    sizes = draw.shape(random, 1, 3)
    extents, strides = ([random.randint(1, 3) for _ in sizes] for _ in range(2))
    padding = [(random.randint(0, extent - 1), random.randint(0, extent - 1)) for extent in extents]
    full = [size + low + high for size, (low, high) in zip(sizes, padding, strict=True)]
    counts = [
        max(0, (n - extent) // stride + 1) for n, extent, stride in zip(full, extents, strides, strict=True)
    ]
    direction = random.choice(("GE", "GT", "LE", "LT"))
    size = int(np.prod(sizes))
    different = np.array(random.sample(range(size), size)).reshape(1, *sizes).astype(dtype)
    operands = [different, *(draw.array(random, shape, dtype, 1) for shape in (tuple(counts), ()))]

    def function(x: Any, source: Any, init: Any) -> Any:
        return select_and_scatter(
            x,
            source,
            init,
            lambda a, b: ops.compare(a, b, direction),
            _each([scatters]),
            window_dimensions=extents,
            window_strides=strides,
            padding=padding,
        )

    return Case(function, operands, _units([dtype], int(np.prod(extents))))


def scattering(random: Random) -> Case:
    """Windows are in bounds: XLA drops those that are partly out of bounds, StableHLO their elements."""
    numbers = DimensionNumbers(random.getrandbits(31))
    while not numbers.mapped:  # XLA applies only one of the updates then.
        numbers = DimensionNumbers(random.getrandbits(31))
    body, types = _body(random) if random.random() < 0.7 else _replacement(random)
    dtype = random.choice(INTEGERS[:6])
    sizes = (numbers.shape[d] - numbers.sizes[d] + 1 for d in numbers.mapped)
    bounds = np.array([*sizes], np.int64)
    indices = draw.array(random, numbers.index_shape, np.dtype(np.uint32)).astype(np.int64)
    if numbers.vector_dim < len(numbers.index_shape):
        bounds = bounds.reshape(-1, *[1] * (len(numbers.index_shape) - numbers.vector_dim - 1))
    indices = (indices % bounds if bounds.size else indices).astype(dtype)
    if all(size == 1 for size in numbers.sizes) and random.random() < 0.5:
        indices = (draw.array(random, numbers.index_shape, np.dtype(np.uint32)) % 8).astype(
            dtype
        ) - dtype.type(1)
    operands = [*_arrays(random, tuple(numbers.shape), types), indices]
    operands += _arrays(random, tuple(numbers.moved_shape), types)
    named = numbers.named(
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    half = len(types)
    return Case(
        lambda *x: scatter(x[:half], x[half], x[half + 1 :], named, body),
        operands,
        _units(types, int(np.prod(numbers.moved_shape))),
    )


def _compared(random: Random, a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """Whether a comes before b: by value or a function of it, ascending or descending."""
    kind = random.choice((None, "TOTALORDER")) if dtype in FLOATS else None
    name = random.choice((None, None, "negate", "abs")) if dtype in (*FLOATS, *INTEGERS[::2]) else None
    left, right = (a, b) if name is None else (_op(name, a), _op(name, b))
    return ops.compare(left, right, random.choice(("LT", "GT")), kind), ops.compare(left, right, "EQ", kind)


def sorting(random: Random) -> Case:
    types = [random.choice((*BOOL, *INTEGERS, *FLOATS)) for _ in range(random.randint(1, 4))]
    others = [random.choice(ALL) for _ in range(random.randint(0, 1))]
    sizes = draw.shape(random, 1, 3)
    sizes = (*sizes[:-1], random.choice((sizes[-1], 40)))
    seed, count = random.getrandbits(31), random.randint(1, len(types))

    def comes_first(*values: Any) -> Any:
        chosen = Random(seed)
        result = None
        for k in reversed(range(count)):
            before, same = _compared(chosen, values[2 * k], values[2 * k + 1], types[k])
            result = before if result is None else _op("or", before, _op("and", same, result))
        return result

    operands = [draw.array(random, sizes, dtype) for dtype in (*types, *others)]
    operands = [x % x.dtype.type(3) if kind_of(x.dtype) in "iu" else x for x in operands]
    along = random.randrange(len(sizes))
    return Case(lambda *x: sort(x, comes_first, dimension=along, is_stable=True), operands)


def mapping(random: Random) -> Case:
    name = random.choice(list(COMBINERS))
    dtype, sizes = random.choice(COMBINERS[name]), draw.shape(random)
    return Case(
        lambda x, y: map_((x, y), lambda a, b: _op(name, _op(name, a, b), a)),
        [draw.array(random, sizes, dtype) for _ in range(2)],
        _units([dtype], 4),
    )


FAMILIES: dict[str, tuple[Callable[[Random], Case], ...]] = {
    "reductions": (reduction,),
    "windows": (window, cumulative, selection),
    "scatters and sorts": (scattering, sorting, mapping),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=PROGRAMS, deadline=None, database=None)
@given(st.integers(0, 1 << 31))
def test_family(family: str, seed: int) -> None:
    compare_random_ops(FAMILIES[family], seed, OPS_IN_A_PROGRAM)
