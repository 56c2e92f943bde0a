"""Exact numbers of points of domains, without enumeration if the constraints allow.

Variables without common constraints are counted separately. Variables connected by constraints are counted by

| their constraints | method |
|---|---|
| one, on a sum of variables | the frequency of each value of the sum, variable by variable |
| one, on a sum mod k | the frequency of each remainder |
| anything else | enumeration, in chunks |

>>> from shardy_py.indexing.parse import parse_map
>>> domain = "d0 in [0, 999999999], d1 in [0, 9], (d0 - 3) mod 7 in [0, 0]"
>>> cardinality(parse_map(f"(d0, d1) -> (d0), domain: {domain}"))
1428571430
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from shardy_py.indexing.arrays import point_chunks
from shardy_py.indexing.expr import Division, Expr, Variable, dim
from shardy_py.indexing.index_map import IndexMap
from shardy_py.indexing.interval import Constraint, Interval
from shardy_py.indexing.simplify import simplify_parts

_MOST_VALUES = 1 << 22
_Item = TypeVar("_Item")
_LARGEST_DIVISOR = 1 << 12


def cardinality(index_map: IndexMap) -> int:
    """The number of points of the domain, over all variables."""
    _, bounds, constraints = simplify_parts((), index_map.bounds, index_map.constraints)
    total = 1
    joined: set[Variable] = set()
    for variables, group in connected((c[0].variables, c) for c in constraints):
        joined |= variables
        total *= _count({v: i for v, i in bounds.items() if v in variables}, group)
        if not total:
            return 0
    return total * prod(interval.size for v, interval in bounds.items() if v not in joined)


def is_empty(index_map: IndexMap) -> bool:
    """Returns whether the domain has no point."""
    return cardinality(index_map) == 0


def connected(
    items: Iterable[tuple[frozenset[Variable], _Item]],
) -> list[tuple[frozenset[Variable], list[_Item]]]:
    """Items with their variables, in groups that are connected by common variables."""
    groups: list[tuple[frozenset[Variable], list[_Item]]] = []
    for variables, item in items:
        members, apart = [item], list[tuple[frozenset[Variable], list[_Item]]]()
        for others, items_before in groups:
            if others & variables:
                variables, members = variables | others, items_before + members
            else:
                apart.append((others, items_before))
        groups = [*apart, (variables, members)]
    return groups


def _count(bounds: dict[Variable, Interval], constraints: list[Constraint]) -> int:
    if not bounds:
        return int(all(interval.contains(e.constant) for e, interval in constraints))
    if len(constraints) == 1:
        expression, interval = constraints[0]
        if _is_small_remainder(expression):
            return _count_remainders(expression.dividend, expression.divisor, interval, bounds)
        if _is_linear(expression):
            span = 1 + sum(abs(f) * (bounds[v].size - 1) for v, f in _linear(expression))
            if span <= _MOST_VALUES:
                return _count_sums(expression, interval, bounds)
    renamed = {v: dim(i) for i, v in enumerate(bounds)}
    box = IndexMap((), tuple(bounds.values()), constraints=tuple(constraints)).substituted(renamed)
    return sum(len(chunk) for chunk in point_chunks(box))


def _is_small_remainder(expression: Expr) -> TypeGuard[Division]:
    return (
        isinstance(expression, Division)
        and expression.op == "mod"
        and expression.divisor <= _LARGEST_DIVISOR
        and _is_linear(expression.dividend)
    )


def _is_linear(expression: Expr) -> bool:
    return expression.division_count == 0


def _linear(expression: Expr) -> list[tuple[Variable, int]]:
    return [(atom, factor) for atom, factor in expression.terms if isinstance(atom, Variable)]


def _count_sums(expression: Expr, interval: Interval, bounds: dict[Variable, Interval]) -> int:
    """The number of points whose sum is in the interval."""
    low = expression.constant
    counts: NDArray[np.object_] = np.array([1], dtype=object)
    for variable, factor in _linear(expression):
        ends = bounds[variable]
        step, times = abs(factor), ends.size
        low += min(ends.low * factor, ends.high * factor)
        # Adding a variable: each count is spread over `times` places `step` apart.
        spread: NDArray[np.object_] = np.zeros(len(counts) + step * times, dtype=object)
        spread[: len(counts)] += counts
        spread[step * times :] -= counts
        for phase in range(min(step, len(spread))):
            spread[phase::step] = np.cumsum(spread[phase::step])
        counts = spread[: len(counts) + step * (times - 1)]
    first, last = max(interval.low - low, 0), interval.high - low
    return int(sum(counts[first : last + 1])) if last >= first else 0


def _count_remainders(
    dividend: Expr, divisor: int, interval: Interval, bounds: dict[Variable, Interval]
) -> int:
    """The number of points whose sum has a remainder in the interval."""
    counts: NDArray[np.object_] = np.zeros(divisor, dtype=object)
    counts[dividend.constant % divisor] = 1
    for variable, factor in _linear(dividend):
        ends = bounds[variable]
        whole, rest = divmod(ends.size, divisor)
        spread: NDArray[np.object_] = np.zeros(divisor, dtype=object)
        for k in range(min(divisor, ends.size)):
            spread += np.roll(counts, (ends.low + k) * factor % divisor) * (whole + (k < rest))
        counts = spread
    return int(sum(counts[max(interval.low, 0) : interval.high + 1]))
