"""Sorts: recognized comparators against XLA, any other ones against Python."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import comparators, compute_of
from shardy_py.ops.compute.lanes import RegionTerm, in_lanes
from tests.conftest import examples
from tests.ops.compute.against_jax import compare
from tests.ops.compute.bodies import Region

SCALAR, FLAG = TensorType((), "i64"), TensorType((), "i1")


def sort(dimension: int = 0) -> OpRecord:
    return OpRecord("stablehlo.sort", (), (), {"dimension": dimension, "is_stable": True})


@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 2**31))
@settings(max_examples=examples(40), deadline=None)
def test_any_comparator(size: int, lanes: int, seed: int) -> None:
    """By the remainder by 5, and by descending values of the second operand that the key leaves equal."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 20, (lanes, 2, size)), rng.integers(0, 3, (1, 2, size))
    body = Region(lambda a, b, c, d: ((a % 5 < b % 5) | ((a % 5 == b % 5) & (c > d)),))
    got = compute_of(sort(1))(sort(-1), body, first, second)
    for lane in range(lanes):
        for row in range(2):
            pairs = list(zip(first[lane, row].tolist(), second[0, row].tolist(), strict=True))
            pairs.sort(key=cmp_to_key(lambda p, q: (p[0] % 5 - q[0] % 5) or q[1] - p[1]))
            assert (
                list(zip(*(in_lanes(part, lanes)[lane, row].tolist() for part in got), strict=True)) == pairs
            )


def test_few_calls_of_the_comparator() -> None:
    body = Region(lambda a, b: (a < b,))
    x = np.random.default_rng(0).integers(0, 999, (2, 1000))
    got = compute_of(sort())(sort(), body, x)
    np.testing.assert_array_equal(got, np.sort(x, 1))
    assert body.calls <= 10 * 11


def test_contradictory_comparators_permute() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (2, 50))
    got = compute_of(sort())(sort(), Region(lambda a, b: (rng.random(len(a)) < 0.5,)), x)
    np.testing.assert_array_equal(np.sort(got), np.sort(x))


def _compared(direction: str, left: Any, right: Any, kind: str = "SIGNED") -> RegionTerm:
    attributes = {"comparison_direction": direction, "compare_type": kind}
    return RegionTerm(OpRecord("stablehlo.compare", (SCALAR, SCALAR), (FLAG,), attributes), (left, right))


def _op(name: str, *operands: Any) -> RegionTerm:
    return RegionTerm(OpRecord(f"stablehlo.{name}", (SCALAR,) * len(operands), (SCALAR,)), operands)


LESS, EQUAL, THEN = _compared("LT", 0, 1), _compared("EQ", 1, 0), _compared("GT", 2, 3)


@pytest.mark.parametrize(
    ("term", "keys"),
    [
        (LESS, [(0, False)]),
        (_compared("GT", 0, 1), [(0, True)]),
        (_compared("LT", 3, 2), [(2, True)]),
        (_op("or", LESS, _op("and", EQUAL, THEN)), [(0, False), (2, True)]),
        (_op("or", _op("and", THEN, EQUAL), LESS), [(0, False), (2, True)]),
        (_op("select", EQUAL, THEN, LESS), [(0, False), (2, True)]),
        (_compared("LE", 0, 1), None),
        (_compared("LT", 0, 2), None),
        (_compared("LT", 0, 3), None),
        (_compared("LT", _op("negate", 0), 1), None),
        (_compared("LT", _op("add", 0, 1), _op("add", 1, 0)), None),
        (_op("or", LESS, _op("and", _compared("EQ", 2, 3), THEN)), None),
        (_op("or", LESS, _op("or", EQUAL, THEN)), None),
        (_op("select", LESS, THEN, EQUAL), None),
        (_op("and", LESS, THEN), None),
        (0, None),
    ],
)
def test_recognized_keys(term: Any, keys: Any) -> None:
    """Recognized or not, the order is that of the comparator, if it is one."""
    found = comparators.keys_of(Region(lambda *_: (), terms=(term,)))
    assert (None if found is None else [(key.term, key.is_descending) for key in found]) == keys


def test_keys_are_expressions() -> None:
    term = _compared("LT", _op("negate", 0), _op("negate", 1))
    (key,) = comparators.keys_of(Region(lambda *_: (), terms=(term,))) or ()
    got = compute_of(sort())(sort(), Region(lambda *_: (), terms=(term,)), np.array([[3, 1, 2]]))
    assert got.tolist() == [[3, 2, 1]]
    assert not key.is_descending


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_plain_comparison_of_floats(dtype: Any) -> None:
    """Zeros are equal and stay in order; NaN is last, whatever its sign."""
    term = _compared("LT", 0, 1, "FLOAT")
    x = np.array([[np.nan, 0.0, -0.0, -np.nan, -1.0, 0.0, np.inf]], dtype)
    got = compute_of(sort())(sort(), Region(lambda *_: (), terms=(term,)), x)
    np.testing.assert_array_equal(got, np.array([[-1, 0, 0, 0, np.inf, np.nan, np.nan]], dtype))
    assert np.signbit(got[0, 1:4]).tolist() == [False, True, False]


SPECIAL = (3, -0.0, 0.0, np.nan, -np.nan, -np.inf, np.inf, -3, 0.0, -0.0, 1, -1)


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "int8", "uint32", "bool", "float64", "int64"]
)
def test_against_xla(dtype: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    lax, jnp = jax.lax, jax.numpy
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype == "bool" else 120, (2, 4, 12))
    if np.dtype(dtype).kind == "f" or dtype == "bfloat16":
        x = np.where(x % 3 == 0, np.array(SPECIAL), x - 60.0)
    x, y = x.astype(dtype), rng.integers(0, 3, (1, 4, 12)).astype(np.int32)
    x64 = dtype.endswith("64")

    def several(x: Any, y: Any) -> Any:
        flags = jnp.argsort(x, axis=0), jnp.argsort(x, axis=1, descending=True)
        pairs = lax.sort((y, x), dimension=0, num_keys=2), lax.sort((x, y), dimension=1, num_keys=1)
        return flags, pairs, lax.sort(x, dimension=1), jnp.sort(x, axis=0, descending=True)

    compare(several, x, y, rtol=0, atol=0, x64=x64)
