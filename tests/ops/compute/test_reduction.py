"""Reductions of dimensions and windows: numpy and XLA, and regions that numpy has no operation for."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import Array, compute_of
from shardy_py.ops.compute.lanes import in_lanes
from shardy_py.ops.compute.movement import padded
from tests.conftest import examples
from tests.ops.compute.against_jax import compare
from tests.ops.compute.bodies import Region, combining

PRIME = 1_000_003
SEEDS = st.integers(0, 2**31)
I64 = TensorType((1,), "i64")


def _after(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The function a x + b after which c x + d is applied: associative, not commutative."""
    return a * c % PRIME, (b * c + d) % PRIME


AFFINE = Region(_after)
"""Its neutral element is (1, 0)."""


def _in_order(factors: Array, terms: Array) -> tuple[int, int]:
    result = (1, 0)
    for factor, term in zip(factors.reshape(-1).tolist(), terms.reshape(-1).tolist(), strict=True):
        result = _after(*result, factor, term)
    return result


@given(SEEDS)
@settings(max_examples=examples(60), deadline=None)
def test_reduce_keeps_the_order_of_values(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    shape = [random.randint(0, 6) for _ in range(random.randint(1, 3))]
    dimensions = random.sample(range(len(shape)), random.randint(0, len(shape)))
    row = OpRecord("stablehlo.reduce", (), (I64, I64), {"dimensions": tuple(dimensions)})
    factors, terms = rng.integers(0, PRIME, (2, *shape)), rng.integers(0, PRIME, (1, *shape))
    got = compute_of(row)(row, AFFINE, factors, terms, np.array([1]), np.array([0]))
    kept = [d for d in range(len(shape)) if d not in dimensions]
    for place in np.ndindex(*(shape[d] for d in kept)):
        key = tuple(place[kept.index(d)] if d in kept else slice(None) for d in range(len(shape)))
        for lane in range(2):
            expected = _in_order(factors[lane][key], terms[0][key])
            assert tuple(in_lanes(part, 2)[lane][place] for part in got) == expected


def test_regions_run_few_times() -> None:
    body, row = Region(_after), OpRecord("stablehlo.reduce", (), (I64, I64), {"dimensions": (0,)})
    ones = np.ones((4, 1000), np.int64)
    compute_of(row)(row, body, ones, ones, np.array([1]), np.array([0]))
    assert body.calls <= 12


UFUNCS = {"add": (np.add, 0), "maximum": (np.maximum, -(10**9)), "multiply": (np.multiply, 1)}


@given(SEEDS, st.sampled_from((*UFUNCS, "")))
@settings(max_examples=examples(60), deadline=None)
def test_reduce_window(seed: int, name: str) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    rank = random.randint(1, 2)
    shape = [random.randint(1, 8 if rank > 1 else 60) for _ in range(rank)]
    sizes = [
        random.choice((1, random.randint(2, 5), random.randint(6, 40 if rank == 1 else 15))) for _ in shape
    ]
    steps = [[random.choice((1, 1, 2, 3)) for _ in shape] for _ in range(3)]
    padding = [(random.randint(0, 6), random.randint(0, 6)) for _ in shape]
    if random.random() < 0.3:
        steps, padding = [[1] * rank] * 3, [random.choice(((size - 1, 0), (0, size - 1))) for size in sizes]
    strides, dilations, base = steps
    attributes = {
        "window_dimensions": tuple(sizes),
        "window_strides": tuple(strides),
        "window_dilations": tuple(dilations),
        "base_dilations": tuple(base),
        "padding": tuple(padding),
    }
    row = OpRecord("stablehlo.reduce_window", (), (I64,) * (1 if name else 2), attributes)
    low, high = zip(*padding, strict=True)
    interior = [step - 1 for step in base]
    values = rng.integers(-3, 4, (2, *shape)), rng.integers(-3, 4, (1, *shape))
    if name:
        ufunc, neutral = UFUNCS[name]
        inside: tuple[Array, ...] = (padded(values[0], np.array([neutral]), low, high, interior),)
        got: Any = (compute_of(row)(row, combining(name, ufunc), values[0], np.array([2])),)
    else:
        fills = np.array([1]), np.array([0])
        inside = tuple(padded(v, f, low, high, interior) for v, f in zip(values, fills, strict=True))
        got = compute_of(row)(row, AFFINE, *values, *fills)
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, dilations, strict=True)]
    counts = [
        max(0, (full - span) // stride + 1)
        for full, span, stride in zip(inside[0].shape[1:], spans, strides, strict=True)
    ]
    assert got[0].shape == (2, *counts)
    for place in np.ndindex(*counts):
        starts = [at * stride for at, stride in zip(place, strides, strict=True)]
        cuts = zip(starts, spans, dilations, strict=True)
        window = tuple(slice(start, start + span, dilation) for start, span, dilation in cuts)
        for lane in range(2):
            here = [array[(min(lane, len(array) - 1), *window)] for array in inside]
            mine = tuple(in_lanes(part, 2)[lane][place] for part in got)
            if name:
                assert mine == (ufunc(ufunc.reduce(here[0], None), 2),)
            else:
                assert mine == _in_order(*here)


NARROW = ["f16", "bf16", "f8E4M3FN", "f8E5M2FNUZ", "f6E2M3FN"]


def _stepwise(name: str, values: Array, start: Any) -> Any:
    """Combines scalars one after the other, each result rounded to its type."""
    for value in values.reshape(-1):
        start = (start * value if name == "multiply" else start + value).astype(values.dtype)
    return start


@pytest.mark.parametrize("element", [*NARROW, "f32", "f64"])
@pytest.mark.parametrize("name", ["add", "multiply"])
def test_windows_of_floats_are_combined_in_order(element: str, name: str) -> None:
    row = OpRecord(
        "stablehlo.reduce_window",
        (),
        (TensorType((3, 2), element),),
        {"window_dimensions": (3, 4), "window_strides": (2, 3), "padding": ((0, 1), (1, 0))},
    )
    dtype = element_type(element).dtype
    x = np.random.default_rng(0).uniform(0.5, 2, (2, 6, 7)).astype(dtype)
    start = np.array([1.0]).astype(dtype)
    got = compute_of(row)(row, combining(name, UFUNCS[name][0]), x, start)
    for lane, i, j in np.ndindex(2, 3, 2):
        window = x[lane, 2 * i : 2 * i + 3, max(0, 3 * j - 1) : 3 * j + 3]
        assert got[lane, i, j] == _stepwise(name, window, start[0])


@pytest.mark.parametrize("element", NARROW)
@pytest.mark.parametrize("kept", [(3,), (300,)])
def test_narrow_floats_are_rounded_after_each_step(element: str, kept: tuple[int, ...]) -> None:
    dtype = element_type(element).dtype
    x = np.random.default_rng(0).standard_normal((2, 5, *kept, 7)).astype(dtype)
    row = OpRecord("stablehlo.reduce", (), (TensorType(kept, element),), {"dimensions": (2, 0)})
    start = np.array([1.0, -0.5]).astype(dtype)
    got = compute_of(row)(row, combining("add", np.add), x, start)
    for lane, place in np.ndindex(2, *kept):
        assert got[lane, place] == _stepwise("add", x[lane, :, place], start[lane])
    row = OpRecord(
        "stablehlo.reduce_window", (), row.results, {"window_dimensions": (9,), "padding": ((8, 0),)}
    )
    prefixes = compute_of(row)(row, combining("add", np.add), x[:, 0, 0], start[:1] * 0)
    assert prefixes[1, 6] == _stepwise("add", x[1, 0, 0], start[0] * 0)


@given(SEEDS)
@settings(max_examples=examples(60), deadline=None)
def test_select_and_scatter(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    shape = [random.randint(1, 6) for _ in range(random.randint(1, 3))]
    sizes = [random.randint(1, 4) for _ in shape]
    strides = [random.randint(1, 3) for _ in shape]
    padding = [(random.randint(0, 2), random.randint(0, 2)) for _ in shape]
    full = [size + low + high for size, (low, high) in zip(shape, padding, strict=True)]
    cuts = zip(full, sizes, strides, strict=True)
    counts = [max(0, (length - size) // stride + 1) for length, size, stride in cuts]
    x, source = rng.integers(0, 5, (2, *shape)), rng.integers(1, 9, (1, *counts))
    attributes = {
        "window_dimensions": tuple(sizes),
        "window_strides": tuple(strides),
        "padding": tuple(padding),
    }
    row = OpRecord("stablehlo.select_and_scatter", (), (I64,), attributes)
    select = Region(lambda a, b: (a >= b,))
    got = compute_of(row)(row, select, combining("add", np.add), x, source, np.array([7]))
    for lane in range(2):
        expected = np.full(shape, 7)
        for place in np.ndindex(*counts):
            inside: list[tuple[int, ...]] = []
            for offset in np.ndindex(*sizes):
                parts = zip(place, strides, offset, padding, strict=True)
                at = tuple(p * stride + o - low for p, stride, o, (low, _) in parts)
                if all(0 <= a < size for a, size in zip(at, shape, strict=True)):
                    inside.append(at)
            if inside:
                expected[max(inside, key=lambda at: x[lane][at])] += source[0][place]
        np.testing.assert_array_equal(got[lane], expected)


def test_maximum_prefers_positive_zero() -> None:
    row = OpRecord("stablehlo.reduce", (), (TensorType((2,)),), {"dimensions": (1,)})
    x = np.float32([[[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]]])
    first, zero = np.float32([-np.inf]), np.float32([0.0])
    assert np.signbit(compute_of(row)(row, combining("maximum", np.maximum), x, first)).tolist() == [
        [False, True]
    ]
    assert np.signbit(compute_of(row)(row, combining("minimum", np.minimum), -x, zero)).tolist() == [
        [True, False]
    ]


def test_padding_counts_as_no_element() -> None:
    """As XLA on CPU does: the initial value is added once to each window."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    lax, x = jax.lax, np.arange(1, 13, dtype=np.float32).reshape(2, 6)
    compare(lambda x: lax.reduce_window(x, 1.0, lax.add, (3,), (1,), ((2, 2),)), x)
    compare(lambda x: lax.reduce_window(x, 1.0, lax.add, (6,), (1,), ((5, 0),)), x)

    def product(left: Any, right: Any) -> Any:
        (a, b), (c, d) = left, right
        return a * c - b * d, a * d + b * c

    def products(x: Any) -> Any:
        start = np.float32(2), np.float32(3)
        return lax.reduce_window((x, x + 1), start, product, (3,), (2,), ((4, 3),), window_dilation=(2,))

    compare(products, x)


def test_no_windows_select_nothing() -> None:
    record = OpRecord("stablehlo.select_and_scatter", (), (I64,), {"window_dimensions": (3,)})
    select, scatter = Region(lambda a, b: (a >= b,)), combining("add", np.add)
    result = compute_of(record)(
        record, select, scatter, np.ones((2, 2)), np.ones((1, 0), np.int64), np.array([7])
    )
    assert result.tolist() == [[7, 7], [7, 7]]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "bool", "uint32", "float64"])
def test_against_xla(dtype: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jnp, lax = jax.numpy, jax.lax
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (2, 6, 5)).astype(dtype)
    x64 = dtype == "float64"
    if x.dtype.kind not in "biu":
        x[0, 1, 2], x[1, 0, 0], x[1, 3, 3] = np.nan, np.inf, -0.0

    def several(x: Any) -> Any:
        moved = [jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.max(x, 1), jnp.min(x, (0, 1))]
        if dtype != "bool":
            moved += [lax.cummax(x, 1), lax.cummin(x, 0, reverse=True)]
            moved += [lax.reduce_window(x, x[0, 0], lax.max, (2, 3), (1, 2), "SAME")]
            moved += [lax.reduce(x, x[0, 0], lax.bitwise_xor, (1,))] if x.dtype.kind in "iu" else []
        # The sign and payload of a NaN are open.
        return [jnp.where(part != part, jnp.ones_like(part) * 77, part) for part in moved]

    compare(several, x, rtol=0, atol=0, x64=x64)
    if dtype != "bool":
        sums = rng.integers(-3, 4, (2, 6, 5)).astype(dtype)
        compare(lambda x: [lax.cumsum(x, 0), lax.cumprod(x, 1)], sums, rtol=0, atol=0, x64=x64)
        compare(lambda x: [x.sum(0, dtype=x.dtype), x.prod(1, dtype=x.dtype)], sums, rtol=0, atol=0, x64=x64)


def test_argmax_of_any_indices() -> None:
    """Indices that descend do not fit numpy's argmax: of equal values the smaller index wins."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jnp = jax.numpy

    def first(a: Any, b: Any) -> Any:
        is_best = (a[0] > b[0]) | (a[0] != a[0])
        is_first = is_best | ((a[0] == b[0]) & (a[1] < b[1]))
        return jax.lax.select(is_best, a[0], b[0]), jax.lax.select(is_first, a[1], b[1])

    def best(x: Any, index: Any) -> Any:
        return jax.lax.reduce((x, index), (jnp.float32(-jnp.inf), jnp.int32(99)), first, (0,))

    x = np.float32([[1, 5, 2, 5, 5, 0], [np.nan, 1, np.nan, 7, 7, 7]])
    for index in (np.arange(6), np.arange(6)[::-1], np.array([3, 1, 2, 0, 5, 4])):
        compare(best, x, np.int32(index)[None], rtol=0, atol=0)
