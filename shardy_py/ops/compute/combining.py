"""Regions that combine values: applied to whole arrays, folded or accumulated along their last axis.

A region that is one op per result runs as ufuncs; any other runs on vectors of all lanes and elements,
O(log n) times for n values.

Reductions may use any binary tree over values in order ("reduce" in StableHLO's specification), which both
exploit. Sums and products of narrow floats are rounded after each step, as by StableHLO's interpreter and XLA
on a CPU. Other values narrower than numpy's arithmetic are widened, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod

import ml_dtypes
import numpy as np

from shardy_py.base.arrays import Ufunc
from shardy_py.ops import COMBINERS, TABLE, Identity
from shardy_py.ops.combiners import Combiner
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import Array, RegionFunction, RegionTerm, in_lanes, lanes_of
from shardy_py.ops.compute.precision import NARROW_FLOATS, SMALL_INTEGERS, Dtype

Arrays = tuple[Array, ...]
_WIDE = NARROW_FLOATS | SMALL_INTEGERS
_BY_UFUNC: dict[object, Combiner] = {row.ufunc: row for row in COMBINERS.values()}
WIDE_ROW = 256
"""The number of elements from which on rows are combined row by row."""
_FLOATS = "fcV"
"""Kinds of numpy, V being that of ml_dtypes."""
_WITHOUT_ZERO = np.dtype(ml_dtypes.float8_e8m0fnu)


def ufuncs_of(body: RegionFunction, count: int) -> tuple[Ufunc, ...] | None:
    """Returns the ufunc for each of `count` results, if result k is one op of arguments k and count + k.

    It is the arithmetic's: numpy's, or an object with the same methods.
    """
    if count == 1 and body.combiner:
        found = TABLE[body.combiner].combiner
        return None if found is None else (current().ufunc(found.ufunc),)
    ufuncs: list[Ufunc] = []
    for number, term in enumerate(body.terms):
        if not isinstance(term, RegionTerm) or (row := TABLE[term.record.name].combiner) is None:
            return None
        if set(filter(_is_argument, term.operands)) != {number, count + number}:
            return None
        ufuncs.append(current().ufunc(row.ufunc))
    return tuple(ufuncs) or None


def _is_argument(operand: object) -> bool:
    return isinstance(operand, int)


def applied(body: RegionFunction, *arrays: Array) -> Arrays:
    """Returns the results of a region on scalars for all elements of arrays, equal in shape but for lanes."""
    lanes, shape = max(lanes_of(*arrays), body.lanes), arrays[0].shape[1:]
    count = lanes * prod(shape)
    if not count:
        return tuple(in_lanes(array, lanes) for array in arrays[: len(arrays) // 2])
    results = body(*(in_lanes(array, lanes).reshape(-1) for array in arrays))
    return tuple(in_lanes(result, count).reshape(lanes, *shape) for result in results)


def wide_type(dtype: Dtype, ufunc: Ufunc | None = None) -> Dtype:
    """Returns the type in which values are combined, by a ufunc or for comparison."""
    has_steps = _rounds(ufunc) and dtype in NARROW_FLOATS and dtype != _WITHOUT_ZERO
    return dtype if has_steps else _WIDE.get(dtype, dtype)


def has_roundings(ufunc: Ufunc, dtype: Dtype) -> bool:
    """True if the result of combining values depends on their order."""
    return _rounds(ufunc) and dtype.kind in _FLOATS


def _rounds(ufunc: Ufunc | None) -> bool:
    row = None if ufunc is None else _BY_UFUNC.get(ufunc)
    return row is not None and row.rounds  # an exact one is none of numpy's


@lru_cache(maxsize=256)
def identity_of(ufunc: Ufunc, dtype: Dtype) -> object:
    """Returns the scalar that changes nothing when it is combined with values of a wide type."""
    row = _BY_UFUNC.get(getattr(ufunc, "plain", ufunc))
    kind = row.identity if row is not None else Identity.ZERO  # `logical_or`, of `with_signed_zeros`
    if kind is Identity.ZERO:
        return dtype.type(-0.0 if ufunc is np.add and dtype.kind in _FLOATS else 0)
    if kind is Identity.ONE:
        return dtype.type(1)
    if kind is Identity.ALL_ONES:
        return np.invert(dtype.type(0))
    is_lowest = kind is Identity.LOWEST
    if dtype.kind == "b":
        return dtype.type(not is_lowest)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return dtype.type(bounds.min if is_lowest else bounds.max)
    infinity = -np.inf if is_lowest else np.inf
    return dtype.type(complex(infinity, infinity) if dtype.kind == "c" else infinity)


def with_signed_zeros(ufunc: Ufunc, run: Callable[..., Array], *arrays: Array) -> Array:
    """Returns `run(ufunc, *arrays)`, where a maximum prefers +0 to -0 and a minimum -0 to +0.

    numpy returns either of the two. A run with the other zeros as booleans shows where they occur; it is
    only needed if the result has a zero that is in doubt.
    """
    result = run(ufunc, *arrays)
    if (ufunc is not np.maximum and ufunc is not np.minimum) or result.dtype.kind != "f" or result.all():
        return result
    is_maximum = ufunc is np.maximum
    doubtful: Array = (result == 0) & (np.signbit(result) == is_maximum)
    if not doubtful.any():
        return result
    others = ((array == 0) & (np.signbit(array) != is_maximum) for array in arrays)
    return np.where(doubtful & run(np.logical_or, *others), -result, result)


def fold(body: RegionFunction, arrays: Arrays) -> Arrays:
    """Returns all values along the last axis combined, as a balanced tree in their order."""
    while (size := arrays[0].shape[-1]) > 1:
        merged = applied(body, *_pairs(arrays))
        if size % 2:
            lanes = len(merged[0])
            rest = (in_lanes(array[..., -1:], lanes) for array in arrays)
            merged = tuple(np.concatenate(both, -1) for both in zip(merged, rest, strict=True))
        arrays = merged
    return tuple(array[..., 0] for array in arrays)


def accumulate(combine: Callable[..., Arrays], arrays: Arrays) -> Arrays:
    """Returns for each position along the last axis all values up to there, combined in order.

    combine: returns the arrays of its first half of arguments combined with those of the second.
    """
    size = arrays[0].shape[-1]
    if size < 2:
        return arrays
    odd = accumulate(combine, combine(*_pairs(arrays)))
    later = tuple(array[..., 2::2] for array in arrays)
    even = combine(*(array[..., : (size - 1) // 2] for array in odd), *later)
    results: list[Array] = []
    for array, at_odd, at_even in zip(arrays, odd, even, strict=True):
        result: Array = np.empty((len(at_odd), *array.shape[1:]), at_odd.dtype)
        result[..., 0], result[..., 1::2], result[..., 2::2] = array[..., 0], at_odd, at_even
        results.append(result)
    return tuple(results)


def _pairs(arrays: Arrays) -> Arrays:
    """Returns the values at even positions of all arrays, then those at odd ones."""
    even = arrays[0].shape[-1] // 2 * 2
    return tuple(a[..., 0:even:2] for a in arrays) + tuple(a[..., 1:even:2] for a in arrays)
