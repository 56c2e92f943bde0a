"""Masks against brute force: with them, no value of the padding of the operands changes a result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shardy_py.localize.arithmetic.masks import (
    Fill,
    Mask,
    dot_general_masks,
    dot_masks,
    reduce_masks,
)
from shardy_py.ops import COMBINERS, Combiner, Identity, OpRecord, TensorType

Array = NDArray[np.int64]
SIZES = st.integers(1, 4)
NUMBERS = {
    Identity.ZERO: 0,
    Identity.ONE: 1,
    Identity.LOWEST: np.iinfo(np.int64).min,
    Identity.HIGHEST: np.iinfo(np.int64).max,
    Identity.ALL_ONES: -1,
}


def padded(array: Array, sizes: tuple[int, ...], masks: tuple[Mask, ...], index: int) -> Array:
    """The array with padding of 99 up to `sizes`, in which the masks of the operand `index` are filled."""
    high = [(0, size - own) for size, own in zip(sizes, array.shape, strict=True)]
    made = np.pad(array, high, constant_values=99)
    for mask in masks:
        if mask.operand == index:
            for dimension in mask.dimensions:
                beyond = [slice(None)] * array.ndim
                beyond[dimension] = slice(array.shape[dimension], None)
                assert isinstance(mask.fill, Identity)
                made[tuple(beyond)] = NUMBERS[mask.fill]
    return made


@pytest.mark.parametrize("row", COMBINERS.values(), ids=COMBINERS)
@given(data=st.data())
def test_the_padding_of_reductions_is_neutral(row: Combiner, data: st.DataObject) -> None:
    shape = data.draw(st.tuples(SIZES, SIZES, SIZES))
    sizes = tuple(size + data.draw(st.integers(0, 2)) for size in shape)
    dimensions = tuple(sorted(data.draw(st.sets(st.integers(0, 2), min_size=1))))
    array = np.arange(np.prod(shape)).reshape(shape) * 7 % 11 - 3
    kind = TensorType(sizes, "i64")
    record = OpRecord("stablehlo.reduce", (kind, TensorType((), "i64")), (), {"dimensions": dimensions})
    made = padded(array, sizes, reduce_masks(record, (row.op,)), 0)
    wanted, found = array, made
    for dimension in reversed(dimensions):
        wanted = row.ufunc.reduce(wanted, axis=dimension)
        found = row.ufunc.reduce(found, axis=dimension)
    kept = tuple(slice(0, size) for size in wanted.shape)
    assert (found[kept] == wanted).all()


def test_results_that_depend_on_each_other_start_from_their_initial_values() -> None:
    record = OpRecord("stablehlo.reduce", (), (), {"dimensions": (0,)})
    masks = reduce_masks(record, ("stablehlo.add", None))
    assert [mask.fill for mask in masks] == [Fill.INITIAL, Fill.INITIAL]


@given(st.tuples(SIZES, SIZES, SIZES), st.tuples(*[st.integers(0, 2)] * 3))
def test_the_padding_of_dots_is_neutral(sizes: tuple[int, int, int], more: tuple[int, int, int]) -> None:
    i, k, j = sizes
    large = tuple(size + extra for size, extra in zip(sizes, more, strict=True))
    lhs, rhs = np.arange(i * k).reshape(i, k) - 2, np.arange(k * j).reshape(k, j) * 3 - 4
    kinds = TensorType((large[0], large[1]), "i64"), TensorType((large[1], large[2]), "i64")
    numbers = {
        "lhs_batching_dimensions": (),
        "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (1,),
        "rhs_contracting_dimensions": (0,),
    }
    for masks_of, attributes in ((dot_masks, {}), (dot_general_masks, {"dot_dimension_numbers": numbers})):
        masks = masks_of(OpRecord("", kinds, (), attributes))
        made = padded(lhs, kinds[0].shape, masks, 0) @ padded(rhs, kinds[1].shape, masks, 1)  # pyright: ignore
        assert (made[:i, :j] == lhs @ rhs).all()
