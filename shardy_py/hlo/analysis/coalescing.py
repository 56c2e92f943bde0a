"""Coalescing: whether adjacent elements of the output read adjacent elements in memory.

>>> from shardy_py.indexing import parse_map
>>> swap = parse_map("(d0, d1) -> (d1, d0), domain: d0 in [0, 63], d1 in [0, 63]")
>>> found = coalescing(swap, (64, 64))
>>> found.stride, found.is_contiguous, found.segments, found.fewest_segments
(64, False, 32, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.indexing import IndexMap, evaluate_points

Addresses = NDArray[np.int64]


@dataclass(frozen=True)
class Coalescing:
    """The memory accesses of a group of consecutive elements of the output.

    stride: the distance in elements between the reads of consecutive elements; None if it varies, or if fewer
        than two read. 0: all read the same.
    segments: the number of memory segments read; fewest_segments: the number for as many contiguous elements.
    readers: the number of elements of the group that read.
    """

    stride: int | None
    segments: int
    fewest_segments: int
    readers: int

    @property
    def is_contiguous(self) -> bool:
        """Returns whether adjacent elements read adjacent elements."""
        return self.stride == 1


def coalescing(
    index_map: IndexMap,
    operand_sizes: Sequence[int],
    *,
    output_layout: Sequence[int] | None = None,
    operand_layout: Sequence[int] | None = None,
    start: int = 0,
    group: int = 32,
    element_bytes: int = 4,
    segment_bytes: int = 128,
) -> Coalescing:
    """The accesses of `group` elements of the output, consecutive in `output_layout` from number `start` on.

    Layouts list dimensions minor to major; None: row-major. Range and runtime variables have their least
    value, as the elements of a group advance together. The operand starts at the start of a segment.
    """
    index_map = index_map.simplified
    sizes = [interval.high + 1 for interval in index_map.dims]
    order = _checked(output_layout, len(sizes))
    count = max(0, min(group, prod(sizes) - start))
    places = np.arange(start, start + count, dtype=np.int64)
    columns: list[Addresses] = [np.zeros(count, dtype=np.int64)] * len(sizes)
    for dimension in order:
        places, columns[dimension] = np.divmod(places, sizes[dimension])
    for interval in (*index_map.ranges, *index_map.runtimes):
        columns.append(np.full(count, interval.low, dtype=np.int64))
    points = np.stack(columns, axis=-1) if columns else np.zeros((count, 0), dtype=np.int64)
    elements, inside = evaluate_points(index_map, points)
    addresses = elements @ np.array(_strides(operand_sizes, operand_layout), dtype=np.int64)
    return _summary(addresses[inside], inside, element_bytes, segment_bytes)


def _summary(
    addresses: Addresses, inside: NDArray[np.bool_], element_bytes: int, segment_bytes: int
) -> Coalescing:
    steps = np.unique(np.diff(addresses))
    gaps = np.flatnonzero(inside)
    is_run = len(gaps) < 2 or int(gaps[-1] - gaps[0]) == len(gaps) - 1
    stride = int(steps[0]) if len(steps) == 1 and is_run else None
    first, last = addresses * element_bytes, (addresses + 1) * element_bytes - 1
    touched = np.unique(np.concatenate([first // segment_bytes, last // segment_bytes]))
    fewest = -(-len(np.unique(addresses)) * element_bytes // segment_bytes)
    return Coalescing(stride, len(touched), fewest, len(addresses))


def _checked(layout: Sequence[int] | None, rank: int) -> Sequence[int]:
    order = tuple(reversed(range(rank))) if layout is None else layout
    if sorted(order) != list(range(rank)):
        expected = f"a permutation of {rank} dimensions"
        raise ShardyError.unexpected("layout", expected=expected, got=f"{tuple(order)}")
    return order


def _strides(sizes: Sequence[int], layout: Sequence[int] | None) -> list[int]:
    """The distance in elements of adjacent elements along each dimension."""
    strides, step = [0] * len(sizes), 1
    for dimension in _checked(layout, len(sizes)):
        strides[dimension] = step
        step *= sizes[dimension]
    return strides
