"""A problem as arrays: forbidden pairs are infinite, and parallel edges are one.

What an edge costs by one of its ends alone is moved to that node. Not here: the problem (`problem.py`).
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass
from shardy_py.search.assignment.problem import FORBIDDEN, AssignmentProblem

Costs = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tables:
    """costs: by node, of each strategy. edges: by pair of nodes, a matrix with least entries of zero.

    usages: by node. times: the first and last moment of each node (none: the last is before the first).
    moments: the number of times at which no fewer nodes are alive than just before and after.
    """

    problem: AssignmentProblem
    costs: list[Costs]
    edges: dict[tuple[int, int], Costs]
    usages: list[NDArray[np.int64]]
    times: NDArray[np.int64]
    moments: int

    @cached_property
    def neighbors(self) -> list[list[tuple[int, Costs]]]:
        """By node, the other ends of its edges with the costs, own strategies as rows."""
        found: list[list[tuple[int, Costs]]] = [[] for _ in self.costs]
        for (first, second), matrix in self.edges.items():
            found[first].append((second, matrix))
            found[second].append((first, np.ascontiguousarray(matrix.T)))
        return found

    @property
    def pairs(self) -> int:
        """The number of pairs of strategies of all edges."""
        return sum(matrix.size for matrix in self.edges.values())

    @property
    def least(self) -> float:
        """At most the cost of any solution: the least cost of each node."""
        return float(sum(costs.min() for costs in self.costs))


def tables_of(problem: AssignmentProblem) -> Tables:
    """Returns the arrays of a problem; costs of edges that depend on one end only are moved to that node."""
    costs = [_with_infinities(node.costs) for node in problem.nodes]
    edges: dict[tuple[int, int], Costs] = {}
    for edge in problem.edges:
        shape = len(problem.nodes[edge.first].costs), len(problem.nodes[edge.second].costs)
        matrix = _with_infinities(edge.costs).reshape(shape)
        if edge.first == edge.second:
            costs[edge.first] = costs[edge.first] + matrix.diagonal()
            continue
        if edge.first > edge.second:
            matrix = matrix.T
        key = min(edge.first, edge.second), max(edge.first, edge.second)
        edges[key] = edges[key] + matrix if key in edges else matrix
    for first, second in edges:
        matrix = edges[first, second]
        for end, axis in ((first, 1), (second, 0)):
            least = matrix.min(axis=axis)
            costs[end] = costs[end] + least
            shift = np.where(np.isfinite(least), least, 0.0)
            matrix = matrix - np.expand_dims(shift, axis)
        edges[first, second] = matrix
    edges = {key: matrix for key, matrix in edges.items() if matrix.any()}
    usages = [np.array(node.usages, np.int64) for node in problem.nodes]
    times, moments = _moments([node.interval for node in problem.nodes])
    return Tables(problem, costs, edges, usages, times, moments)


def _with_infinities(costs: tuple[float, ...] | Costs) -> Costs:
    found = np.array(costs, np.float64)
    found[found >= FORBIDDEN] = np.inf
    return found


def _moments(intervals: list[tuple[int, int]]) -> tuple[NDArray[np.int64], int]:
    """The moments of intervals: a start after which an end comes before the next start."""
    starts = np.unique([start for start, end in intervals if start < end])
    ends = np.unique([end for start, end in intervals if start < end])
    following = np.append(starts[1:], np.iinfo(np.int64).max)
    next_end = ends[np.searchsorted(ends, starts, side="right")] if len(starts) else starts
    kept = starts[next_end <= following]
    given = np.array(intervals, np.int64).reshape(-1, 2)
    first = np.searchsorted(kept, given[:, 0], side="left")
    last = np.searchsorted(kept, given[:, 1], side="left") - 1
    last[given[:, 0] >= given[:, 1]] = -1
    return cast("NDArray[np.int64]", np.stack((first, last), axis=1)), len(kept)
