"""The best solution of a problem whose graph is like a tree, exactly, without limits of usage.

A node with at most two neighbors is eliminated: for each pair of their strategies its best strategy is known,
and what that costs becomes the cost of an edge between them. Programs are mostly chains, so this ends with
one node. Not here: graphs in which all nodes have more neighbors, limits of usage (`integer_program.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardy_py.search.assignment.problem import Solution
from shardy_py.search.assignment.tables import Costs, Tables

_MOST_WORK = 4_000_000_000
"""Sums of costs that may be computed: some seconds."""


def best_by_elimination(tables: Tables) -> Solution | None:
    """Returns a solution of least cost, whatever it uses; None if the graph or the work is too large."""
    eliminator = _Eliminator(tables)
    while eliminator.left:
        if not eliminator.eliminate():
            return None
    return eliminator.solution()


class _Eliminator:
    def __init__(self, tables: Tables) -> None:
        self._costs = [*tables.costs]
        self._edges: dict[int, dict[int, Costs]] = {n: {} for n in range(len(tables.costs))}
        for (first, second), matrix in tables.edges.items():
            self._edges[first][second], self._edges[second][first] = matrix, matrix.T
        self._chosen: list[tuple[int, tuple[int, ...], NDArray[np.intp]]] = []
        self._work = _MOST_WORK
        self.left = {*self._edges}

    def eliminate(self) -> bool:
        """Eliminates the node that takes least work; returns whether there was one."""
        work = {node: self._work_of(node) for node in self.left if len(self._edges[node]) <= 2}
        node = min(work, key=lambda each: (work[each], each), default=None)
        if node is None or work[node] > self._work:
            return False
        self._work -= work[node]
        around = {other: self._edges[other].pop(node) for other in self._edges[node]}
        costs = self._costs[node]
        if not around:
            best: NDArray[np.intp] = np.array(int(costs.argmin()), np.intp)
        elif len(around) == 1:
            ((other, matrix),) = around.items()
            sums = costs + matrix
            best = sums.argmin(axis=1)
            self._costs[other] = self._costs[other] + sums.min(axis=1)
        else:
            (one, first), (two, second) = around.items()
            best, sums = _joined(first + costs, second)
            self._add_edge(one, two, sums)
        self._chosen.append((node, tuple(around), best))
        self.left.remove(node)
        return True

    def _work_of(self, node: int) -> int:
        work = len(self._costs[node])
        for other in self._edges[node]:
            work *= len(self._costs[other])
        return work

    def _add_edge(self, one: int, two: int, costs: Costs) -> None:
        known = self._edges[one].get(two)
        total = costs if known is None else known + costs
        self._edges[one][two], self._edges[two][one] = total, total.T

    def solution(self) -> Solution:
        """The strategies, those that were eliminated last first."""
        found: dict[int, int] = {}
        for node, around, best in reversed(self._chosen):
            found[node] = int(best[tuple(found[other] for other in around)])
        return tuple(found[node] for node in range(len(self._costs)))


def _joined(first: Costs, second: Costs) -> tuple[NDArray[np.intp], Costs]:
    """By pair of strategies of two neighbors, the best strategy of the node between them, and its cost.

    first, second: their strategies as rows, those of the node as columns.
    """
    best = np.empty((len(first), len(second)), np.intp)
    sums = np.empty(best.shape)
    for row, own in enumerate(first):
        total = own + second
        best[row] = total.argmin(axis=1)
        sums[row] = total[np.arange(len(second)), best[row]]
    return best, sums
