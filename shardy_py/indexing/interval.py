"""Closed intervals of integers: the bounds of variables, and with an expression a constraint.

>>> str(extent(4)), Interval(0, 9).intersect(Interval(5, 20)), Interval(3, 2).size
('[0, 3]', Interval(low=5, high=9), 0)
"""

from __future__ import annotations

from dataclasses import dataclass

from shardy_py.indexing.expr import Expr


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included; empty if `high` < `low`."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """The number of integers in the interval."""
        return max(0, self.high - self.low + 1)

    def contains(self, value: int) -> bool:
        """Returns whether `value` is in the interval."""
        return self.low <= value <= self.high

    def covers(self, other: Interval) -> bool:
        """Returns whether all of `other` is in the interval."""
        return self.low <= other.low and other.high <= self.high

    def intersect(self, other: Interval) -> Interval:
        """The integers in both intervals."""
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


def extent(size: int) -> Interval:
    """The indices of a dimension of `size` elements: [0, size - 1]."""
    return Interval(0, size - 1)


Constraint = tuple[Expr, Interval]
