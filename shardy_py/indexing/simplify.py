"""Simplification of whole maps: results, intervals and constraints together, to a fixed point.

Constraints on shifts, multiples and quotients become constraints on their operands, constraints on a single
variable become its interval; constraints that always hold are dropped, and one that never holds empties the
map. The simplified map reads the same elements at every point of the domain.

Not here: rewrites of expressions (`rewrite.py`), `IndexMap.simplified` (`index_map.py`).

>>> from shardy_py.indexing.parse import parse_map
>>> m = parse_map("(d0, d1) -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14]")
>>> str(m.simplified).splitlines()[0]
'(d0, d1) -> (d0, d1),'
"""

from __future__ import annotations

from math import gcd
from typing import Any

from shardy_py.indexing.bounds import Constraint, Interval
from shardy_py.indexing.expr import Division, Expr, Variable, constant
from shardy_py.indexing.rewrite import Rewriter

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


def _order(item: Constraint) -> tuple[Any, ...]:
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
