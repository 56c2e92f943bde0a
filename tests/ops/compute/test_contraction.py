"""Products and convolutions against XLA on a CPU, with operands that differ between lanes or do not."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import Array, compute_of
from shardy_py.ops.compute import convolution as convolutions
from tests.ops.compute.against_jax import compare
from tests.ops.examples import op, t

TYPES = [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.int32, np.uint32, np.bool_, np.complex64]


def random_array(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Integers of all sizes, booleans, or numbers around 0."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.3
    if dtype.kind in "iu":
        return random.integers(*(np.iinfo(dtype).min, np.iinfo(dtype).max), shape, dtype, endpoint=True)
    imaginary = 1j * random.standard_normal(shape) if dtype.kind == "c" else 0
    return (random.standard_normal(shape) + imaginary).astype(dtype)


def tolerance(dtype: Any) -> dict[str, Any]:
    """Equal bits for integers; the rounding of a sum of few terms for floats."""
    dtype = np.dtype(dtype)
    error = 0 if dtype.kind in "biu" else 0.05 if dtype.itemsize == 2 else 1e-4
    return {"rtol": error, "atol": error}


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_dot_general(data: st.DataObject) -> None:
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    dtype = data.draw(st.sampled_from(TYPES))
    sizes = {letter: data.draw(st.integers(1, 5)) for letter in "abckmnp"}
    batch, summed = (data.draw(st.sampled_from(c)) for c in (("", "a", "ab"), ("", "c", "ck")))
    sides = [
        data.draw(st.permutations(batch + summed + free))
        for free in (("m", "mp")[data.draw(st.booleans())], "n")
    ]
    lanes = data.draw(st.sampled_from([(1, 1), (3, 1), (1, 3), (3, 3)]))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    numbers = [[[side.index(c) for c in part] for side in sides] for part in (summed, batch)]
    arrays = [
        random_array(random, (n, *(sizes[c] for c in side)), dtype)
        for n, side in zip(lanes, sides, strict=True)
    ]
    compare(lambda a, b: lax.dot_general(a, b, numbers), *arrays, **tolerance(dtype))


LARGE = {
    np.int8: np.int32,
    np.int16: np.int16,
    np.int32: np.int32,
    np.uint32: np.uint32,
    np.int64: np.int64,
    np.uint64: np.uint64,
    ml_dtypes.bfloat16: np.float32,
    np.float64: np.float64,
    np.complex128: np.complex128,
}


@pytest.mark.parametrize(("dtype", "preferred"), LARGE.items())
def test_many_terms(dtype: Any, preferred: Any) -> None:
    """Integers wrap around in the result type, although they are multiplied as floats."""
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    random = np.random.default_rng(0)
    arrays = random_array(random, (2, 17, 300), dtype), random_array(random, (1, 300, 19), dtype)
    compare(
        lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=preferred),
        *arrays,
        **tolerance(preferred),
        x64=True,
    )


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_convolution(data: st.DataObject) -> None:
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    rank = data.draw(st.integers(0, 2))
    dtype = data.draw(st.sampled_from(TYPES[:-2]))
    by_feature, by_batch = data.draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    features, outputs, batch = (data.draw(st.integers(1, 3)) for _ in range(3))

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(data.draw(st.integers(low, high)) for _ in range(rank))

    spatial, window, strides, base, dilation = some(3, 6), some(1, 3), some(1, 3), some(1, 2), some(1, 2)
    padding = tuple(zip(some(-1, 2), some(2, 3), strict=True))
    reversal = tuple(data.draw(st.booleans()) for _ in range(rank))
    image = (batch * by_batch, features * by_feature, *spatial)
    kernel = (outputs * by_feature * by_batch, features, *window)
    orders = [data.draw(st.permutations(range(rank + 2))) for _ in range(3)]
    lanes = data.draw(st.sampled_from([(1, 1), (3, 1), (1, 3), (3, 3)]))
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    arrays = [
        random_array(random, (n, *(shape[order.index(d)] for d in range(rank + 2))), dtype)
        for n, shape, order in zip(lanes, (image, kernel), orders[:2], strict=True)
    ]

    def convolve(a: Any, b: Any) -> Any:
        b = lax.rev(b, [orders[1][2 + d] for d in range(rank) if reversal[d]])
        numbers = lax.ConvDimensionNumbers(*map(tuple, orders))
        groups = {"feature_group_count": by_feature, "batch_group_count": by_batch}
        return lax.conv_general_dilated(a, b, strides, padding, base, dilation, numbers, **groups)

    with pytest.MonkeyPatch.context() as patch:
        block = data.draw(st.sampled_from([1, 60, 1 << 20]))
        patch.setattr(convolutions, "_BLOCK_ELEMENTS", block)
        compare(convolve, *arrays, **tolerance(dtype))


def ragged(lhs: str, rhs: str, out: str, ragged: str, groups: str = "g") -> OpRecord:
    """A ragged dot by letters: those in both operands are batch dimensions if they are in the result."""
    both = [c for c in lhs if c in rhs]
    roles = {"batching": [c for c in both if c in out], "contracting": [c for c in both if c not in out]}
    numbers = {
        f"{name}_{role}_dimensions": tuple(side.index(c) for c in letters)
        for role, letters in roles.items()
        for name, side in (("lhs", lhs), ("rhs", rhs))
    }
    numbers["lhs_ragged_dimensions"] = (lhs.index(ragged),)
    numbers["rhs_group_dimensions"] = (rhs.index(groups),) if groups in rhs else ()
    return op("chlo.ragged_dot", (), (t(),), ragged_dot_dimension_numbers=numbers)


RAGGED = {
    "each group has its matrix": ("mk", "gkn", "mn", "g"),
    "with a batch": ("bmk", "gbkn", "bmn", "g"),
    "groups for each element of the batch": ("bmk", "bkgn", "bmn", "bg"),
    "each group has its product": ("mk", "mn", "gkn", "g"),
    "their products in a batch": ("kmb", "bmn", "gbkn", "bg"),
    "the groups of a batch": ("mbk", "mkn", "mbn", "g"),
}


@pytest.mark.parametrize("lanes", [(1, 1, 1), (3, 1, 1), (1, 1, 3), (3, 3, 3)])
@pytest.mark.parametrize("case", RAGGED)
def test_ragged_dot(case: str, lanes: tuple[int, int, int]) -> None:
    """Groups of 0 to 3 elements of 11, so that some are in no group: expected by einsum and masks."""
    lhs, rhs, out, sizes = RAGGED[case]
    size = {"b": 2, "m": 11, "k": 4, "n": 3, "g": 5}
    random = np.random.default_rng(0)
    left, right = (
        random.standard_normal((n, *(size[c] for c in side))).astype(np.float32)
        for n, side in zip(lanes, (lhs, rhs), strict=False)
    )
    counts = random.integers(0, 3, (lanes[2], *(size[c] for c in sizes))).astype(np.int32)
    record = ragged(lhs, rhs, out, "m")
    got = compute_of(record)(record, left, right, counts)
    ends = np.cumsum(counts, -1)[..., None]
    mask = (np.arange(11) < ends) & (np.arange(11) >= ends - counts[..., None])
    if "m" in out and "m" in rhs:
        expected = np.einsum(f"...{lhs},...{rhs}->...{out}", left, right)
    else:
        expected = np.einsum(f"...{lhs},...{rhs},...{sizes}m->...{out}", left, right, mask)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", ["each group has its matrix", "each group has its product", "with a batch"])
def test_ragged_dot_is_that_of_jax(case: str) -> None:
    """JAX decomposes it: XLA's CPU compiler does not take the op. All elements are in a group."""
    lax: Any = pytest.importorskip("jax.lax", reason="JAX is not installed")
    lhs, rhs, out, _ = RAGGED[case]
    size = {"b": 2, "m": 11, "k": 4, "n": 3, "g": 5}
    random = np.random.default_rng(1)
    left, right = (random_array(random, tuple(size[c] for c in side), np.float32) for side in (lhs, rhs))
    counts = np.array([3, 0, 1, 5, 2], np.int32)
    record = ragged(lhs, rhs, out, "m")
    numbers = record.attributes["ragged_dot_dimension_numbers"]
    pairs = [
        tuple(numbers[f"{side}_{role}_dimensions"] for side in ("lhs", "rhs"))
        for role in ("contracting", "batching")
    ]
    given = lax.RaggedDotDimensionNumbers(
        tuple(pairs), numbers["lhs_ragged_dimensions"], numbers["rhs_group_dimensions"]
    )
    expected = lax.ragged_dot_general(left, right, counts, given)
    got = compute_of(record)(record, left[None], right[None], counts[None])
    np.testing.assert_allclose(got[0], expected, rtol=1e-5, atol=1e-5)


