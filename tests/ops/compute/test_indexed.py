"""Gathers, scatters and dynamic slices, element by element as StableHLO's specification states them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute import compute_of
from shardy_py.ops.compute import scatter as scatter_module
from shardy_py.ops.compute.lanes import in_lanes
from tests.conftest import examples
from tests.ops.compute.against_jax import compare
from tests.ops.compute.bodies import Region, combining
from tests.ops.compute.dimension_numbers import DimensionNumbers

SEEDS = st.integers(0, 2**31)
I64 = TensorType((1,), "i64")


@given(SEEDS)
@settings(max_examples=examples(80), deadline=None)
def test_gather(seed: int) -> None:
    case = DimensionNumbers(seed)
    operand, indices = case.array(case.shape, 0, 1000), case.array(case.index_shape, -2, 6)
    names = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims")
    numbers = case.named(*names, "start_indices_batching_dims", "start_index_map")
    attributes = {"dimension_numbers": numbers, "slice_sizes": tuple(case.sizes)}
    row = OpRecord("stablehlo.gather", (), (), attributes)
    types = (np.int8, np.int32, np.uint64) if (indices >= 0).all() else (np.int8, np.int32)
    narrow = indices.astype(case.random.choice(types))
    got = compute_of(row)(row, operand, narrow)
    lanes = max(len(operand), len(indices))
    assert len(got) in (1, lanes)
    for lane in range(lanes):
        source, index, mine = (in_lanes(array, lanes)[lane] for array in (operand, indices, got))
        assert mine.shape == tuple(case.moved_shape)
        for moved in np.ndindex(*case.moved_shape):
            assert mine[moved] == source[case.place(index, moved, is_clamped=True)]


BODIES = {
    "set": (Region(lambda old, new: (new,), terms=(1,)), lambda old, new: new),
    "add": (combining("add", np.add), lambda old, new: old + new),
    "maximum": (combining("maximum", np.maximum), max),
    "any": (Region(lambda old, new: (3 * old + new,)), lambda old, new: 3 * old + new),
    "captures": (Region(lambda old, new: (3 * old + new,), lanes=3), lambda old, new: 3 * old + new),
}


@given(SEEDS, st.sampled_from(sorted(BODIES)), st.sampled_from((1, 1 << 20)))
@settings(max_examples=examples(100), deadline=None)
def test_scatter(seed: int, name: str, block: int) -> None:
    case, (body, combine) = DimensionNumbers(seed), BODIES[name]
    operand, updates = case.array(case.shape, 0, 9), case.array(case.moved_shape, 0, 9)
    indices = case.array(case.index_shape, *case.random.choice(((-3, 7), (0, 2))))
    names = ("update_window_dims", "inserted_window_dims", "input_batching_dims")
    numbers = case.named(*names, "scatter_indices_batching_dims", "scatter_dims_to_operand_dims")
    row = OpRecord("stablehlo.scatter", (), (I64,), {"scatter_dimension_numbers": numbers})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scatter_module, "_BLOCK", block)
        got = compute_of(row)(row, body, operand, indices, updates)
    lanes = max(len(operand), len(indices), len(updates), body.lanes)
    assert len(got) == lanes
    batch_first = (*case.batch_dims, *case.window_dims)
    for lane in range(lanes):
        expected, index, update = (in_lanes(array, lanes)[lane] for array in (operand, indices, updates))
        expected = expected.copy()
        for turned in np.ndindex(*(case.moved_shape[d] for d in batch_first)):
            moved = tuple(turned[batch_first.index(d)] for d in range(len(turned)))
            place = case.place(index, moved, is_clamped=False)
            if all(0 <= at < size for at, size in zip(place, case.shape, strict=True)):
                expected[place] = combine(expected[place], update[moved])
        np.testing.assert_array_equal(got[lane], expected)


@given(SEEDS)
@settings(max_examples=examples(60), deadline=None)
def test_dynamic_slices(seed: int) -> None:
    case = DimensionNumbers(seed)
    operand, update = case.array(case.shape, 0, 99), case.array(case.sizes, 0, 99)
    starts = [case.array([], -2, 6) for _ in case.shape]
    reading = OpRecord("stablehlo.dynamic_slice", (), (), {"slice_sizes": tuple(case.sizes)})
    writing = OpRecord("stablehlo.dynamic_update_slice", (), ())
    read = compute_of(reading)(reading, operand, *starts)
    written = compute_of(writing)(writing, operand, update, *starts)
    for lane in range(3):
        first = [int(in_lanes(start, 3)[lane]) for start in starts]
        sizes = zip(first, case.shape, case.sizes, strict=True)
        inside = [min(max(start, 0), full - size) for start, full, size in sizes]
        part = tuple(slice(start, start + size) for start, size in zip(inside, case.sizes, strict=True))
        source = in_lanes(operand, 3)[lane] if len(operand) == 3 else operand[0]
        if len(read) == 3 or lane == 0:
            np.testing.assert_array_equal(read[lane], source[part])
        if len(written) == 3 or lane == 0:
            expected = source.copy()
            expected[part] = in_lanes(update, 3)[lane]
            np.testing.assert_array_equal(written[lane], expected)


def test_empty_dynamic_slices() -> None:
    """Starts differ between lanes."""
    row = OpRecord("stablehlo.dynamic_slice", (), (), {"slice_sizes": (0, 2)})
    starts = np.array([0, 1]), np.array([1, 0])
    assert compute_of(row)(row, np.ones((1, 3, 4)), *starts).shape == (2, 0, 2)


def test_scatter_rounds_at_each_step_as_xla_does() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    import jax.numpy as jnp

    rng = np.random.default_rng(3)
    x, at = rng.normal(size=(2, 7)).astype(jnp.bfloat16), rng.integers(-1, 9, (2, 200)).astype(np.int32)
    u = rng.normal(size=(2, 200)).astype(jnp.bfloat16)
    compare(lambda x, at, u: x.at[at].add(u, mode="drop"), x, at, u, rtol=0, atol=0)
    compare(lambda x, at, u: x.at[at].set(u, mode="drop"), x, at, u, rtol=0, atol=0)
    compare(lambda x, at, u: x.at[at].min(u), np.float32(x), at, np.float32(u), rtol=0, atol=0)


@pytest.mark.parametrize("element", ["f8E5M2", "f8E4M3FN", "i4"])
def test_slices_of_narrow_elements(element: str) -> None:
    """numpy has no name for the type of f8E5M2."""
    operand = np.arange(6).reshape(1, 3, 2).astype(element_type(element).dtype)
    numbers = {"offset_dims": (1, 2), "start_index_map": (0,), "index_vector_dim": 1}
    attributes = {"dimension_numbers": numbers, "slice_sizes": (2, 2)}
    row = OpRecord("stablehlo.gather", (), (), attributes)
    got = compute_of(row)(row, operand, np.array([[[1], [9], [0]]]))
    assert got.dtype == operand.dtype
    assert got[0].astype(int).tolist() == [[[2, 3], [4, 5]], [[2, 3], [4, 5]], [[0, 1], [2, 3]]]


def test_multiple_results() -> None:
    """Two inputs, of which the region exchanges the values."""
    numbers = {"scatter_dims_to_operand_dims": (0,), "inserted_window_dims": (0,), "index_vector_dim": 1}
    row = OpRecord("stablehlo.scatter", (), (I64, I64), {"scatter_dimension_numbers": numbers})
    body = Region(lambda a, b, c, d: (b + c, a + d))
    indices = np.array([[[2], [0], [2], [9]]])
    inputs = np.array([[1, 2, 3]]), np.array([[10, 20, 30]])
    updates = np.array([[100, 200, 300, 400]]), np.array([[1000, 2000, 3000, 4000]])
    first, second = compute_of(row)(row, body, *inputs, indices, *updates)
    assert first.tolist() == [[210, 2, 1303]]
    assert second.tolist() == [[2001, 20, 3130]]
    assert body.calls == 2
