"""Maps on numpy arrays of points, computed in int64.

>>> from shardy_py.indexing.parse import parse_map
>>> m = parse_map("(d0)[s0] -> (d0 * 2 + s0), domain: d0 in [0, 9], s0 in [0, 2], d0 + s0 in [0, 3]")
>>> elements, is_inside = evaluate_points(m, [[0, 1], [3, 0], [3, 1]])
>>> elements.tolist(), is_inside.tolist()
([[1], [6], [7]], [True, True, False])
>>> points_array(m).shape
(9, 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shardy_py.indexing.expr import Division, Expr, Variable
from shardy_py.indexing.index_map import IndexMap

Array = NDArray[np.int64]
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
