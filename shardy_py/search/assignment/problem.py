"""The choice of one strategy for each node of a graph, of least cost, within a limit of usage at any time.

Nodes have a cost for each strategy, edges one for each pair of strategies of their nodes. A node uses what
its strategy states during its interval. This is the problem of the ASPLOS 2025 contest on intra-operator
parallelism (`iopddl.py`), and the coarse model of a suggestion of shardings.

>>> nodes = (StrategyNode((15,), (10,)), StrategyNode((55, 65), (25, 25)))
>>> problem = AssignmentProblem("small", nodes, (Edge(0, 1, (30, 40)),))
>>> problem.cost((0, 1))
120

Not here: how it is solved (`solve.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass

Solution = tuple[int, ...]
"""By node, the number of its strategy."""
FORBIDDEN = 10**18
"""Costs from here on forbid a strategy or a pair of strategies."""


@dataclass(frozen=True, slots=True)
class StrategyNode:
    """The costs and usages of each strategy; interval: times from its start until before its end."""

    costs: tuple[float, ...]
    usages: tuple[int, ...]
    interval: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True)
class Edge:
    """The costs of pairs of strategies of two nodes, those of the second one fastest; a tuple or an array."""

    first: int
    second: int
    costs: tuple[float, ...] | NDArray[np.float64]


@dataclass(frozen=True)
class AssignmentProblem:
    """Nodes and edges; usage_limit: None if there is none."""

    name: str
    nodes: tuple[StrategyNode, ...]
    edges: tuple[Edge, ...]
    usage_limit: int | None = None

    def cost(self, solution: Sequence[int]) -> float:
        """Returns the sum of the costs of all nodes and edges; exact for integers."""
        total = sum(node.costs[s] for node, s in zip(self.nodes, solution, strict=True))
        for edge in self.edges:
            width = len(self.nodes[edge.second].costs)
            total += edge.costs[solution[edge.first] * width + solution[edge.second]]
        return total

    def peak_usage(self, solution: Sequence[int]) -> int:
        """Returns the most that nodes use at the same time."""
        changes: dict[int, int] = {}
        for node, strategy in zip(self.nodes, solution, strict=True):
            start, end = node.interval
            if start < end:
                changes[start] = changes.get(start, 0) + node.usages[strategy]
                changes[end] = changes.get(end, 0) - node.usages[strategy]
        return max(accumulate(changes[time] for time in sorted(changes)), default=0)

    def is_feasible(self, solution: Sequence[int]) -> bool:
        """Returns whether usage is within the limit and no forbidden pair is chosen."""
        within = self.usage_limit is None or self.peak_usage(solution) <= self.usage_limit
        return within and self.cost(solution) < FORBIDDEN


@dataclass(frozen=True, slots=True)
class AssignmentOutcome:
    """The outcome of a search: the best solution and its cost, None if there is none.

    bound: no solution costs less. seconds: how long it took. is_optimal: whether the cost is proved least.
    """

    solution: Solution | None
    cost: float | None
    bound: float
    seconds: float
    is_optimal: bool

    @property
    def gap(self) -> float | None:
        """The part of the cost by which the bound is lower; None without a solution."""
        if self.cost is None:
            return None
        if self.cost == self.bound or not self.cost:
            return 0.0
        return max(0.0, (self.cost - self.bound) / abs(self.cost))
