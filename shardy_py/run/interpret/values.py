"""Values at run time: arrays with lanes, tuples, tokens.

An array is (lanes, *shape), as in `ops/compute/`. Here: lanes are taken apart where devices diverge, and
joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from shardy_py.ops.compute import Array
from shardy_py.ops.compute.lanes import in_lanes

Value = Any
"""An array with lanes, a tuple of values, or `TOKEN`."""
Lanes = NDArray[np.intp]
"""Positions on the axis of lanes."""


def is_array(value: Value) -> TypeGuard[Array]:
    """Returns whether it is an array."""
    return isinstance(value, np.ndarray)


def is_tuple(value: Value) -> TypeGuard[tuple[Value, ...]]:
    """Returns whether it is a tuple of values."""
    return isinstance(value, tuple)


def lanes_of_values(values: Sequence[Value]) -> int:
    """Returns the number of lanes that a result of these values has: n if any of them has n."""
    return max(map(_lanes, values), default=1)


def _lanes(value: Value) -> int:
    if is_array(value):
        return len(value)
    return lanes_of_values(value) if is_tuple(value) else 1


def selected(value: Value, lanes: Lanes) -> Value:
    """Returns the value on these lanes only."""
    if is_array(value):
        return value if len(value) == 1 else value[lanes]
    return tuple(selected(part, lanes) for part in value) if is_tuple(value) else value


def repeated(value: Value, times: int) -> Value:
    """Returns the value with each lane `times` times."""
    if is_array(value):
        return value if len(value) == 1 or times == 1 else np.repeat(value, times, axis=0)
    return tuple(repeated(part, times) for part in value) if is_tuple(value) else value


def expanded(value: Value, lanes: int) -> Value:
    """Returns the value with that number of lanes."""
    if is_array(value):
        return in_lanes(value, lanes)
    return tuple(expanded(part, lanes) for part in value) if is_tuple(value) else value


def joined(parts: Sequence[tuple[Lanes, Value]], lanes: int) -> Value:
    """Returns the value whose lanes are those of the parts, each at its positions of `lanes` ones."""
    first = parts[0][1]
    if is_tuple(first):
        columns = zip(*(value for _, value in parts), strict=True)
        positions = [position for position, _ in parts]
        return tuple(joined(list(zip(positions, column, strict=True)), lanes) for column in columns)
    if not is_array(first):
        return first
    array: Array = np.empty((lanes, *first.shape[1:]), first.dtype)
    for position, value in parts:
        array[position] = value
    return array
