"""Ranges of expressions: interval arithmetic with regrouped terms.

Term by term, the range of `d0 - d0 mod 4` with d0 in [0, 9] would be [-3, 9]. By the identity
p = c (p floordiv c) + p mod c, it is `(d0 floordiv 4) * 4`, in [0, 8]. Not here: rewrites (`rewrite.py`).

>>> from shardy_py.indexing.expr import dim
>>> str(bounds_of(dim(0) - dim(0) % 4, {dim(0): Interval(0, 9)}))
'[0, 8]'
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.base.records import dataclass
from shardy_py.indexing.expr import Division, Expr, Variable


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


Bounds = Mapping[Variable, Interval]


def bounds_of(expression: Expr, bounds: Bounds) -> Interval:
    """An interval that contains all values of `expression`; exact for sums of independent atoms."""
    return Ranges(bounds).of(expression)


class Ranges:
    """The ranges of expressions under fixed bounds, each computed once."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._known: dict[Expr, Interval] = {}

    def of(self, expression: Expr) -> Interval:
        """An interval that contains all values of `expression`."""
        if isinstance(expression, Variable):
            return self.bounds[expression]
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._compute(expression)
        return known

    def _compute(self, expression: Expr) -> Interval:
        if isinstance(expression, Division):
            inner, by = self.of(expression.dividend), expression.divisor
            if expression.op == "floordiv":
                return Interval(inner.low // by, inner.high // by)
            if expression.op == "ceildiv":
                return Interval(-(-inner.low // by), -(-inner.high // by))
            if inner.low // by == inner.high // by:
                return Interval(inner.low % by, inner.high % by)
            return Interval(0, by - 1)
        interval = self._by_term(expression)
        if len(expression.terms) > 1:
            for other in regrouped(expression):
                interval = interval.intersect(self._by_term(other))
        return interval

    def _by_term(self, expression: Expr) -> Interval:
        low = high = expression.constant
        for atom, factor in expression.terms:
            inner = self.of(atom)
            ends = (inner.low, inner.high) if factor > 0 else (inner.high, inner.low)
            low, high = low + ends[0] * factor, high + ends[1] * factor
        return Interval(low, high)


def regrouped(expression: Expr) -> list[Expr]:
    """The forms of `expression` without one of its divisions in which terms cancel.

    By p = c (p floordiv c) + p mod c, in either direction.
    """
    forms: list[Expr] = []
    factors = dict(expression.terms)
    for atom, factor in expression.terms:
        if not isinstance(atom, Division) or atom.op == "ceildiv":
            continue
        dividend, by = atom.dividend, atom.divisor
        if atom.op == "mod":
            cancels = any(factors.get(a, 0) == -factor * f for a, f in dividend.terms)
            other = expression + (dividend - atom - (dividend // by) * by) * factor
        elif factor % by:
            continue
        else:
            cancels = any(factors.get(a, 0) == -(factor // by) * f for a, f in dividend.terms)
            other = expression - atom * factor + (dividend - dividend % by) * (factor // by)
        if cancels:
            forms.append(other)
    return forms
