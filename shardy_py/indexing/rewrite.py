"""Rewrites of expressions that the bounds of their variables allow.

Each rewrite opens with its identity and the condition it needs; docs/design/indexing.md lists them and says
what normal form they lead to. Not here: constraints and whole maps (`simplify.py`).

>>> from shardy_py.indexing.expr import dim
>>> from shardy_py.indexing.interval import Interval
>>> str(simplify_expr((dim(0) * 16 + dim(1)) // 8, {dim(0): Interval(0, 3), dim(1): Interval(0, 7)}))
'd0 * 2'
"""

from __future__ import annotations

from math import gcd

from shardy_py.indexing.bounds import Bounds, Ranges
from shardy_py.indexing.expr import Division, Expr, Variable, constant


def simplify_expr(expression: Expr, bounds: Bounds) -> Expr:
    """`expression` rewritten until nothing changes."""
    return Rewriter(bounds).simplify(expression)


class Rewriter:
    """The rewrites under fixed bounds; every expression is rewritten once."""

    def __init__(self, bounds: Bounds, *, keeps_names: bool = False) -> None:
        self.ranges = Ranges(bounds)
        self.keeps_names = keeps_names
        self._known: dict[Expr, Expr] = {}

    def named(self, expression: Expr) -> Expr:
        """`expression` simplified; with `keeps_names`, sums of coordinates stay as they are stated.

        There `d0 + rt0` stays so although d0 or rt0 has only one value; range variables do not.
        """
        if (
            self.keeps_names
            and not expression.division_count
            and all(abs(f) == 1 for _, f in expression.terms)
        ):
            bounds = self.ranges.bounds
            looped = [v for v in expression.variables if v.kind == "s" and bounds[v].size == 1]
            return expression.replace(lambda v: self._atom(v) if v in looped else v) if looped else expression
        return self.simplify(expression)

    def simplify(self, expression: Expr) -> Expr:
        """`expression` rewritten until nothing changes."""
        known = self._known.get(expression)
        if known is not None:
            return known
        now = expression
        while True:
            once = self._joined(self._by_term(now))
            if once is now:
                break
            now = once
        self._known[expression] = self._known[now] = now
        return now

    def _by_term(self, expression: Expr) -> Expr:
        total = None
        for atom, factor in expression.terms:
            simple = self._atom(atom)
            if simple is not atom:
                total = (expression if total is None else total) + (simple - atom) * factor
        return expression if total is None else total

    def _atom(self, atom: Expr) -> Expr:
        if isinstance(atom, Variable):
            # x = c if x in [c, c]
            interval = self.ranges.bounds[atom]
            return constant(interval.low) if interval.low == interval.high else atom
        assert isinstance(atom, Division)
        dividend = self.simplify(atom.dividend)
        if atom.op == "ceildiv":
            # x ceildiv c = -(-x floordiv c)
            return -self.floordiv(self.simplify(-dividend), atom.divisor)
        return (
            self.floordiv(dividend, atom.divisor)
            if atom.op == "floordiv"
            else self.mod(dividend, atom.divisor)
        )

    def floordiv(self, dividend: Expr, divisor: int) -> Expr:
        """`dividend floordiv divisor`, the dividend being simple."""
        # (c q + r) floordiv c = q + r floordiv c
        quotient, rest = self._split(dividend, divisor)
        inner = self.ranges.of(rest)
        if inner.low // divisor == inner.high // divisor:
            # r floordiv c = k if k c <= r < (k + 1) c throughout
            return quotient + inner.low // divisor
        rest, divisor = self._without_common_factor(rest, divisor)
        nested = _lone_division(rest)
        if nested is not None and nested.op == "mod" and not nested.divisor % divisor:
            # (x mod (a b)) floordiv b = (x floordiv b) mod a
            return quotient + self.mod(self.floordiv(nested.dividend, divisor), nested.divisor // divisor)
        for atom, factor in rest.terms:
            if factor == 1 and isinstance(atom, Division) and atom.op == "floordiv":
                # (x + y floordiv b) floordiv c = (b x + y) floordiv (b c)
                merged = self.simplify((rest - atom) * atom.divisor + atom.dividend)
                return quotient + self.floordiv(merged, divisor * atom.divisor)
        return quotient + rest // divisor

    def mod(self, dividend: Expr, divisor: int) -> Expr:
        """`dividend mod divisor`, the dividend being simple."""
        if divisor == 1:
            return constant(0)
        for atom, factor in dividend.terms:
            if isinstance(atom, Division) and atom.op == "mod" and not atom.divisor * factor % divisor:
                # (f (x mod c) + y) mod m = (f x + y) mod m if m divides f c
                return self.mod(self.simplify(dividend + (atom.dividend - atom) * factor), divisor)
        # (c q + r) mod c = r mod c
        rest = self._split(dividend, divisor)[1]
        inner = self.ranges.of(rest)
        if inner.low // divisor == inner.high // divisor:
            # r mod c = r - k c if k c <= r < (k + 1) c throughout
            return rest - inner.low // divisor * divisor
        high, smaller = self._without_common_factor(rest, divisor)
        if smaller != divisor:
            # (g x + y) mod (g c) = g (x mod c) + y if 0 <= y < g
            common = divisor // smaller
            return self.mod(high, smaller) * common + (rest - high * common)
        return rest % divisor

    def _split(self, dividend: Expr, divisor: int) -> tuple[Expr, Expr]:
        """x = c quotient + rest, with factors below c in the rest, whose least value is in [0, c - 1]."""
        quotient, rest = constant(0), dividend
        for atom, factor in dividend.terms:
            times = factor // divisor if factor >= 0 else -(-factor // divisor)
            if times:
                quotient = quotient + atom * times
                rest = rest - atom * (times * divisor)
        shift = self.ranges.of(rest).low // divisor
        return quotient + shift, rest - shift * divisor

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
            shift = self.ranges.of(low).low // common
            high, low = high + shift, low - shift * common
            if self.ranges.of(low).high < common:
                return high, divisor // common
        return rest, divisor

    def _joined(self, expression: Expr) -> Expr:
        # p = c (p floordiv c) + p mod c, read from either side, if fewer divisions remain
        if len(expression.terms) < 2:
            return expression
        least = _cost(expression)
        for atom, factor in expression.terms:
            if not isinstance(atom, Division) or atom.op == "ceildiv":
                continue
            for other in self._regrouped(expression, atom, factor):
                if _cost(other) < least:
                    return other
        return expression

    def _regrouped(self, expression: Expr, atom: Division, factor: int) -> list[Expr]:
        dividend, by = atom.dividend, atom.divisor
        if atom.op == "floordiv":
            if factor % by:
                return []
            return [expression - atom * factor + (dividend - self.mod(dividend, by)) * (factor // by)]
        whole = expression + (dividend - atom - self.floordiv(dividend, by) * by) * factor
        return [
            whole,
            *(
                # p = c (p floordiv c) + q mod c if p mod c = q mod c
                expression + (other.dividend - atom - other * by) * factor
                for other, times in expression.terms
                if isinstance(other, Division) and other.op == "floordiv" and other.divisor == by
                if times == factor * by and self.mod(self.simplify(other.dividend - dividend), by).is_zero
            ),
        ]


def _lone_division(expression: Expr) -> Division | None:
    return expression if isinstance(expression, Division) else None


def _cost(expression: Expr) -> tuple[int, int]:
    return sum(atom.division_count for atom, _ in expression.terms), len(expression.terms)
