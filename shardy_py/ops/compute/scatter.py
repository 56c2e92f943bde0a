"""Scatters: values combined with elements at positions that are operands.

Updates are applied in their order. An element of an update whose position is out of bounds is skipped.
Updates of one position are combined in rounds: the first of every position, then the second, and so on,
so that each round is one call of the region. Replacements and numpy's own operations need no rounds.

Not here: gathers (`indexed.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.session import SESSION
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.combining import Arrays, ufuncs_of, wide_type, with_signed_zeros
from shardy_py.ops.compute.indexed import add_batching, all_slices, index_vectors, offsets, result_order
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction, dtype_of, in_lanes, lanes_of
from shardy_py.ops.dimensions import ScatterDimensions

_BLOCK = 1 << 22
"""The number of positions that are computed at once, which bounds the memory that they take."""
_LONG = 8
"""The size of updates from which on whole slices are replaced instead of elements."""


def scatter(record: OpRecord, body: RegionFunction, *operands: Array) -> Array | Arrays:
    """StableHLO's specification, "scatter"."""
    count = len(operands) // 2
    types = [dtype_of(result) for result in record.results]
    inputs = _typed(operands[:count], types)
    updates = _typed(operands[count + 1 :], types)
    numbers = ScatterDimensions.of(record.attributes)
    lanes = max(lanes_of(*operands), body.lanes)
    order = _update_order(numbers.offsets, updates[0].ndim - 1)
    updates = tuple(in_lanes(update, lanes).transpose(order) for update in updates)
    batch = updates[0].shape[1 : updates[0].ndim - len(numbers.offsets)]
    kept = iter(updates[0].shape[1 + len(batch) :])
    sizes = tuple(1 if d in numbers.dropped else next(kept) for d in range(inputs[0].ndim - 1))
    starts = _starts(numbers, operands[count], batch, lanes, len(sizes))
    is_unique = prod(batch) == 1 or bool(record.attributes.get("unique_indices"))
    rows = tuple(update.reshape(lanes * prod(batch), -1) for update in updates)
    results = tuple(np.array(in_lanes(array, lanes), order="C") for array in inputs)
    if rows[0].size:
        results = _scattered(body, results, rows, starts, sizes, is_unique=is_unique)
    return results[0] if len(results) == 1 else results


def _typed(arrays: Arrays, types: list[AnyDtype]) -> Arrays:
    return tuple(array.astype(dtype, copy=False) for array, dtype in zip(arrays, types, strict=True))


