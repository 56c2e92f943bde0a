"""Reversed maps: from "d reads x" to "x is read by d".

The pairs (d, x) of a map are the integer solutions of linear equations: each division of an unknown becomes a
quotient and a remainder, each result an equation, and the unknowns are eliminated in the order

| equation | gives |
|---|---|
| c u = k | u = k floordiv c, if k mod c = 0 |
| c u + rest = k, rest in [0, c - 1] | u = k floordiv c, rest = k mod c |
| c u + rest = k | u = (k - rest) floordiv c, if (k - rest) mod c = 0; unknowns in rest become ranges |

where k consists of coordinates of x, runtime variables and constants. Undetermined unknowns become ranges.

>>> from shardy_py.indexing.parse import parse_map
>>> str(reverse(parse_map("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"))).splitlines()[0]
'(d0, d1) -> (d0 * 8 + d1),'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from shardy_py.indexing.bounds import Constraint, Interval, bounds_of
from shardy_py.indexing.expr import Division, Expr, Variable, constant, dim, range_var
from shardy_py.indexing.index_map import IndexMap

_ZERO = Interval(0, 0)


def reverse(index_map: IndexMap, target: Sequence[Interval] | None = None) -> IndexMap:
    """The map from elements that are read to the elements that read them, tidied.

    target: the intervals of the tensor that is read; by default those of the results.
    """
    bounds = index_map.bounds
    if target is None:
        target = [bounds_of(result, bounds) for result in index_map.results]
    return _Elimination(index_map, tuple(target)).solved().tidied


def inverse(index_map: IndexMap) -> IndexMap | None:
    """The inverse function on the image; None unless the map is proved to be one to one.

    >>> from shardy_py.indexing.parse import parse_map
    >>> print(inverse(parse_map("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 4]")))
    (d0) -> ((d0 - 1) floordiv 2),
    domain:
    d0 in [1, 9],
    (d0 - 1) mod 2 in [0, 0]
    """
    if index_map.ranges or index_map.runtimes:
        return None
    turned = reverse(index_map)
    return None if turned.ranges else turned.simplified


class _Elimination:
    """The unknowns are range variables: those of the dimensions first, then ranges, quotients, remainders."""

    def __init__(self, index_map: IndexMap, target: tuple[Interval, ...]) -> None:
        self.target = target
        self.runtimes = index_map.runtimes
        self.bounds = {**index_map.bounds, **{dim(i): interval for i, interval in enumerate(target)}}
        self.fresh = count()
        own = ((v, interval) for v, interval in index_map.bounds.items() if v.kind != "rt")
        unknown: dict[Variable, Expr] = {v: self.unknown(interval) for v, interval in own}
        self.dims = [unknown[dim(i)] for i in range(len(index_map.dims))]
        renamed = index_map.substituted(unknown)
        self.parts: dict[tuple[Expr, int], tuple[Expr, Expr]] = {}
        self.equations: list[Expr] = []
        self.constraints: list[Constraint] = []
        self.values: dict[Variable, Expr] = {}
        self.frozen: set[Variable] = set()
        for i, result in enumerate(renamed.results):
            self.equations.append(self.linear(result) - dim(i))
        for expression, interval in renamed.constraints:
            if interval.low == interval.high:
                self.equations.append(self.linear(expression) - interval.low)
            else:
                self.constraints.append((self.linear(expression), interval))

    def unknown(self, interval: Interval) -> Variable:
        unknown = range_var(next(self.fresh))
        self.bounds[unknown] = interval
        return unknown

    def linear(self, expression: Expr) -> Expr:
        total = constant(expression.constant)
        for atom, factor in expression.terms:
            if isinstance(atom, Division) and any(v.kind == "s" for v in atom.variables):
                atom = self.part(atom)
            total = total + atom * factor
        return total

    def part(self, division: Division) -> Expr:
        # p ceildiv c = -(-p floordiv c)
        rounds_up = division.op == "ceildiv"
        dividend = self.linear(-division.dividend if rounds_up else division.dividend)
        key = (dividend, division.divisor)
        if key not in self.parts:
            by, inner = division.divisor, bounds_of(dividend, self.bounds)
            quotient = self.unknown(Interval(inner.low // by, inner.high // by))
            remainder = self.unknown(bounds_of(dividend % by, self.bounds))
            self.parts[key] = quotient, remainder
            self.equations.append(dividend - quotient * by - remainder)
        quotient, remainder = self.parts[key]
        return -quotient if rounds_up else remainder if division.op == "mod" else quotient

    def solved(self) -> IndexMap:
        while self.equations and any(step() for step in (self.lone, self.digit, self.pivot)):
            pass
        results = tuple(map(self.resolved, self.dims))
        constraints = [(self.resolved(e), i) for e, i in self.constraints]
        constraints += [(self.resolved(u), self.bounds[u]) for u in self.values]
        free = {v for e in (*results, *(e for e, _ in constraints)) for v in e.variables if v.kind == "s"}
        ordered = sorted(free, key=lambda v: v.index)
        ranges = tuple(self.bounds[v] for v in ordered)
        index_map = IndexMap(results, self.target, ranges, self.runtimes, tuple(constraints))
        return index_map.substituted({v: range_var(i) for i, v in enumerate(ordered)})

    def resolved(self, expression: Expr) -> Expr:
        while any(v in self.values for v in expression.variables):
            expression = expression.replace(lambda v: self.values.get(v, v))
        return expression

    def unknowns(self, equation: Expr) -> list[tuple[Variable, int]]:
        variables = ((atom, f) for atom, f in equation.terms if isinstance(atom, Variable))
        return [(v, f) for v, f in variables if v.kind == "s" and v not in self.frozen]

    def set(self, unknown: Variable, value: Expr) -> None:
        self.values[unknown] = value
        self.equations = [e.replace(lambda v: value if v is unknown else v) for e in self.equations]

    def lone(self) -> bool:
        """Solves an equation with at most one unknown."""
        for equation in self.equations:
            terms = self.unknowns(equation)
            if len(terms) > 1:
                continue
            self.equations.remove(equation)
            if terms:
                ((unknown, factor),) = terms
                self.divide(unknown, factor, unknown * factor - equation)
            elif equation is not constant(0):
                self.constraints.append((equation, _ZERO))
            return True
        return False

    def digit(self) -> bool:
        """Solves an equation whose rest is smaller than the factor of its largest digit."""
        for equation in self.equations:
            unknown, factor = max(self.unknowns(equation), key=lambda term: abs(term[1]))
            turned, factor = equation if factor > 0 else -equation, abs(factor)
            others = (atom * f for atom, f in self.unknowns(turned) if atom is not unknown)
            rest = sum(others, constant(0))
            known = rest + unknown * factor - turned
            inner = bounds_of(rest, self.bounds)
            if inner.size > factor:
                continue
            self.equations.remove(equation)
            self.equations.append(rest - inner.low - (known - inner.low) % factor)
            self.set(unknown, (known - inner.low) // factor)
            return True
        return False

    def pivot(self) -> bool:
        """Solves any equation for the unknown with the longest interval."""
        equation = min(self.equations, key=lambda e: len(self.unknowns(e)))
        unknown, factor = max(
            self.unknowns(equation), key=lambda t: (abs(t[1]) == 1, self.bounds[t[0]].size, -t[0].index)
        )
        self.equations.remove(equation)
        if abs(factor) > 1:  # The others end up in a division, which elimination does not enter.
            self.frozen.update(v for v, _ in self.unknowns(equation) if v is not unknown)
        self.divide(unknown, factor, unknown * factor - equation)
        return True

    def divide(self, unknown: Variable, factor: int, product: Expr) -> None:
        """Solves unknown * factor = product."""
        if factor < 0:
            factor, product = -factor, -product
        if factor > 1:
            self.constraints.append((product % factor, _ZERO))
        self.set(unknown, product // factor)
