"""Reductions of pairs (value, index) to the largest or smallest value and its index, as JAX emits for argmax.

    best = or (compare GT (a, b), compare NE (a, a))
    first = or (best, and (compare EQ (a, b), compare LT (i, j)))
    return select (best, a, b), select (first, i, j)

Of equal values the one with the smaller index wins, and NaN wins over all. If indices ascend along the
dimension, this is numpy's argmax. Not here: regions of any other form (`combining.py`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from shardy_py.ops.compute.combining import Arrays, wide_type
from shardy_py.ops.compute.lanes import Array, RegionFunction, RegionTerm, in_lanes

_VALUE, _INDEX, _OTHER_VALUE, _OTHER_INDEX = range(4)
Pattern: TypeAlias = "int | tuple[str, *tuple[Pattern, ...]]"
"""The number of an argument, or the name of an op, or the direction of a comparison, with its operands."""


def _patterns(direction: str) -> tuple[Pattern, Pattern]:
    is_best = ("or", (direction, _VALUE, _OTHER_VALUE), ("NE", _VALUE, _VALUE))
    is_first = ("or", is_best, ("and", ("EQ", _VALUE, _OTHER_VALUE), ("LT", _INDEX, _OTHER_INDEX)))
    return ("select", is_best, _VALUE, _OTHER_VALUE), ("select", is_first, _INDEX, _OTHER_INDEX)


_EXTREMES = {"GT": (_patterns("GT"), np.argmax), "LT": (_patterns("LT"), np.argmin)}


def extremes(body: RegionFunction, arrays: Arrays, axis: int) -> Arrays | None:
    """Returns the best values along an axis and their indices; None if region or indices do not fit."""
    if len(arrays) != 2 or len(body.terms) != 2 or not arrays[0].size:
        return None
    for patterns, find in _EXTREMES.values():
        if all(map(_fits, body.terms, patterns)) and _ascends(arrays[1], axis):
            values, indices = arrays
            place = np.expand_dims(find(values.astype(wide_type(values.dtype), copy=False), axis), axis)
            lanes = max(len(values), len(indices))
            return tuple(
                np.take_along_axis(in_lanes(array, lanes), in_lanes(place, lanes), axis).squeeze(axis)
                for array in arrays
            )
    return None


def _fits(term: RegionTerm | Array | int, pattern: Pattern) -> bool:
    if isinstance(pattern, int):
        return isinstance(term, int) and term == pattern
    if not isinstance(term, RegionTerm) or term.record.attributes.get("compare_type") == "TOTALORDER":
        return False
    name, *operands = pattern
    given = term.record.attributes.get("comparison_direction") or term.record.name.removeprefix("stablehlo.")
    return given == name and len(operands) == len(term.operands) and all(map(_fits, term.operands, operands))


def _ascends(indices: Array, axis: int) -> bool:
    """True if indices ascend along an axis. Repetitions in a view are compared once."""
    once = indices[tuple(slice(0, 1) if not stride else slice(None) for stride in indices.strides)]
    before, behind = (*(slice(None),) * axis, slice(None, -1)), (*(slice(None),) * axis, slice(1, None))
    if indices.shape[axis] != once.shape[axis]:
        return indices.shape[axis] < 2
    return bool((once[before] < once[behind]).all())
