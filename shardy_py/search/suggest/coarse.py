"""The coarse model of a program: what its products cost along the axes of a mesh, and reshards between them.

A node is a group of arguments, or the products that are alike in all layers: with equal sizes and kinds of
dimensions. Its strategies give each axis of the mesh a position: a dimension of an argument, a factor of a
product, or none. An edge is a tensor between two groups, and costs the time to reshard it where their
positions differ. The sum of all costs is the time without overlap, of products and their results only.

    model = coarse_model(variables, mesh, prices)
    model.choices(solution)

Not here: how groups are read (`coarse_groups.py`), what strategies cost (`coarse_costs.py`), how the problem
is solved (`search/assignment/`), what choices cost in the end (`search/suggest_scoring.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass
from shardy_py.search.assignment import AssignmentProblem, Edge, Solution, StrategyNode
from shardy_py.search.suggest.coarse_costs import Coster, Enumerated, Prices, enumerated
from shardy_py.search.suggest.coarse_groups import Positions, Reader, ValueGroup, Variables
from shardy_py.search.suggest.roles import Roles
from shardy_py.search.suggest.schemes import Choice, Spec
from shardy_py.sharding import Mesh

_SMALL = 0.01
"""The part of the elements of all arguments below which a group does not make a solution another one."""


@dataclass(frozen=True, slots=True)
class CoarseOutcome:
    """How well a coarse model was solved.

    nodes, edges: its size. cost: seconds of the best solution, None if there is none. bound: no solution
    takes less; None if strategies were left out, as then a better solution may be among those. is_optimal:
    whether the best one is proved. has_proof: whether HiGHS is installed. left_out: the groups of which
    strategies were left out.
    """

    nodes: int
    edges: int
    cost: float | None
    bound: float | None
    is_optimal: bool
    has_proof: bool
    left_out: int = 0

    def __str__(self) -> str:
        how = (
            "solved exactly (this model, not the time of a step)" if self.is_optimal else "not solved exactly"
        )
        return f"coarse model of {self.nodes} groups and {self.edges} edges between them: {how}"


@dataclass(frozen=True, eq=False)
class CoarseModel:
    """A problem of assignment, and what its nodes and strategies stand for.

    strategies: by node, of each the positions of the axes. left_out: the groups of which there are more.
    """

    problem: AssignmentProblem
    roles: Roles
    axes: tuple[str, ...]
    strategies: tuple[tuple[Positions, ...], ...]
    groups: tuple[ValueGroup, ...]
    origins: Mapping[int, tuple[int, Positions]]
    left_out: int = 0

    def choices(self, solution: Solution) -> tuple[Choice, ...]:
        """Returns the choice of arguments, and that with constraints on values inside."""
        found = [() for _ in self.roles.tensors]
        specs: list[Spec | None] = list(found)
        for node, group in enumerate(self.groups):
            for index in group.members:
                specs[index] = self._spec(group.made, self.strategies[node][solution[node]])
        points = list(specs)
        for index, tensor in enumerate(self.roles.tensors):
            if tensor.values:
                specs[index] = points[index] = None
                if tensor.slot in self.origins:
                    node, made = self.origins[tensor.slot]
                    points[index] = self._spec(made, self.strategies[node][solution[node]])
        return tuple(dict.fromkeys((tuple(specs), tuple(points))))

    def _spec(self, made: Positions, strategy: Positions) -> Spec:
        held = zip(self.axes, strategy, strict=True)
        by_position: dict[int, list[str]] = defaultdict(list)
        for axis, position in held:
            if position is not None:
                by_position[position].append(axis)
        return tuple(() if p is None else tuple(by_position.get(p, ())) for p in made)

    def of_arguments(self, solution: Solution) -> dict[int, int]:
        """Returns the strategies of the nodes that are arguments of many bytes, to exclude what is alike."""
        sizes = {n: group.elements * group.count for n, group in enumerate(self.groups) if group.members}
        least = _SMALL * sum(sizes.values())
        return {n: solution[n] for n, size in sizes.items() if size >= least}


def coarse_model(
    variables: Variables, mesh: Mesh, prices: Prices, fixed: Mapping[int, Spec], memory: int | None
) -> CoarseModel:
    """Returns the model of a program on a mesh.

    fixed: the shardings of arguments that keep theirs. memory: the most bytes of arguments and results of
    products on each device.
    """
    reader = Reader(variables)
    coster = Coster(prices, {axis.name: axis.size for axis in mesh.axes if axis.size > 1})
    found = enumerated(reader.groups, reader.edges, coster, fixed)
    nodes = tuple(
        StrategyNode(
            tuple(group.count * coster.seconds(group, each) for each in own),
            tuple(coster.held(group, each) for each in own),
        )
        for group, own in zip(reader.groups, found.strategies, strict=True)
    )
    problem = AssignmentProblem("coarse model", nodes, _edges(reader, coster, found), memory)
    return CoarseModel(
        *(problem, variables.roles, coster.axes, found.strategies, tuple(reader.groups), reader.origins),
        found.left_out,
    )


def _edges(reader: Reader, coster: Coster, found: Enumerated) -> tuple[Edge, ...]:
    """One edge for each pair of groups: the reshards of all tensors between them."""
    matrices: dict[tuple[int, int], NDArray[np.float64]] = {}
    for ends, count in reader.edges.items():
        first, second, *_ = ends
        costs = count * coster.reshards(ends, found.strategies[first], found.strategies[second])
        matrices[first, second] = matrices[first, second] + costs if (first, second) in matrices else costs
    return tuple(Edge(*ends, costs.ravel()) for ends, costs in matrices.items())
