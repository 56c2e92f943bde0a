"""Simplification of expressions and of whole maps.

Expressions are first *spread*: every remainder becomes x - c (x floordiv c), so that digits of one number
cancel as terms of a sum; quotients are split, reduced and flattened. Then they are *folded*: terms that
make up a remainder are written as one. Each rewrite opens with its identity and its condition;
docs/design/indexing.md lists them and describes the normal form.

The results, intervals and constraints of a map are simplified together, to a fixed point. Constraints on
shifts, multiples and quotients become constraints on their operands, those on a single variable become its
interval; those that always hold are dropped, and one that never holds empties the map. The simplified map
reads the same elements at every point of the domain. Not here: `IndexMap.simplified` (`index_map.py`).

>>> from shardy_py.indexing.expr import dim
>>> str(simplify_expr((dim(0) * 16 + dim(1)) // 8, {dim(0): Interval(0, 3), dim(1): Interval(0, 7)}))
'd0 * 2'
>>> from shardy_py.indexing.parse import parse_map
>>> m = parse_map("(d0, d1) -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14]")
>>> str(m.simplified).splitlines()[0]
'(d0, d1) -> (d0, d1),'
"""

from __future__ import annotations

from math import gcd

from shardy_py.indexing.bounds import Bounds, Constraint, Interval, Ranges
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
    """The factors that may stand before `mod size`, t times, where `atom` is its quotient."""
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


Intervals = dict[Variable, Interval]
Parts = tuple[tuple[Expr, ...], Intervals, tuple[Constraint, ...]]
_MOST_ROUNDS = 64  # Each round narrows an interval or a constraint; maps need far fewer.
_EMPTY, _NEVER = Interval(0, -1), (constant(0), Interval(1, 1))


def simplify_parts(
    results: tuple[Expr, ...],
    bounds: Intervals,
    constraints: tuple[Constraint, ...],
    *,
    keeps_names: bool = False,
) -> Parts:
    """Results, intervals and constraints in normal form; keeps_names: see `Rewriter.named`."""
    for _ in range(_MOST_ROUNDS):
        rewriter = Rewriter(bounds, keeps_names=keeps_names)
        narrowed, kept = _narrowed(rewriter, bounds, constraints)
        if narrowed is None:
            # The map of these ranks with an empty domain.
            dims = {v: _EMPTY for v in bounds if v.kind == "d"}
            return tuple(constant(0) for _ in results), dims, () if dims else (_NEVER,)
        if narrowed == bounds and kept == constraints:
            break
        bounds, constraints = narrowed, kept
    rewriter = Rewriter(bounds, keeps_names=keeps_names)
    return tuple(map(rewriter.named, results)), bounds, constraints


def _narrowed(
    rewriter: Rewriter, bounds: Intervals, constraints: tuple[Constraint, ...]
) -> tuple[Intervals | None, tuple[Constraint, ...]]:
    """The intervals narrowed by constraints, None if one is empty, and the remaining constraints."""
    narrowed = dict(bounds)
    kept: dict[Expr, Interval] = {}
    for expression, interval in constraints:
        expression, interval = _normal(rewriter, expression, interval)
        inner = rewriter.range(rewriter.spread(expression))
        if interval.covers(inner):
            continue  # The constraint always holds.
        interval = interval.intersect(inner).intersect(kept.get(expression, interval))
        if not interval.size:
            return None, ()
        if isinstance(expression, Variable):
            # lb <= x <= ub, x in [a, b]  becomes  x in [max(lb, a), min(ub, b)]
            narrowed[expression] = narrowed[expression].intersect(interval)
        else:
            kept[expression] = interval
            _tighten(narrowed, expression, interval)
    if any(not interval.size for interval in narrowed.values()):
        return None, ()
    return narrowed, tuple(sorted(kept.items(), key=_order))


def _order(item: Constraint) -> tuple[object, ...]:
    return sorted(v.sort_key for v in item[0].variables), item[0].sort_key


def _tighten(bounds: dict[Variable, Interval], expression: Expr, interval: Interval) -> None:
    """Moves the ends of x in [a, b] to the next x with lb <= (f x + k) mod c <= ub."""
    if not isinstance(expression, Division) or expression.op != "mod" or len(expression.dividend.terms) != 1:
        return
    (variable, factor), shift = expression.dividend.terms[0], expression.dividend.constant
    if not isinstance(variable, Variable):
        return
    low, high, by = bounds[variable].low, bounds[variable].high, expression.divisor
    while low <= high and not interval.contains((low * factor + shift) % by):
        low += 1
    while low <= high and not interval.contains((high * factor + shift) % by):
        high -= 1
    bounds[variable] = Interval(low, high)


def _normal(rewriter: Rewriter, expression: Expr, interval: Interval) -> Constraint:
    """lb <= f(x) <= ub as bounds on x, for f a shift, a multiple or a quotient by a constant."""
    expression = rewriter.named(expression)
    # lb <= x + k <= ub  is  lb - k <= x <= ub - k
    low, high = interval.low - expression.constant, interval.high - expression.constant
    expression = expression - expression.constant
    if not expression.terms:
        return expression, Interval(low, high)
    common = gcd(*(factor for _, factor in expression.terms))
    if expression.terms[0][1] < 0:
        common = -common
    if common != 1:
        # lb <= g x <= ub  is  ceil(lb / g) <= x <= floor(ub / g)
        low, high = (low, high) if common > 0 else (-high, -low)
        size = abs(common)
        low, high = -(-low // size), high // size
        total = constant(0)
        for atom, factor in expression.terms:
            total = total + atom * (factor // common)
        expression = total
    if isinstance(expression, Division) and expression.op == "floordiv":
        # lb <= x floordiv c <= ub  is  lb c <= x <= ub c + c - 1
        by = expression.divisor
        return _normal(rewriter, expression.dividend, Interval(low * by, high * by + by - 1))
    return expression, Interval(low, high)
