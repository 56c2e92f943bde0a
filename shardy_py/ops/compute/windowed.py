"""Reductions over windows, and the scatter to the element that a window selects.

Windows are reduced dimension by dimension, minor ones first, which keeps the order of their elements. Along
one dimension, a few positions are combined one after the other, and windows of all that is before or behind
are accumulated. Other long windows are joined from the end of one block and the start of the next (van Herk,
Gil and Werman), so that the work does not grow with their size.

Not here: whole dimensions (`reduction.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import gcd, prod
from operator import mul

import numpy as np

from shardy_py.base.arrays import Ufunc
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.combining import (
    WIDE_ROW,
    Arrays,
    accumulate,
    applied,
    has_roundings,
    identity_of,
    ufuncs_of,
    wide_type,
    with_signed_zeros,
)
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction, dtype_of, in_lanes, lanes_of
from shardy_py.ops.compute.movement import as_declared, padded, sizes_in
from shardy_py.ops.compute.precision import Dtype
from shardy_py.ops.compute.reduction import converted
from shardy_py.ops.compute.scatter import combined_at
from shardy_py.ops.dimensions import own_windows

_SHORT = 12
"""The longest windows whose elements are combined one after the other."""
_IN_ORDER = 16
"""The most elements of windows whose sums and products are computed in row-major order."""


@dataclass(frozen=True, slots=True)
class _Windows:
    """Windows along each dimension, in a padded operand."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]

    def pad(self, operand: Array, value: Array, dimension: int) -> Array:
        """Returns the operand with `value` (lanes,) as padding along a dimension."""
        amounts = (numbers[dimension] for numbers in (self.low, self.high, self.interior))
        before, behind = (0,) * dimension, (0,) * (len(self.sizes) - dimension - 1)
        low, high, interior = ((*before, amount, *behind) for amount in amounts)
        return padded(operand, value, low, high, interior) if any(low + high + interior) else operand

    def cumulative(self, dimension: int, size: int) -> int:
        """Returns 1 if window k is elements 0 to k of a dimension, -1 if it is those from k on, else 0."""
        window, low, high = self.sizes[dimension], self.low[dimension], self.high[dimension]
        steps = (self.strides[dimension], self.dilations[dimension], self.interior[dimension])
        if steps != (1, 1, 0) or window < size or low + high != window - 1:
            return 0
        return 1 if not high else -1 if not low else 0

    def counts(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns the number of windows along each dimension of a padded operand."""
        spans = ((size - 1) * step + 1 for size, step in zip(self.sizes, self.dilations, strict=True))
        rows = zip(shape, spans, self.strides, strict=True)
        return tuple(max(0, (size - span) // stride + 1) for size, span, stride in rows)

    def are_small(self, shape: Sequence[int]) -> bool:
        """True if elements are combined in row-major order; prefixes of a dimension are in any case."""
        whole = prod(self.sizes)
        return whole <= _IN_ORDER and all(
            self.cumulative(d, size) < 1 for d, size in enumerate(shape) if self.sizes[d] == whole > 1
        )


def _windows(record: OpRecord, rank: int) -> _Windows:
    windows = own_windows(record.attributes, rank)
    return _Windows(
        tuple(window.size for window in windows),
        tuple(window.stride for window in windows),
        tuple(window.dilation for window in windows),
        tuple(window.low for window in windows),
        tuple(window.high for window in windows),
        tuple(window.base_dilation - 1 for window in windows),
    )


def reduce_window(record: OpRecord, body: RegionFunction, *operands: Array) -> Array | Arrays:
    """StableHLO's specification, "reduce_window"; padding counts as no element, as in XLA."""
    inputs, inits = converted(record, operands)
    windows = _windows(record, inputs[0].ndim - 1)
    ufuncs = ufuncs_of(body, len(inputs))
    if ufuncs is None:
        results = _reduced_by(body, inputs, inits, windows)
    else:
        triples = zip(ufuncs, inputs, inits, strict=True)
        results = tuple(_reduced(ufunc, values, init, windows) for ufunc, values, init in triples)
    return results[0] if len(results) == 1 else results


def dynamic_reduce_window(record: OpRecord, body: RegionFunction, *operands: Array) -> Arrays:
    """The custom call of that name: the attributes of "reduce_window" are its last five operands."""
    arrays, given = operands[:-5], operands[-5:]
    rank = arrays[0].ndim - 1
    *numbers, padding = (sizes_in(record, operand.reshape(len(operand), -1)) for operand in given)
    pairs = tuple(zip(padding[::2], padding[1::2], strict=True))
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    if len(pairs) != rank or any(len(row) != rank or min(row, default=1) < 1 for row in numbers):
        raise ShardyError(f"'{record.name}' op has windows that do not fit {rank} dimensions")
    attributes = {**dict(zip(names, numbers, strict=True)), "padding": pairs}
    results = reduce_window(replace(record, attributes=attributes), body, *arrays)
    each = zip(record.results, results if isinstance(results, tuple) else (results,), strict=True)
    return tuple(as_declared(replace(record, results=(type_,)), result) for type_, result in each)


def _reduced(ufunc: Ufunc, values: Array, init: Array, windows: _Windows) -> Array:
    def run(ufunc: Ufunc, values: Array, init: Array) -> Array:
        dtype = wide_type(values.dtype, ufunc)
        values, init = values.astype(dtype, copy=False), init.astype(dtype, copy=False)
        filled = (np.array([identity_of(ufunc, dtype)]),)
        if has_roundings(ufunc, dtype) and windows.are_small(values.shape[1:]):
            return _in_order(ufunc, values, init, filled[0], windows)

        def pairwise(left: Arrays, right: Arrays) -> Arrays:
            return (ufunc(left[0], right[0]),)

        def running(arrays: Arrays, axis: int, step: int) -> Arrays:
            turn = (*(slice(None),) * axis, slice(None, None, step))
            return (_accumulated(ufunc, arrays[0][turn], axis, dtype)[turn],)

        (result,) = _reduce_all((values,), filled, windows, pairwise, running)
        return ufunc(result, init.reshape(-1, *(1,) * (result.ndim - 1)))

    return with_signed_zeros(ufunc, run, values, init).astype(values.dtype, copy=False)


def _in_order(ufunc: Ufunc, values: Array, init: Array, fill: Array, windows: _Windows) -> Array:
    """Returns the elements of each window combined one after the other, in row-major order."""
    for dimension in range(len(windows.sizes)):
        values = windows.pad(values, fill, dimension)
    counts = windows.counts(values.shape[1:])
    result: Array = np.empty((lanes_of(values, init), *counts), values.dtype)
    result[...] = init.reshape(-1, *(1,) * len(counts))
    for window in np.ndindex(*windows.sizes):
        starts = map(mul, window, windows.dilations)
        element = values[(slice(None), *map(_range, starts, counts, windows.strides))]
        ufunc(result, element, out=result)
    return result


def _accumulated(ufunc: Ufunc, array: Array, axis: int, dtype: Dtype) -> Array:
    if prod(array.shape[axis + 1 :]) < WIDE_ROW:
        return ufunc.accumulate(array, axis, dtype)
    # numpy would go through the elements of each column, far apart in memory.
    result: Array = np.empty(array.shape, dtype)
    source, rows = np.moveaxis(array, axis, 0), np.moveaxis(result, axis, 0)
    rows[0] = source[0]
    for row in range(1, len(rows)):
        ufunc(rows[row - 1], source[row], out=rows[row])
    return result


def _reduced_by(body: RegionFunction, inputs: Arrays, inits: Arrays, windows: _Windows) -> Arrays:
    """Returns all windows reduced by any region: the last array says where they have elements."""

    def pairwise(left: Arrays, right: Arrays) -> Arrays:
        combined = applied(body, *left[:-1], *right[:-1])
        has_left, has_right = left[-1], right[-1]
        if not has_left.all():
            combined = tuple(map(partial(np.where, has_left), combined, right))
        if not has_right.all():
            combined = tuple(map(partial(np.where, has_right), combined, left))
        return (*combined, has_left | has_right)

    def running(arrays: Arrays, axis: int, step: int) -> Arrays:
        def combine(*values: Array) -> Arrays:
            left, right = values[: len(arrays)], values[len(arrays) :]
            return pairwise(left, right) if step > 0 else pairwise(right, left)

        last = tuple(np.moveaxis(array, axis, -1)[..., ::step] for array in arrays)
        return tuple(np.moveaxis(array[..., ::step], -1, axis) for array in accumulate(combine, last))

    is_element = np.ones((1, *inputs[0].shape[1:]), np.bool_)
    fills = (*inits, np.zeros(1, np.bool_))
    results = _reduce_all((*inputs, is_element), fills, windows, pairwise, running)
    shape = results[0].shape[1:]
    firsts = (init.reshape(-1, *(1,) * len(shape)) for init in inits)
    starts = (np.broadcast_to(first, (len(first), *shape)) for first in firsts)
    return pairwise((*starts, np.ones((1, *shape), np.bool_)), results)[:-1]


Pairwise = Callable[[Arrays, Arrays], Arrays]
Running = Callable[[Arrays, int, int], Arrays]
"""Returns arrays accumulated along an axis: from its start if the step is 1, from its end if it is -1."""


def _reduce_all(
    arrays: Arrays, fills: Arrays, windows: _Windows, pairwise: Pairwise, running: Running
) -> Arrays:
    """Returns all windows reduced, without the initial values.

    fills: the padding (lanes,) of each array.
    """
    for dimension in reversed(range(len(windows.sizes))):
        axis = dimension + 1
        size, stride, dilation = (
            numbers[dimension] for numbers in (windows.sizes, windows.strides, windows.dilations)
        )
        step = windows.cumulative(dimension, arrays[0].shape[axis])
        if step and size > 1:
            arrays = running(arrays, axis, step)
            continue
        arrays = tuple(windows.pad(*pair, dimension) for pair in zip(arrays, fills, strict=True))
        count = windows.counts(arrays[0].shape[1:])[dimension]
        if size == 1 or not count:
            arrays = _taken(arrays, axis, 0, count, stride)
        elif size <= _SHORT or dilation > 1:
            found = _taken(arrays, axis, 0, count, stride)
            for position in range(1, size):
                found = pairwise(found, _taken(arrays, axis, position * dilation, count, stride))
            arrays = found
        else:
            arrays = _long(arrays, axis, size, stride, count, pairwise, running)
    return arrays


def _taken(arrays: Arrays, axis: int, start: int, count: int, stride: int) -> Arrays:
    """Returns `count` elements along an axis from `start` on, `stride` apart."""
    key = (*(slice(None),) * axis, _range(start, count, stride))
    return tuple(array[key] for array in arrays)


def _range(start: int, count: int, stride: int) -> slice:
    return slice(start, start + (count - 1) * stride + 1 if count else start, stride)


def _long(
    arrays: Arrays, axis: int, size: int, stride: int, count: int, pairwise: Pairwise, running: Running
) -> Arrays:
    """Windows [s, s + size): the end from s on of a block of that size, then the start of the next block."""
    whole = -(-arrays[0].shape[axis] // size) * size
    blocks = tuple(_in_blocks(array, axis, size, whole) for array in arrays)
    forward = tuple(_joined(array, axis) for array in running(blocks, axis + 1, 1))
    heads = _taken(forward, axis, size - 1, count, stride)
    backward = tuple(_joined(array, axis) for array in running(blocks, axis + 1, -1))
    joined = pairwise(_taken(backward, axis, 0, count, stride), heads)
    results = tuple(result if result.flags.writeable else result.copy() for result in joined)
    aligned = (*(slice(None),) * axis, slice(None, None, size // gcd(size, stride)))
    for result, head in zip(results, heads, strict=True):
        result[aligned] = head[aligned]
    return results


def _in_blocks(array: Array, axis: int, size: int, whole: int) -> Array:
    """Returns an array whose axis is (blocks, size); what is missing of the last block repeats its end."""
    shape = array.shape
    if shape[axis] != whole:
        index = np.minimum(np.arange(whole), shape[axis] - 1)
        array = array.take(index, axis)
    return array.reshape(*shape[:axis], whole // size, size, *shape[axis + 1 :])


def _joined(array: Array, axis: int) -> Array:
    shape = array.shape
    return array.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def select_and_scatter(
    record: OpRecord,
    select: RegionFunction,
    scatter: RegionFunction,
    operand: Array,
    source: Array,
    init: Array,
) -> Array:
    """StableHLO's specification, "select_and_scatter". Padding is never selected."""
    shape = operand.shape[1:]
    windows = _windows(record, len(shape))
    lanes = max(lanes_of(operand, source, init), select.lanes, scatter.lanes)
    chosen = in_lanes(_selected(select, operand, windows, source.shape[1:]), lanes)
    dtype = dtype_of(record.results[0])
    result: Array = np.empty((lanes, *shape), dtype)
    result[...] = init.reshape(-1, *(1,) * len(shape))
    positions = (np.arange(lanes)[:, None] * prod(shape) + chosen.reshape(lanes, -1)).reshape(-1)
    values = in_lanes(source.astype(dtype, copy=False), lanes).reshape(-1)
    is_inside = chosen.reshape(-1) >= 0
    if not is_inside.all():
        positions, values = positions[is_inside], values[is_inside]
    return combined_at(scatter, (result,), positions, (values,))[0]


def _selected(select: RegionFunction, operand: Array, windows: _Windows, counts: Sequence[int]) -> Array:
    """Returns the row-major position (lanes, *counts) of the element that each window selects, or -1."""
    shape = operand.shape[1:]
    if not prod(counts):
        return np.full((1, *counts), -1)
    places = np.arange(prod(shape)).reshape(1, *shape)
    values, nothing, nowhere = operand, np.zeros(1, operand.dtype), np.array([-1])
    for dimension in range(len(shape)):
        values, places = windows.pad(values, nothing, dimension), windows.pad(places, nowhere, dimension)
    best, at = np.zeros((1, *counts), operand.dtype), np.full((1, *counts), -1)
    for window in np.ndindex(*windows.sizes):
        key = (slice(None), *map(_range, window, counts, windows.strides))
        value, place = values[key], places[key]
        keeps = applied(select, best, value)[0]
        keeps = (keeps & (at >= 0)) | (place < 0)
        best, at = np.where(keeps, best, value), np.where(keeps, at, place)
    return at


COMPUTE: dict[str, Compute] = {
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.select_and_scatter": select_and_scatter,
}
"""The function of each op."""