@SESSION.cache(1024)
def _update_order(window_dims: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns the axes of updates as (lanes, *batch, *window)."""
    return tuple(map(int, np.argsort(result_order(window_dims, rank - len(window_dims)))))


def _starts(
    numbers: ScatterDimensions, indices: Array, batch: tuple[int, ...], lanes: int, rank: int
) -> list[Array]:
    """Returns for each dimension where the windows start: (lanes * windows,), or (1,) if all start at 0."""
    vectors = offsets(index_vectors(indices, numbers.vector))
    starts: list[Array | None] = [None] * rank
    for number, dimension in enumerate(numbers.index_map):
        starts[dimension] = vectors[..., number]
    add_batching(starts, numbers.vector, numbers.batched, batch)
    shape = (lanes, *batch)
    zero = np.zeros(1, np.intp)
    return [zero if start is None else np.broadcast_to(start, shape).reshape(-1) for start in starts]


def _scattered(
    body: RegionFunction,
    results: Arrays,
    rows: Arrays,
    starts: list[Array],
    sizes: tuple[int, ...],
    *,
    is_unique: bool,
) -> Arrays:
    """Returns the results with the windows `rows` (lanes * windows, elements) combined into them."""
    shape = results[0].shape[1:]
    lane = np.arange(len(results[0])).repeat(len(rows[0]) // len(results[0]))
    spans = list(zip(starts, sizes, shape, strict=True))
    whole: Array = np.array(True)
    touched: Array = np.array(True)
    for start, size, full in spans:
        whole = whole & (start >= 0) & (start <= full - size)
        touched = touched & (start > -size) & (start < full)
    whole, touched = (np.broadcast_to(mask, len(lane)) for mask in (whole, touched))
    is_whole = bool((whole == touched).all())
    if not touched.all():
        rows = tuple(row[touched] for row in rows)
        starts = [start if len(start) != len(touched) else start[touched] for start in starts]
        lane = lane[touched]
    if is_whole and rows[0].shape[1] >= _LONG and _replaces(body, len(results)):
        places = tuple(np.broadcast_to(start, len(lane)) for start in starts)
        for result, row in zip(results, rows, strict=True):
            all_slices(result, sizes, writeable=True)[(lane, *places)] = row.reshape(-1, *sizes)
        return results
    strides = _strides(shape)
    first = lane * prod(shape)
    for start, stride in zip(starts, strides, strict=True):
        first = first + start * stride
    within = _positions(sizes, strides)
    block = max(1, _BLOCK // len(within))
    for begin in range(0, len(first), block):
        chosen = slice(begin, begin + block)
        positions = (first[chosen, None] + within).reshape(-1)
        values = tuple(row[chosen].reshape(-1) for row in rows)
        if not is_whole:
            here = [start if len(start) == 1 else start[chosen] for start in starts]
            inside = _inside(here, sizes, shape, len(positions) // len(within))
            positions, values = positions[inside], tuple(value[inside] for value in values)
        results = combined_at(body, results, positions, values, is_unique=is_unique)
    return results


def _inside(starts: list[Array], sizes: tuple[int, ...], shape: tuple[int, ...], count: int) -> Array:
    """Returns which elements of `count` windows are in bounds, in order."""
    inside = np.ones((count, *sizes), np.bool_)
    for d, (start, size, full) in enumerate(zip(starts, sizes, shape, strict=True)):
        place = start[:, None] + np.arange(size)
        valid = (place >= 0) & (place < full)
        inside &= valid.reshape(len(start), *(size if k == d else 1 for k in range(len(sizes))))
    return inside.reshape(-1)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


@lru_cache(maxsize=32)
def _positions(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Returns the positions of a window's elements from its first one."""
    positions = np.zeros(1, np.intp)
    for size, stride in zip(sizes, strides, strict=True):
        positions = (positions[:, None] + np.arange(size) * stride).reshape(-1)
    return positions


def _replaces(body: RegionFunction, count: int) -> bool:
    """True if the region returns the updates."""
    given = range(count, 2 * count)
    return len(body.terms) == count and all(
        isinstance(term, int) and term == number for term, number in zip(body.terms, given, strict=True)
    )


def combined_at(
    body: RegionFunction, arrays: Arrays, positions: Array, values: Arrays, *, is_unique: bool = False
) -> Arrays:
    """Returns arrays with values (n,) combined in order into the elements at flat positions (n,).

    Writes into the arrays, which are contiguous.

    is_unique: whether no position occurs twice.
    """
    if not len(positions):
        return arrays
    flat: Arrays = tuple(array.reshape(-1) for array in arrays)
    ufuncs = ufuncs_of(body, len(arrays))
    if _replaces(body, len(arrays)):
        for array, value in zip(flat, values, strict=True):
            array[positions] = value
    elif ufuncs is not None and all(wide_type(array.dtype) == array.dtype for array in arrays):
        flat = tuple(
            with_signed_zeros(ufunc, _Placed(positions), array, value)
            for ufunc, array, value in zip(ufuncs, flat, values, strict=True)
        )
    else:
        size = flat[0].size // len(arrays[0])
        rounds: Sequence[slice | Array] = [slice(None)] if is_unique else _rounds(positions)
        for chosen in rounds:
            where = positions[chosen]
            current = tuple(array[where] for array in flat)
            updates = tuple(value[chosen] for value in values)
            combined = _combined(body, where // max(size, 1), len(arrays[0]), current + updates)
            for array, value in zip(flat, combined, strict=True):
                array[where] = value
    return tuple(new.reshape(array.shape) for new, array in zip(flat, arrays, strict=True))


class _Placed:
    """Applies a ufunc at positions; a maximum or minimum to a copy, as it may be repeated."""

    def __init__(self, positions: Array) -> None:
        self._positions = positions

    def __call__(self, ufunc: np.ufunc, array: Array, value: Array) -> Array:
        """Returns the array with the values combined into it."""
        if ufunc in (np.maximum, np.minimum):
            array = array.copy()
        ufunc.at(array, self._positions, value)
        return array


def _rounds(positions: Array) -> list[Array]:
    """Returns indices into `positions`: the first of each position, the second of each, ... each in order."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    index = np.arange(len(order))
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    rank = index - np.maximum.accumulate(np.where(is_first, index, 0))
    ends = np.cumsum(np.bincount(rank))[:-1]
    return np.split(order[np.argsort(rank, kind="stable")], ends)


def _combined(body: RegionFunction, lane: Array, lanes: int, values: Arrays) -> Arrays:
    """Returns the region's results for values (n,), each with its lane, which do not descend in a round."""
    count = len(lane)
    if body.lanes == 1:
        results = body(*values)
        return tuple(in_lanes(result, count) for result in results)
    # The region needs as many values of each lane: lanes with fewer ones repeat one.
    order = np.argsort(lane, kind="stable")
    counts = np.bincount(lane, minlength=lanes)
    column = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.zeros((lanes, counts.max()), np.intp)
    table[lane[order], column] = order
    results = body(*(value[table.reshape(-1)] for value in values))
    place = np.empty(count, np.intp)
    place[order] = lane[order] * table.shape[1] + column
    return tuple(in_lanes(result, table.size)[place] for result in results)


COMPUTE: dict[str, Compute] = {"stablehlo.scatter": scatter}
"""The function of each op."""
