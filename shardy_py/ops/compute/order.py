"""Sorts along a dimension, with any comparator.

Comparators that compare keys (`comparators.py`) sort integers with numpy. Any other merges runs of 1, 2, 4,
and more elements: the place of each element in a merged run is found by bisection of the other run, for all
elements at once, so that n elements take O(log^2 n) calls of the comparator.
"""

from __future__ import annotations

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute.combining import Arrays, applied
from shardy_py.ops.compute.comparators import Key, keys_of
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction, in_lanes, lanes_of


def sort(record: OpRecord, comparator: RegionFunction, *operands: Array) -> Array | Arrays:
    """StableHLO's specification, "sort"; always stable."""
    dimension: int = record.attributes.get("dimension", -1)
    axis = dimension + 1 if dimension >= 0 else operands[0].ndim + dimension
    if operands[0].shape[axis] > 1 and operands[0].size:
        keys = keys_of(comparator)
        if keys is not None:
            operands = _sorted_by(keys, operands, axis)
        else:
            last = tuple(np.moveaxis(operand, axis, -1) for operand in operands)
            operands = tuple(np.moveaxis(result, -1, axis) for result in _merged(comparator, last))
    return operands[0] if len(operands) == 1 else operands


def _sorted_by(keys: list[Key], operands: Arrays, axis: int) -> Arrays:
    if (
        len(operands) == 1
        and keys[0].term == 0
        and operands[0].dtype.kind in "iub"
        and not keys[0].is_descending
    ):
        return (np.sort(operands[0], axis),)
    order: Array | None = None
    for key in reversed(keys):
        values = _key_values(key, operands)
        if order is None:
            order = _stable_order(values, axis)
        else:
            then = _stable_order(_along(values, order, axis), axis)
            order = _along(order, then, axis)
    assert order is not None
    return tuple(_along(operand, order, axis) for operand in operands)


def _key_values(key: Key, operands: Arrays) -> Array:
    """Returns the key of all elements, in as many lanes as the operands that it depends on."""
    lanes, shape = lanes_of(*operands), operands[0].shape[1:]
    if isinstance(key.term, int):
        return key.values(operands)
    flat = [in_lanes(operand, lanes).reshape(-1) for operand in operands]
    values = key.values(flat)
    return in_lanes(values, flat[0].size).reshape(lanes, *shape)


def _along(values: Array, order: Array, axis: int) -> Array:
    lanes = max(len(values), len(order))
    return np.take_along_axis(in_lanes(values, lanes), in_lanes(order, lanes), axis)


def _stable_order(keys: Array, axis: int) -> Array:
    """Returns the indices that sort integers along an axis; equal ones stay in order.

    Keys of up to 32 bits are sorted together with their index: numpy sorts integers several times faster
    than it finds the stable order of them.
    """
    size: int = keys.shape[axis]
    if keys.dtype.itemsize > 4 or size >= 1 << 31:
        return np.argsort(keys, axis, kind="stable")
    index = np.arange(size).reshape(-1, *(1,) * (keys.ndim - axis - 1))
    packed = (keys.astype(np.int64) << 31) | index
    packed.sort(axis)
    packed &= (1 << 31) - 1
    return packed


def _merged(comparator: RegionFunction, operands: Arrays) -> Arrays:
    """Returns the operands sorted along the last axis."""
    lanes = max(lanes_of(*operands), comparator.lanes)
    arrays = tuple(in_lanes(operand, lanes) for operand in operands)
    size: int = arrays[0].shape[-1]
    width = 1
    while width < size:
        ranks = _ranks_in_sibling(comparator, arrays, width)
        place = np.arange(size)
        # Sorting the places keeps a permutation even if the comparator contradicts itself.
        order = np.argsort(place // (2 * width) * (2 * width) + place % width + ranks, -1, kind="stable")
        arrays = tuple(np.take_along_axis(array, order, -1) for array in arrays)
        width *= 2
    return arrays


def _ranks_in_sibling(comparator: RegionFunction, arrays: Arrays, width: int) -> Array:
    """Returns for each element how many of the run to merge with come before it.

    Runs of `width` elements are merged in pairs. Elements of the right run come before those of the left run
    only if the comparator says so.
    """
    size: int = arrays[0].shape[-1]
    place = np.arange(size)
    start = place // (2 * width) * (2 * width)
    is_left = place - start < width
    sibling = start + np.where(is_left, width, 0)
    low = np.zeros(arrays[0].shape, np.intp)
    high = low + np.where(is_left, np.clip(size - sibling, 0, width), width)
    while (low < high).any():
        middle = (low + high) // 2
        index = np.minimum(sibling + middle, size - 1)
        comes_first = _right_first(comparator, arrays, index, is_left) == is_left
        is_open = low < high
        low, high = (
            np.where(is_open & comes_first, middle + 1, low),
            np.where(is_open & ~comes_first, middle, high),
        )
    return low


def _right_first(comparator: RegionFunction, arrays: Arrays, index: Array, is_left: Array) -> Array:
    """Returns whether the element of the right run precedes that of the left one: each element and that at
    `index`.
    """
    pairs: list[Array] = []
    for array in arrays:
        other = np.take_along_axis(array, index, -1)
        pairs += [np.where(is_left, other, array), np.where(is_left, array, other)]
    return applied(comparator, *pairs)[0]


COMPUTE: dict[str, Compute] = {"stablehlo.sort": sort}
"""The function of each op."""
