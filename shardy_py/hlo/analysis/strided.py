"""Arithmetic progressions and strided boxes: offsets, sizes and strides, exact under intersection.

>>> a, b = Progression(0, 2, 10), Progression(1, 3, 6)
>>> print(a.intersect(b))
4:16:6
>>> print(StridedBox((Progression(0, 1, 4), Progression(8, 2, 3))))
[0:3:1, 8:12:2]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import gcd, prod

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Progression:
    """`count` integers from `start` on, `step` apart; step >= 1, and 1 if there are fewer than two."""

    start: int
    step: int
    count: int

    @property
    def last(self) -> int:
        """The greatest integer."""
        return self.start + self.step * (self.count - 1)

    def intersect(self, other: Progression) -> Progression:
        """The integers in both; count 0 if there are none."""
        common = gcd(self.step, other.step)
        if (other.start - self.start) % common or not self.count or not other.count:
            return Progression(0, 1, 0)
        # self.start + self.step * k = other.start (mod other.step)
        modulus = other.step // common
        k = (other.start - self.start) // common * pow(self.step // common, -1, modulus) % modulus
        first, step = self.start + self.step * k, self.step * modulus
        lowest = max(self.start, other.start)
        first += max(0, -(-(lowest - first) // step)) * step
        return between(first, step, min(self.last, other.last))

    def clipped(self, low: int, high: int) -> Progression:
        """The integers in [low, high]."""
        return self.intersect(between(low, 1, high))

    def covers(self, other: Progression) -> bool:
        """Returns whether all of `other` is in it."""
        return self.intersect(other).count == other.count

    def __str__(self) -> str:
        return f"{self.start}:{self.last}:{self.step}"


def between(start: int, step: int, last: int) -> Progression:
    """The progression from `start` in steps to at most `last`."""
    count = max(0, (last - start) // step + 1)
    return Progression(start, step if count > 1 else 1, count)


@dataclass(frozen=True, slots=True)
class StridedBox:
    """A product of progressions, one a dimension."""

    dimensions: tuple[Progression, ...]

    @property
    def offsets(self) -> tuple[int, ...]:
        """The first index in each dimension."""
        return tuple(p.start for p in self.dimensions)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of indices in each dimension."""
        return tuple(p.count for p in self.dimensions)

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of indices in each dimension."""
        return tuple(p.step for p in self.dimensions)

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.sizes)

    def intersect(self, other: StridedBox) -> StridedBox:
        """The elements in both."""
        pairs = zip(self.dimensions, other.dimensions, strict=True)
        return StridedBox(tuple(a.intersect(b) for a, b in pairs))

    def covers(self, other: StridedBox) -> bool:
        """Returns whether all of `other` is in it."""
        return self.intersect(other).count == other.count

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.dimensions))}]"


def whole(sizes: Sequence[int]) -> StridedBox:
    """All of a tensor.

    >>> whole((4, 8)).count
    32
    """
    return StridedBox(tuple(Progression(0, 1, size) for size in sizes))


def union_count(boxes: Sequence[StridedBox]) -> int:
    """The number of elements in at least one box, by inclusion and exclusion: 2^n terms for n boxes.

    >>> union_count((whole((4, 4)), StridedBox((Progression(2, 1, 4), Progression(2, 1, 4)))))
    28
    """
    total = 0
    for size in range(1, len(boxes) + 1):
        for chosen in combinations(boxes, size):
            common = chosen[0]
            for box in chosen[1:]:
                common = common.intersect(box)
            total += common.count if size % 2 else -common.count
    return total


def merged(boxes: Sequence[StridedBox]) -> StridedBox:
    """The smallest strided box that holds all of them.

    >>> print(merged((StridedBox((Progression(0, 4, 3),)), StridedBox((Progression(2, 4, 3),)))))
    [0:10:2]
    """
    return StridedBox(tuple(map(_merged, *(box.dimensions for box in boxes))))


def _merged(*parts: Progression) -> Progression:
    low, high = min(p.start for p in parts), max(p.last for p in parts)
    step = gcd(*(p.step for p in parts if p.count > 1), *(p.start - low for p in parts))
    return between(low, step or 1, high)
