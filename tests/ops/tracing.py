"""Which elements of the inputs a numpy computation reads: arrays of traces that arithmetic unites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardy_py.indexing import IndexMap, evaluate_points, points_array

Pair = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Trace:
    """What a number was computed from: (operand, element) each."""

    sources: frozenset[tuple[int, tuple[int, ...]]] = frozenset()

    def joined(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return Trace(self.sources | other.sources) if isinstance(other, Trace) else self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = joined
    __truediv__ = __rtruediv__ = joined


def traced(number: int, shape: tuple[int, ...]) -> Any:
    """An array in which each element is its own trace."""
    made = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        made[place] = Trace(frozenset([(number, place)]))
    return made


def union(parts: Iterable[Any]) -> Trace:
    total = Trace()
    for part in parts:
        total = total + part
    return total


def pairs_of(result: Any, operand: int) -> set[Pair]:
    """(element of the result, element of the operand that it was computed from)."""
    array = np.asarray(result, dtype=object)
    return {
        (place, source)
        for place in np.ndindex(*array.shape)
        if isinstance(array[place], Trace)
        for number, source in array[place].sources
        if number == operand
    }


def pairs_in(maps: Iterable[IndexMap]) -> set[Pair]:
    """(element of the domain, element read) of maps."""
    found: set[Pair] = set()
    for index_map in maps:
        table = points_array(index_map)
        elements, _ = evaluate_points(index_map, table)
        dims = len(index_map.dims)
        for point, element in zip(table[:, :dims].tolist(), elements.tolist(), strict=True):
            found.add((tuple(point), tuple(element)))
    return found