def test_einsum() -> None:
    random = np.random.default_rng(0)
    left, right = random_array(random, (3, 2, 3, 3), np.int8), random_array(random, (1, 4, 2), np.int8)
    for config, operands in (("abb,ca->cb", [left, right]), ("abb->b", [left])):
        name = ("unary_einsum", "einsum")[len(operands) - 1]
        record = op(f"stablehlo.{name}", (), (t(element="i8"),), einsum_config=config)
        labels = ",".join(f"...{term}" for term in config.split("->")[0].split(","))
        expected = np.einsum(f"{labels}->...{config.split('->')[1]}", *(a.astype(np.int64) for a in operands))
        assert (compute_of(record)(record, *operands) == expected.astype(np.int8)).all()


def test_padding_that_differs_between_lanes() -> None:
    """dynamic_conv with paddings in an operand."""
    record = op("stablehlo.dynamic_conv", (), (t(),), dimension_numbers=LINE)
    image, kernel = np.ones((1, 1, 1, 5), np.float32), np.ones((1, 1, 1, 2), np.float32)
    compute = compute_of(record)
    assert compute(record, image, kernel, np.array([[[1, 2]]])).tolist() == [[[[1, 2, 2, 2, 2, 1, 0]]]]
    with pytest.raises(
        ShardyError, match=r"'stablehlo.dynamic_conv' op has sizes that differ between devices"
    ):
        compute(record, image, kernel, np.array([[[1, 2]], [[0, 0]]]))


LINE = {
    f"{side}_{role}": value
    for side, roles in {
        "input": ("batch_dimension", "feature_dimension", "spatial_dimensions"),
        "kernel": ("output_feature_dimension", "input_feature_dimension", "spatial_dimensions"),
        "output": ("batch_dimension", "feature_dimension", "spatial_dimensions"),
    }.items()
    for role, value in zip(roles, (0, 1, (2,)), strict=True)
}


@given(st.tuples(*[st.integers(1, 40)] * 3), st.integers(2, 8))
@example((13, 33, 29), 7)
@example((5, 25, 35), 3)
@example((7, 40, 9), 8)
def test_equal_lanes_have_equal_bits(sizes: tuple[int, int, int], lanes: int) -> None:
    m, k, n = sizes
    f64 = partial(t, element="f64")
    record = op("stablehlo.dot", [f64(m, k), f64(k, n)], [f64(m, n)])
    random = np.random.default_rng(m * k * n)
    lhs, rhs = random.standard_normal((1, m, k)), random.standard_normal((1, k, n))
    found = compute_of(record)(record, np.repeat(lhs, lanes, 0), rhs)
    assert (found == found[0]).all()
