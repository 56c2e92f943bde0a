"""The points of the domain of a map: enumerated, evaluated on numpy arrays (in int64), counted exactly.

Counting avoids enumeration if the constraints allow. Variables without common constraints are counted
separately, those connected by constraints by


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

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from shardy_py.base.deferred import np
from shardy_py.indexing.bounds import Constraint, Interval
from shardy_py.indexing.expr import Division, Expr, Variable, dim
from shardy_py.indexing.index_map import IndexMap
from shardy_py.indexing.rewrite import simplify_parts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = "NDArray[np.int64]"
_CHUNK = 1 << 18


def evaluate_points(index_map: IndexMap, points: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """The elements read at `points`, and a mask of the points in the domain.

    points: [..., variables] in the order d, s, rt. The elements are [..., results].
    """
    table = np.asarray(points, dtype=np.int64)
    variables = tuple(index_map.bounds)
    if table.shape[-1:] != (len(variables),):
        raise ValueError(f"expected points of {len(variables)} variables, got shape {table.shape}")
    evaluation = _Evaluation({v: table[..., i] for i, v in enumerate(variables)})
    is_inside = np.ones(table.shape[:-1], dtype=np.bool_)
    for expression, interval in (*index_map.bounds.items(), *index_map.constraints):
        value = evaluation.of(expression)
        is_inside &= (interval.low <= value) & (value <= interval.high)
    elements = [np.broadcast_to(evaluation.of(r), is_inside.shape) for r in index_map.results]
    if not elements:
        return np.zeros((*is_inside.shape, 0), dtype=np.int64), is_inside
    return np.stack(elements, axis=-1), is_inside


def point_chunks(index_map: IndexMap) -> Iterator[Array]:
    """The points of the domain in row-major order, in chunks: [points, variables]."""
    intervals = tuple(index_map.bounds.values())
    total = prod(interval.size for interval in intervals)
    lows = np.array([interval.low for interval in intervals], dtype=np.int64)
    for start in range(0, total, _CHUNK):
        places = np.arange(start, min(start + _CHUNK, total), dtype=np.int64)
        table = np.empty((len(places), len(intervals)), dtype=np.int64)
        for i in reversed(range(len(intervals))):
            places, table[:, i] = np.divmod(places, intervals[i].size)
        table += lows
        if index_map.constraints:
            table = table[evaluate_points(index_map, table)[1]]
        if len(table):
            yield table


def points_array(index_map: IndexMap) -> Array:
    """All points of the domain: [points, variables]."""
    chunks = list(point_chunks(index_map))
    return np.concatenate(chunks) if chunks else np.zeros((0, len(index_map.bounds)), dtype=np.int64)


class _Evaluation:
    """Memoized evaluation of expressions."""

    def __init__(self, values: Mapping[Variable, Array]) -> None:
        self._known: dict[Expr, Array] = {**values}

    def of(self, expression: Expr) -> Array:
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._compute(expression)
        return known

    def _compute(self, expression: Expr) -> Array:
        if isinstance(expression, Division):
            inner, by = self.of(expression.dividend), expression.divisor
            if expression.op == "mod":
                return np.mod(inner, by)
            return np.floor_divide(inner, by) if expression.op == "floordiv" else -np.floor_divide(-inner, by)
        total = np.asarray(expression.constant, dtype=np.int64)
        for atom, factor in expression.terms:
            total = total + self.of(atom) * factor
        return total


Element = tuple[int, ...]


def points(index_map: IndexMap) -> Iterator[dict[Variable, int]]:
    """Every point of the domain, as values of the variables."""
    variables = list(index_map.bounds)
    intervals = [range(i.low, i.high + 1) for i in index_map.bounds.values()]
    for values in product(*intervals):
        point = dict(zip(variables, values, strict=True))
        if all(interval.contains(e.evaluate(point)) for e, interval in index_map.constraints):
            yield point


def reads(index_map: IndexMap) -> dict[Element, set[Element]]:
    """For each element of the domain tensor, the elements it reads, over all runtime values."""
    dims = [v for v in index_map.bounds if v.kind == "d"]
    by_element: dict[Element, set[Element]] = {}
    for point in points(index_map):
        element = tuple(point[v] for v in dims)
        by_element.setdefault(element, set()).add(tuple(r.evaluate(point) for r in index_map.results))
    return by_element


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
    return not cardinality(index_map)


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
        if isinstance(expression, Division) and expression.op == "mod" and expression.division_count == 1:
            if expression.divisor <= _LARGEST_DIVISOR:
                return _count_remainders(expression.dividend, expression.divisor, interval, bounds)
        elif not expression.division_count:
            span = 1 + sum(abs(f) * (bounds[v].size - 1) for v, f in _linear(expression))
            if span <= _MOST_VALUES:
                return _count_sums(expression, interval, bounds)
    renamed = {v: dim(i) for i, v in enumerate(bounds)}
    box = IndexMap((), tuple(bounds.values()), constraints=tuple(constraints)).substituted(renamed)
    return sum(len(chunk) for chunk in point_chunks(box))


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
    counts = np.zeros(divisor, dtype=object)
    counts[dividend.constant % divisor] = 1
    for variable, factor in _linear(dividend):
        ends = bounds[variable]
        whole, rest = divmod(ends.size, divisor)
        spread: NDArray[np.object_] = np.zeros(divisor, dtype=object)
        for k in range(min(divisor, ends.size)):
            spread += np.roll(counts, (ends.low + k) * factor % divisor) * (whole + (k < rest))
        counts = spread
    return int(sum(counts[max(interval.low, 0) : interval.high + 1]))
