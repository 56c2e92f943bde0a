"""Rewrites of expressions to a normal form, given the bounds of their variables.

Expressions are first *spread*: every remainder becomes x - c (x floordiv c), so that digits of one number
cancel as terms of a sum; quotients are split, reduced and flattened. Then they are *folded*: terms that
make up a remainder are written as one.

Each rewrite opens with its identity and its condition; docs/design/indexing.md lists them and describes the
normal form. Not here: constraints and whole maps (`simplify.py`).

>>> from shardy_py.indexing.expr import dim
>>> str(simplify_expr((dim(0) * 16 + dim(1)) // 8, {dim(0): Interval(0, 3), dim(1): Interval(0, 7)}))
'd0 * 2'
"""

from __future__ import annotations

from math import gcd

from shardy_py.indexing.bounds import Bounds, Interval, Ranges
from shardy_py.indexing.expr import Division, Expr, Variable, constant

_MANY_DIVISORS = 1 << 12


def simplify_expr(expression: Expr, bounds: Bounds) -> Expr:
    """The normal form of `expression`."""
    return Rewriter(bounds).simplify(expression)


class Rewriter:
    """The rewrites under fixed bounds, memoized."""

    def __init__(self, bounds: Bounds, *, keeps_names: bool = False) -> None:
        self.ranges = Ranges(bounds)
        self.keeps_names = keeps_names
        self._simple: dict[Expr, Expr] = {}
        self._spread: dict[Expr, Expr] = {}
        self._folded: dict[Expr, Expr] = {}
        self._ranges: dict[Expr, Interval] = {}
        self._quotients: dict[tuple[Expr, int], Expr] = {}

    def named(self, expression: Expr) -> Expr:
        """`expression` simplified; with `keeps_names`, sums of coordinates stay unchanged.

        `d0 + rt0` then stays although d0 or rt0 has only one value; range variables with one value do not.
        """
        if not self.keeps_names or expression.division_count or any(abs(f) != 1 for _, f in expression.terms):
            return self.simplify(expression)
        bounds = self.ranges.bounds
        looped = [v for v in expression.variables if v.kind == "s" and bounds[v].size == 1]
        if not looped:
            return expression
        return expression.replace(lambda v: constant(bounds[v].low) if v in looped else v)

    def simplify(self, expression: Expr) -> Expr:
        """The normal form of `expression`."""
        simple = self._simple.get(expression)
        if simple is None:
            seen = [expression]
            while (simple := self.fold(self.spread(seen[-1]))) not in seen:
                seen.append(simple)
            # If rewrites are cyclic, the simplest form of the cycle.
            simple = min(seen[seen.index(simple) :], key=lambda e: (_cost(e), e.sort_key))
            self._simple[expression] = self._simple[simple] = simple
        return simple

    def spread(self, expression: Expr) -> Expr:
        """`expression` without remainders and ceildivs, its quotients in normal form."""
        spread = self._spread.get(expression)
        if spread is None:
            spread = constant(expression.constant)
            for atom, factor in expression.terms:
                spread = spread + self._spread_atom(atom) * factor
            self._spread[expression] = spread
        return spread

    def _spread_atom(self, atom: Expr) -> Expr:
        if isinstance(atom, Variable):
            # x = c if x in [c, c]
            interval = self.ranges.bounds[atom]
            return constant(interval.low) if interval.low == interval.high else atom
        assert isinstance(atom, Division)
        dividend = self.spread(atom.dividend)
        if atom.op == "floordiv":
            return self.quotient(dividend, atom.divisor)
        if atom.op == "ceildiv":
            # x ceildiv c = -(-x floordiv c)
            return -self.quotient(-dividend, atom.divisor)
        # x mod c = x - c (x floordiv c)
        return dividend - self.quotient(dividend, atom.divisor) * atom.divisor

    def range(self, expression: Expr) -> Interval:
        """An interval that contains the values of a spread expression."""
        interval = self._ranges.get(expression)
        if interval is None:
            interval = self.ranges.of(self.fold(expression))
            if len(expression.terms) > 1:
                for atom, factor in expression.terms:
                    if isinstance(atom, Division):
                        interval = self._narrowed(expression, atom, factor, interval)
            self._ranges[expression] = interval
        return interval

    def _narrowed(self, expression: Expr, atom: Division, factor: int, known: Interval) -> Interval:
        # t x - t b (x floordiv b) is within t [0, b - 1], whatever x is
        for times, size in _steps(expression, atom, factor):
            number = _number(expression, atom, times, size)
            whole = self.quotient(number, size)
            if not any(a is atom and f == 1 for a, f in whole.terms):
                continue
            rest = expression + (whole * size - number) * times
            if rest.division_count < expression.division_count:
                ends, inner = (0, times * (size - 1)), self.range(rest)
                known = known.intersect(Interval(inner.low + min(ends), inner.high + max(ends)))
        return known

    def quotient(self, dividend: Expr, divisor: int) -> Expr:
        """`dividend floordiv divisor` in normal form, for a spread dividend."""
        key = (dividend, divisor)
        quotient = self._quotients.get(key)
        if quotient is None:
            quotient = self._quotients[key] = self._quotient(dividend, divisor)
        return quotient

    def _quotient(self, dividend: Expr, divisor: int) -> Expr:
        if divisor == 1:
            return dividend
        # (c q + r) floordiv c = q + r floordiv c
        whole, rest = self._split(dividend, divisor)
        if self.range(rest).high < divisor:
            # r floordiv c = 0 if 0 <= r < c throughout
            return whole
        rest, divisor = self._without_common_factor(rest, divisor)
        for atom, factor in rest.terms:
            if factor == 1 and isinstance(atom, Division):
                # (x + y floordiv b) floordiv c = (b x + y) floordiv (b c)
                merged = (rest - atom) * atom.divisor + atom.dividend
                return whole + self.quotient(merged, divisor * atom.divisor)
        return whole + rest // divisor

    def _split(self, dividend: Expr, divisor: int) -> tuple[Expr, Expr]:
        """x = c whole + rest, where factors of the rest are below c and its least value is in [0, c - 1]."""
        whole, rest = constant(0), dividend
        for atom, factor in dividend.terms:
            times = factor // divisor if factor >= 0 else -(-factor // divisor)
            if times:
                whole = whole + atom * times
                rest = rest - atom * (times * divisor)
        shift = self.range(rest).low // divisor
        return whole + shift, rest - shift * divisor

    def _without_common_factor(self, rest: Expr, divisor: int) -> tuple[Expr, int]:
        # (g x + y) floordiv (g c) = x floordiv c if 0 <= y < g
        for common in sorted({gcd(factor, divisor) for _, factor in rest.terms}, reverse=True):
            if common == 1:
                break
            high, low = constant(0), rest
            for atom, factor in rest.terms:
                if not factor % common:
                    high = high + atom * (factor // common)
                    low = low - atom * factor
            shift = self.range(low).low // common
            high, low = high + shift, low - shift * common
            if self.range(low).high < common:
                return high, divisor // common
        return rest, divisor

    def fold(self, expression: Expr) -> Expr:
        """A spread expression with remainders if that has fewer divisions or terms."""
        known = self._folded.get(expression)
        if known is not None:
            return known
        folded = expression
        for atom, _ in expression.terms:
            if isinstance(atom, Division):
                folded = self._with_remainder(folded, atom)
        total = constant(folded.constant)
        for atom, factor in folded.terms:
            if isinstance(atom, Division):
                inner = self.fold(atom.dividend)
                atom = inner // atom.divisor if atom.op == "floordiv" else inner % atom.divisor
            total = total + atom * factor
        self._folded[expression] = total
        return total

    def _with_remainder(self, expression: Expr, atom: Division) -> Expr:
        # t x - t b (x floordiv b) = t (x mod b), where x floordiv b = (x' floordiv a) floordiv b
        factor = next((f for a, f in expression.terms if a is atom), 0)
        best, least = expression, _cost(expression)
        for size in _divisors(gcd(atom.divisor, factor)):
            number = self.quotient(atom.dividend, atom.divisor // size)
            times = -factor // size
            other = expression - atom * factor + (number % size - number) * times
            cost = _cost(other)
            if cost < least:
                best, least = other, cost
        return best


def _number(expression: Expr, atom: Division, times: int, size: int) -> Expr:
    """What may stand before `mod size`, t times, where `atom` is its quotient."""
    number = constant(0)
    for other, factor in expression.terms:
        if other is not atom and not factor % times and other.variables & atom.variables:
            share = factor // times
            number = number + other * (share - int(share / size) * size)
    return number


def _steps(expression: Expr, atom: Division, factor: int) -> list[tuple[int, int]]:
    """(t, b) with factor = -t b, b at least 2, for t that occur as factors."""
    found = {1, *(abs(f) for a, f in expression.terms if a is not atom)}
    sign = -1 if factor > 0 else 1
    return [(sign * t, abs(factor) // t) for t in sorted(found) if not factor % t and abs(factor) > t]


def _divisors(number: int) -> tuple[int, ...]:
    """The divisors above 1, largest first; for large numbers only the number itself."""
    if number > _MANY_DIVISORS:
        return (number,)
    return tuple(d for d in range(number, 1, -1) if not number % d)


def _cost(expression: Expr) -> tuple[int, int]:
    return sum(atom.division_count for atom, _ in expression.terms), len(expression.terms)
