"""Good solutions by changes of one node at a time, and by restarts from changed neighborhoods.

For problems that are too large for a proof. A forbidden pair costs more than all that is allowed together, so
the search passes solutions with few of them on its way to those with none. Deterministic by the seed but for
the time limit. Not here: bounds (`integer_program.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import count
from random import Random
from time import monotonic

import numpy as np

from shardy_py.search.assignment.problem import Solution
from shardy_py.search.assignment.tables import Costs, Tables

_PENALTY = 8.0
"""The factor by which an infeasible start weighs usage more in each round."""
_ROUNDS = 60
_DISTURBED = 12
"""Nodes that a restart changes."""


def descend(tables: Tables, seconds: float, seed: int = 0, *, restarts: int | None = None) -> Solution | None:
    """Returns the best solution found in this time; None if no start is within the limit of usage.

    It may have forbidden pairs that were not removed in time. restarts: that are tried at most; None: as many
    as there is time for.
    """
    search = _Descent(tables, monotonic() + seconds, Random(seed))
    return search.run(restarts)


def _above_all(tables: Tables) -> float:
    """Returns a cost above that of any solution without forbidden pairs."""
    most = 0.0
    for costs in (*tables.costs, *tables.edges.values()):
        most += float(costs.max(initial=0.0, where=np.isfinite(costs)))
    return 2 * most + 1


class _Descent:
    def __init__(self, tables: Tables, end: float, random: Random) -> None:
        self.tables, self.end, self.random = tables, end, random
        limit = tables.problem.usage_limit
        self.limit = np.iinfo(np.int64).max if limit is None else limit
        self.used = np.zeros(max(1, tables.moments), np.int64)
        self.chosen: list[int] = []
        self.forbidden = _above_all(tables)
        self.costs = [np.minimum(costs, self.forbidden) for costs in tables.costs]
        self.neighbors = [
            [(other, np.minimum(matrix, self.forbidden)) for other, matrix in around]
            for around in tables.neighbors
        ]

    def run(self, restarts: int | None) -> Solution | None:
        if not self._start():
            return None
        self._sweep(range(len(self.chosen)))
        for _ in count() if restarts is None else range(restarts):
            if monotonic() >= self.end or not self._restart():
                break
        return tuple(self.chosen)

    def _set(self, node: int, strategy: int) -> None:
        first, last = self.tables.times[node]
        usages = self.tables.usages[node]
        self.used[first : last + 1] += usages[strategy] - usages[self.chosen[node]]
        self.chosen[node] = strategy

    def _start(self) -> bool:
        """Chooses by cost and, in later rounds, ever more by usage until a solution is within the limit."""
        weight = 0.0
        for _ in range(_ROUNDS):
            self._choose_by(weight)
            if self.used.max() <= self.limit:
                return True
            if monotonic() >= self.end:
                break
            weight = weight * _PENALTY or self._first_weight()
        self._choose_by(np.inf)
        return bool(self.used.max() <= self.limit)

    def _first_weight(self) -> float:
        """A price of usage at which a node's usage weighs a thousandth of its cost."""
        used = float(sum(usages.max() for usages in self.tables.usages)) or 1.0
        finite = (costs[costs < self.forbidden] for costs in self.costs)
        return 1e-3 * float(sum(each.max() for each in finite if each.size)) / used or 1e-9

    def _choose_by(self, weight: float) -> None:
        """Each node in order: by its cost, edges to earlier nodes, and usage."""
        tables = self.tables
        self.chosen = [0] * len(self.costs)
        self.used[:] = 0
        for node, costs in enumerate(self.costs):
            usages = tables.usages[node]
            if weight == np.inf:
                is_allowed = costs < self.forbidden
                strategy = int(np.argmin(np.where(is_allowed, usages, np.iinfo(np.int64).max)))
            else:
                total = costs + weight * usages
                for other, matrix in self.neighbors[node]:
                    total = total + (matrix[:, self.chosen[other]] if other < node else matrix.min(axis=1))
                strategy = int(total.argmin())
            self.chosen[node] = strategy
            first, last = tables.times[node]
            self.used[first : last + 1] += usages[strategy]

    def _sweep(self, nodes: Iterable[int]) -> None:
        """Changes nodes while that lowers the cost; neighbors of a changed one are visited again."""
        waiting = deque(nodes)
        listed = {*waiting}
        while waiting and monotonic() < self.end:
            node = waiting.popleft()
            listed.discard(node)
            if self._improve(node):
                for other, _ in self.neighbors[node]:
                    if other not in listed:
                        listed.add(other)
                        waiting.append(other)

    def _costs(self, node: int) -> Costs:
        """The cost of each strategy as the neighbors are."""
        total = self.costs[node]
        for other, matrix in self.neighbors[node]:
            total = total + matrix[:, self.chosen[other]]
        return total

    def _improve(self, node: int) -> bool:
        own = self.chosen[node]
        total = np.where(self._fits(node), self._costs(node), np.inf)
        best = int(total.argmin())
        if not total[best] < total[own]:
            return False
        self._set(node, best)
        return True

    def _fits(self, node: int) -> np.ndarray:
        first, last = self.tables.times[node]
        usages = self.tables.usages[node]
        if last < first:
            return np.ones(len(usages), bool)
        room = self.limit - int(self.used[first : last + 1].max())
        fits = usages - usages[self.chosen[node]] <= room
        fits[self.chosen[node]] = True
        return fits

    def _restart(self) -> bool:
        """Changes a node and nodes around it, descends, and goes back unless that helped.

        Returns whether to go on: nodes that may change exist.
        """
        movable = self._movable
        if not movable:
            return False
        changed = self._around(self.random.choice(movable))
        before = {node: self.chosen[node] for node in changed}
        cost = self._cost_around(changed)
        first = changed[0]
        others = [s for s in np.flatnonzero(self._fits(first)) if s != self.chosen[first]]
        if not others:
            return True
        self._set(first, int(self.random.choice(others)))
        for node in changed[1:]:
            self._improve(node)
        for node in changed:
            self._improve(node)
        if not self._cost_around(changed) <= cost or self.used.max() > self.limit:
            for node, strategy in before.items():
                self._set(node, strategy)
        return True

    @property
    def _movable(self) -> list[int]:
        if self._known_movable is None:
            self._known_movable = [n for n, costs in enumerate(self.costs) if len(costs) > 1]
        return self._known_movable

    _known_movable: list[int] | None = None

    def _around(self, node: int) -> list[int]:
        """The node and those nearest to it."""
        found = {node: None}
        waiting = deque((node,))
        while waiting and len(found) < _DISTURBED:
            for other, _ in self.neighbors[waiting.popleft()]:
                if other not in found:
                    found[other] = None
                    waiting.append(other)
        return list(found)[: 2 * _DISTURBED]

    def _cost_around(self, nodes: list[int]) -> float:
        """The costs of nodes and all of their edges, once each."""
        inside = {*nodes}
        total = 0.0
        for node in nodes:
            total += self.costs[node][self.chosen[node]]
            for other, matrix in self.neighbors[node]:
                if other not in inside or node < other:
                    total += matrix[self.chosen[node], self.chosen[other]]
        return total
