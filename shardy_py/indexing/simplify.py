"""Rewrites of expressions and maps that the bounds of their variables allow.

Each rewrite opens with its identity and the condition it needs. The rewritten map reads the same elements at
every point of the domain (`enumerate.py` is the oracle of the tests).

>>> from shardy_py.indexing.parse import parse_map
>>> m = parse_map("(d0, d1) -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14]")
>>> str(simplify(m)).splitlines()[0]
'(d0, d1) -> (d0, d1),'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd

from shardy_py.indexing.expr import Division, Expr, Variable, constant
from shardy_py.indexing.index_map import Constraint, IndexMap, Interval

Bounds = Mapping[Variable, Interval]


def bounds_of(expression: Expr, bounds: Bounds) -> Interval:
    """An interval that holds every value of `expression`; exact for sums of independent atoms."""
    low = high = expression.constant
    for atom, factor in expression.terms:
        inner = _atom_bounds(atom, bounds)
        ends = (inner.low * factor, inner.high * factor)
        low, high = low + min(ends), high + max(ends)
    return Interval(low, high)


def _atom_bounds(atom: Expr, bounds: Bounds) -> Interval:
    if isinstance(atom, Variable):
        return bounds[atom]
    assert isinstance(atom, Division)
    inner, by = bounds_of(atom.dividend, bounds), atom.divisor
    if atom.op == "floordiv":
        return Interval(inner.low // by, inner.high // by)
    if atom.op == "ceildiv":
        return Interval(-(-inner.low // by), -(-inner.high // by))
    if inner.low // by == inner.high // by:
        return Interval(inner.low % by, inner.high % by)
    return Interval(0, by - 1)


def simplify_expr(expression: Expr, bounds: Bounds) -> Expr:
    """`expression` rewritten until nothing changes."""
    while True:
        expression = _joined(expression)
        total = constant(expression.constant)
        for atom, factor in expression.terms:
            total = total + _simplify_atom(atom, bounds) * factor
        if total is expression:
            return total
        expression = total


def _simplify_atom(atom: Expr, bounds: Bounds) -> Expr:
    if isinstance(atom, Variable):
        # x = c if x in [c, c]
        interval = bounds[atom]
        return constant(interval.low) if interval.low == interval.high else atom
    assert isinstance(atom, Division)
    dividend = simplify_expr(atom.dividend, bounds)
    if atom.op == "ceildiv":
        # x ceildiv c = -(-x floordiv c)
        return -_floordiv(-dividend, atom.divisor, bounds)
    step = _floordiv if atom.op == "floordiv" else _mod
    return step(dividend, atom.divisor, bounds)


def _split(dividend: Expr, divisor: int) -> tuple[Expr, Expr]:
    """x = c * quotient + rest, taking into the quotient every term whose factor c divides, and whole c's."""
    quotient = constant(dividend.constant // divisor)
    rest = constant(dividend.constant % divisor)
    for atom, factor in dividend.terms:
        if factor % divisor:
            rest = rest + atom * factor
        else:
            quotient = quotient + atom * (factor // divisor)
    return quotient, rest


def _floordiv(dividend: Expr, divisor: int, bounds: Bounds) -> Expr:
    # (c * q + r) floordiv c = q + r floordiv c
    quotient, rest = _split(dividend, divisor)
    inner = bounds_of(rest, bounds)
    if inner.low // divisor == inner.high // divisor:
        # r floordiv c = k if k * c <= r < (k + 1) * c throughout
        return quotient + inner.low // divisor
    rest, divisor = _without_common_factor(rest, divisor, bounds)
    if len(rest.terms) == 1 and rest.terms[0][1] == 1 and not rest.constant:
        nested = rest.terms[0][0]
        if isinstance(nested, Division) and nested.op == "mod" and not nested.divisor % divisor:
            # (x mod (a * b)) floordiv b = (x floordiv b) mod a
            return quotient + _mod(
                _floordiv(nested.dividend, divisor, bounds), nested.divisor // divisor, bounds
            )
    return quotient + rest // divisor


def _without_common_factor(rest: Expr, divisor: int, bounds: Bounds) -> tuple[Expr, int]:
    # (g * x + y) floordiv (g * c) = x floordiv c if 0 <= y < g
    factors = sorted({gcd(factor, divisor) for _, factor in rest.terms}, reverse=True)
    for common in (g for g in factors if g > 1):
        high, low = _split(rest, common)
        inner = bounds_of(low, bounds)
        if inner.low >= 0 and inner.high < common:
            return high, divisor // common
    return rest, divisor


def _mod(dividend: Expr, divisor: int, bounds: Bounds) -> Expr:
    # (c * q + r) mod c = r mod c
    if divisor == 1:
        return constant(0)
    rest = _split(dividend, divisor)[1]
    for atom, factor in dividend.terms:
        if isinstance(atom, Division) and atom.op == "mod" and not atom.divisor * factor % divisor:
            # (f * (x mod c) + y) mod m = (f * x + y) mod m if m divides f * c
            return _mod(dividend + (atom.dividend - atom) * factor, divisor, bounds)
    inner = bounds_of(rest, bounds)
    if inner.low // divisor == inner.high // divisor:
        # r mod c = r - k * c if k * c <= r < (k + 1) * c throughout
        return rest - inner.low // divisor * divisor
    high, smaller = _without_common_factor(rest, divisor, bounds)
    if smaller != divisor:
        # (g * x + y) mod (g * c) = g * (x mod c) + y if 0 <= y < g
        common = divisor // smaller
        return high % smaller * common + (rest - high * common)
    return rest % divisor


def _joined(expression: Expr) -> Expr:
    # c * f * (x floordiv c) + f * (x mod c) = f * x
    factors = dict(expression.terms)
    for atom, factor in expression.terms:
        if not isinstance(atom, Division) or atom.op != "mod":
            continue
        whole = atom.dividend // atom.divisor
        if len(whole.terms) == 1 and factors.get(whole.terms[0][0]) == factor * atom.divisor:
            return _joined(expression + (atom.dividend - atom - whole * atom.divisor) * factor)
    return expression


def simplify(index_map: IndexMap) -> IndexMap:
    """The same map with simplified results, bounds and constraints, without unused range variables."""
    while True:
        once = _simplify_once(index_map)
        if once == index_map:
            return index_map.trimmed()
        index_map = once


def _simplify_once(index_map: IndexMap) -> IndexMap:
    bounds = index_map.bounds
    kept: list[Constraint] = []
    for expression, interval in index_map.constraints:
        narrowed, interval = _normal_constraint(simplify_expr(expression, bounds), interval)
        inner = bounds_of(narrowed, bounds)
        if interval.low <= inner.low and inner.high <= interval.high:
            continue  # lb <= x <= ub always holds
        if isinstance(narrowed, Variable):
            # lb <= x <= ub, x in [a, b]  becomes  x in [max(lb, a), min(ub, b)]
            bounds[narrowed] = Interval(max(interval.low, inner.low), min(interval.high, inner.high))
        elif (narrowed, interval) not in kept:
            kept.append((narrowed, interval))
    return replace(
        index_map,
        results=tuple(simplify_expr(result, bounds) for result in index_map.results),
        dims=tuple(i for v, i in bounds.items() if v.kind == "d"),
        ranges=tuple(i for v, i in bounds.items() if v.kind == "s"),
        runtimes=tuple(i for v, i in bounds.items() if v.kind == "rt"),
        constraints=tuple(kept),
    )


def _normal_constraint(expression: Expr, interval: Interval) -> Constraint:
    """lb <= f(x) <= ub as bounds on x, for f a shift, a multiple or a quotient by a constant."""
    # lb <= x + k <= ub  is  lb - k <= x <= ub - k
    low, high = interval.low - expression.constant, interval.high - expression.constant
    expression = expression - expression.constant
    common = gcd(*(factor for _, factor in expression.terms)) if expression.terms else 1
    if expression.terms and expression.terms[0][1] < 0:
        common = -common
    if common != 1:
        # lb <= g * x <= ub  is  ceil(lb / g) <= x <= floor(ub / g)
        low, high = (low, high) if common > 0 else (-high, -low)
        size = abs(common)
        low, high = -(-low // size), high // size
        expression = _sum_divided(expression, common)
    if len(expression.terms) == 1 and isinstance(expression, Division) and expression.op == "floordiv":
        # lb <= x floordiv c <= ub  is  lb * c <= x <= ub * c + c - 1
        by = expression.divisor
        return _normal_constraint(expression.dividend, Interval(low * by, high * by + by - 1))
    return expression, Interval(low, high)


def _sum_divided(expression: Expr, common: int) -> Expr:
    total = constant(0)
    for atom, factor in expression.terms:
        total = total + atom * (factor // common)
    return total
