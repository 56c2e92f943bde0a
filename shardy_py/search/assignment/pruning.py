"""Strategies that no best solution needs: problems that are too large for a proof become smaller.

Two rules, both of which keep the least cost of all solutions:

- by bounds: nodes cost at least their least, so a strategy whose excess above the least of its node is more
  than the gap to a known solution is in no better solution;
- by dominance: a strategy that costs and uses no less than another of its node, whatever the strategies of
  the neighbors are, can be replaced by it in any solution.

Not here: how what is left is solved (`integer_program.py`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass
from shardy_py.search.assignment.problem import Solution
from shardy_py.search.assignment.tables import Costs, Tables

_MOST_ROUNDS = 4
_COMPARED = 16
"""Strategies of a node that others are compared with: those that cost least in the worst case."""
_TOLERANCE = 1e-9
"""The part of a cost by which sums of floating-point numbers may be wrong."""


@dataclass(frozen=True, eq=False)
class Pruned:
    """Tables with fewer strategies, and by node which of the strategies these are."""

    tables: Tables
    kept: tuple[NDArray[np.int64], ...]

    def original(self, solution: Solution) -> Solution:
        """Returns a solution with the numbers that strategies had before."""
        return tuple(int(kept[s]) for kept, s in zip(self.kept, solution, strict=True))

    def reduced(self, solution: Solution) -> Solution | None:
        """Returns a solution with the numbers that strategies have now; None if one of them is gone."""
        places = [np.flatnonzero(kept == s) for kept, s in zip(self.kept, solution, strict=True)]
        return tuple(int(each[0]) for each in places) if all(each.size for each in places) else None


def pruned(tables: Tables, most_cost: float = np.inf) -> Pruned:
    """Returns the tables without strategies that are not needed.

    most_cost: of a solution that is known; worse ones are not needed.
    """
    pruner = _Pruner(tables, most_cost)
    for _ in range(_MOST_ROUNDS):
        before = pruner.size
        for node in range(len(tables.costs)):
            pruner.by_bound(node)
            pruner.by_dominance(node)
        if pruner.size == before:
            break
    return Pruned(pruner.tables, tuple(pruner.kept))


class _Pruner:
    def __init__(self, tables: Tables, most_cost: float) -> None:
        self._tables = tables
        self.costs, self.usages = [*tables.costs], [*tables.usages]
        self.edges = {**tables.edges}
        self.around: list[list[int]] = [[] for _ in self.costs]
        for first, second in self.edges:
            self.around[first].append(second)
            self.around[second].append(first)
        self.kept = [np.arange(len(costs)) for costs in self.costs]
        self.most_cost = most_cost + abs(most_cost) * _TOLERANCE

    @property
    def size(self) -> int:
        return sum(map(len, self.kept))

    @property
    def tables(self) -> Tables:
        return replace(self._tables, costs=self.costs, usages=self.usages, edges=self.edges)

    def _edge(self, node: int, other: int) -> Costs:
        return self.edges[node, other] if node < other else self.edges[other, node].T

    def by_bound(self, node: int) -> None:
        """Keeps strategies with which all nodes together may cost at most the known solution."""
        others = sum(float(costs.min()) for n, costs in enumerate(self.costs) if n != node)
        least = self.costs[node] + others
        for other in self.around[node]:
            least = least + self._edge(node, other).min(axis=1)
        self._keep(node, least <= self.most_cost)

    def by_dominance(self, node: int) -> None:
        """Keeps strategies that the best ones in the worst case do not dominate."""
        worst = self.costs[node].copy()
        for other in self.around[node]:
            worst += self._edge(node, other).max(axis=1)
        for best in self.kept[node][np.argsort(worst, kind="stable")[:_COMPARED]]:
            places = np.flatnonzero(self.kept[node] == best)
            if not places.size:  # another one dominates it
                continue
            place = int(places[0])
            costs, usages = self.costs[node], self.usages[node]
            more = _rise(costs[place], costs)
            for other in self.around[node]:
                matrix = self._edge(node, other)
                with np.errstate(invalid="ignore"):  # a sum of both infinities is not a known rise
                    more = more + _rise(matrix[place], matrix).max(axis=1)
            dominated = (more <= 0) & (usages[place] <= usages)
            dominated[place] = False
            self._keep(node, ~dominated)

    def _keep(self, node: int, chosen: NDArray[np.bool_]) -> None:
        """Keeps these strategies of a node, unless that is none."""
        if chosen.all() or not chosen.any():
            return
        self.kept[node] = self.kept[node][chosen]
        self.costs[node], self.usages[node] = self.costs[node][chosen], self.usages[node][chosen]
        for other in self.around[node]:
            key, axis = ((node, other), 0) if node < other else ((other, node), 1)
            self.edges[key] = self.edges[key].compress(chosen, axis=axis)


def _rise(new: Costs | np.float64, old: Costs) -> Costs:
    """By how much a cost rises; not at all where both are forbidden."""
    with np.errstate(invalid="ignore"):
        return np.where(new == old, 0.0, new - old)
