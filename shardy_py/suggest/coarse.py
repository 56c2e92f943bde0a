"""The coarse model of a program: what its products cost along the axes of a mesh, and reshards between them.

A node is a group of arguments, or the products that are alike in all layers: with equal sizes and kinds of
dimensions. Its strategies give each axis of the mesh a position: a dimension of an argument, a factor of a
product, or none. An edge is a tensor between two groups, and costs the time to reshard it where their
positions differ. The sum of all costs is the time without overlap, of products and their results only.

    model = coarse_model(variables, mesh, prices)
    model.choices(solution)

Not here: how the problem is solved (`assignment/`), what choices cost in the end (`api/suggest_scoring.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from shardy_py.assignment import Edge, Node, Problem, Solution
from shardy_py.sharding import Mesh, ShardingRule
from shardy_py.sharding.rule import FactorType
from shardy_py.suggest.roles import Link, Numbering, Roles
from shardy_py.suggest.schemes import Choice, Spec

Positions = tuple[int | None, ...]
"""By dimension of a tensor, its position in a group; or by axis of the mesh, the position it has."""
_STORED = 0.25
"""The part of the results of other ops than products that is read from and written to memory: the rest is
fused."""
_MOST_STRATEGIES = 200
_SMALL = 0.01
"""The part of the elements of all arguments below which a group does not make a solution another one."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Bytes per second along axes of the mesh and of memory, operations per second, bytes of an element."""

    links: Mapping[str, float]
    memory: float
    flops: float
    element_bytes: float


@dataclass(frozen=True, slots=True)
class Variables:
    """What may be annotated, the ops that link it, and the classes of dimensions."""

    roles: Roles
    links: tuple[Link, ...]
    number: Numbering


@dataclass(frozen=True, slots=True)
class CoarseOutcome:
    """How well a coarse model was solved.

    nodes, edges: its size. cost: seconds of the best solution, None if there is none. bound: no solution
    takes less. is_optimal: whether the best one is proved. has_proof: whether HiGHS is installed.
    """

    nodes: int
    edges: int
    cost: float | None
    bound: float
    is_optimal: bool
    has_proof: bool

    def __str__(self) -> str:
        size = f"coarse model of {self.nodes} groups and {self.edges} edges between them"
        if not self.has_proof:
            return f"{size}: solved without a bound, as highspy is missing (pip install 'shardy_py[suggest]')"
        if self.cost is None:
            return f"{size}: no solution in time"
        if self.is_optimal:
            return f"{size}: certified gap 0.0% (of the coarse model, not of the time of a step)"
        gap = max(0.0, 1 - self.bound / self.cost) if self.cost else 0.0
        return f"{size}: certified gap {gap:.1%} (of the coarse model, not of the time of a step)"


@dataclass(eq=False)
class _Group:
    """sizes: of its positions. made: positions of the tensor that it stands for. count: how many there are.

    summed: positions that are summed. flops: of one. members: the arguments. read: elements of the results of
    other ops, by the positions of their dimensions.
    """

    sizes: tuple[int, ...]
    made: Positions
    summed: frozenset[int] = frozenset()
    flops: float = 0.0
    members: tuple[int, ...] = ()
    count: int = 0
    read: Counter[Positions] = field(default_factory=Counter[Positions])

    @property
    def elements(self) -> int:
        return prod(self.sizes[p] for p in self.made if p is not None)


Ends = tuple[int, int, tuple[int, ...], Positions, Positions]
"""An edge: two groups, the sizes of the tensor between them, and the positions of its dimensions in both."""


class _Reader:
    """Reads groups and edges from the ops in program order."""

    def __init__(self, variables: Variables) -> None:
        self.roles, self.number = variables.roles, variables.number
        self.groups: list[_Group] = []
        self.edges: Counter[Ends] = Counter()
        self.origins: dict[int, tuple[int, Positions]] = {}
        self._products: dict[object, int] = {}
        tensors = self.roles.tensors
        for members in self.roles.groups():
            shape = tensors[members[0]].shape
            made = tuple(range(len(shape)))
            for index in members:
                self.origins[tensors[index].slot] = len(self.groups), made
            self.groups.append(_Group(shape, made, members=members, count=len(members)))
        for link in variables.links:
            if link.is_product and len(link.rule.results) == 1:
                self._product(link)
            else:
                self._other(link)
        for each in self.roles.returned:
            argument = None if each.of is None else self.roles.tensors[each.of]
            if argument is not None and not argument.values and each.slot in self.origins:
                self._edge(self.origins[each.slot], self.origins[argument.slot], each.shape)

    def _product(self, link: Link) -> None:
        rule, (*operands, result) = link.rule, link.slots
        origins = [self.origins.get(slot) for slot in operands]
        arguments = tuple(o[0] if o and self.groups[o[0]].members else None for o in origins)
        kinds = tuple(self._kinds(slot, m) for slot, m in zip(link.slots, rule.tensors, strict=True))
        key = str(rule), kinds, arguments
        if key not in self._products:
            self._products[key] = len(self.groups)
            self.groups.append(_product_group(rule))
        own = self._products[key]
        group = self.groups[own]
        group.count += 1
        for origin, mapping in zip(origins, rule.operands, strict=True):
            if origin is not None:
                self._edge(origin, (own, _factors(mapping)), _shape(rule, mapping))
        self.origins[result] = own, group.made

    def _kinds(self, slot: int, mapping: Sequence[Sequence[int]]) -> tuple[str, ...]:
        return tuple(map(self.roles.kind, self.number.of(slot, len(mapping))))

    def _other(self, link: Link) -> None:
        """Results come from the largest operand that has an origin; other large ones must agree with it."""
        rule, operands = link.rule, link.operands
        known = [
            (prod(_shape(rule, m)), n) for n, m in enumerate(rule.operands) if operands[n] in self.origins
        ]
        if not known:
            return
        size, main = max(known, key=lambda each: (each[0], -each[1]))
        where = self._by_factor(rule, operands[main], main)
        group = self.origins[operands[main]][0]
        for slot, mapping in zip(link.slots[len(operands) :], rule.results, strict=True):
            made = tuple(where.get(factors[0]) if factors else None for factors in mapping)
            self.origins[slot] = group, made
            self.groups[group].read[made] += prod(_shape(rule, mapping))
        for elements, other in known:
            if other != main and 2 * elements >= size:
                mapping = rule.operands[other]
                ends = tuple(where.get(factors[0]) if factors else None for factors in mapping)
                self._edge(self.origins[operands[other]], (group, ends), _shape(rule, mapping))

    def _by_factor(self, rule: ShardingRule, slot: int, operand: int) -> dict[int, int | None]:
        positions = self.origins[slot][1]
        pairs = zip(rule.operands[operand], positions, strict=True)
        return {factors[0]: position for factors, position in pairs if factors}

    def _edge(self, one: tuple[int, Positions], other: tuple[int, Positions], shape: tuple[int, ...]) -> None:
        if one != other:
            self.edges[one[0], other[0], shape, one[1], other[1]] += 1


def _product_group(rule: ShardingRule) -> _Group:
    sizes = tuple(factor.size for factor in rule.factors)
    summed = frozenset(n for n, f in enumerate(rule.factors) if f.type is FactorType.REDUCTION)
    return _Group(sizes, _factors(rule.results[0]), summed, 2.0 * prod(sizes))


def _factors(mapping: Sequence[Sequence[int]]) -> Positions:
    return tuple(factors[0] if factors else None for factors in mapping)


def _shape(rule: ShardingRule, mapping: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(prod(rule.factors[f].size for f in factors) for factors in mapping)


@dataclass(frozen=True, eq=False)
class CoarseModel:
    """A problem of assignment, and what its nodes and strategies stand for.

    strategies: by node, of each the positions of the axes. fixed: by node, whether an argument keeps its
    annotation.
    """

    problem: Problem
    roles: Roles
    axes: tuple[str, ...]
    strategies: tuple[tuple[Positions, ...], ...]
    groups: tuple[_Group, ...]
    origins: Mapping[int, tuple[int, Positions]]

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
    reader = _Reader(variables)
    sizes = {axis.name: axis.size for axis in mesh.axes if axis.size > 1}
    axes = tuple(sizes)
    strategies = tuple(tuple(_strategies(group, sizes, fixed, axes)) for group in reader.groups)
    coster = _Coster(prices, axes, sizes)
    nodes = tuple(coster.node(group, own) for group, own in zip(reader.groups, strategies, strict=True))
    edges = tuple(
        coster.edge(ends, count, strategies[ends[0]], strategies[ends[1]])
        for ends, count in reader.edges.items()
    )
    problem = Problem("coarse model", nodes, edges, memory)
    return CoarseModel(problem, variables.roles, axes, strategies, tuple(reader.groups), reader.origins)


def _strategies(
    group: _Group, sizes: Mapping[str, int], fixed: Mapping[int, Spec], axes: Sequence[str]
) -> Iterator[Positions]:
    """The positions of the axes that divide the sizes; of an argument that is fixed only its own."""
    own = next((fixed[index] for index in group.members if index in fixed), None)
    if own is not None:
        yield tuple(next((d for d, each in enumerate(own) if axis in each), None) for axis in axes)
        return
    positions: list[int | None] = [None, *range(len(group.sizes))]
    made = 0
    for found in product(positions, repeat=len(axes)):
        used: dict[int, int] = {}
        for axis, position in zip(axes, found, strict=True):
            if position is not None:
                used[position] = used.get(position, 1) * sizes[axis]
        if all(group.sizes[position] % parts == 0 for position, parts in used.items()):
            yield found
            made += 1
        if made == _MOST_STRATEGIES:
            return


class _Coster:
    def __init__(self, prices: Prices, axes: tuple[str, ...], sizes: Mapping[str, int]) -> None:
        self.prices = prices
        self.links = tuple(prices.links[axis] for axis in axes)
        self.sizes = tuple(sizes[axis] for axis in axes)

    def node(self, group: _Group, strategies: Sequence[Positions]) -> Node:
        """The time of all products of a group, and the memory of what they make."""
        costs = tuple(group.count * self._seconds(group, each) for each in strategies)
        usages = tuple(
            int(group.count * self._local(group.elements, {*group.made}, each)) for each in strategies
        )
        return Node(costs, usages)

    def _local(self, elements: float, held: set[int | None], strategy: Positions) -> float:
        """The bytes on each device of a tensor with these positions."""
        parts = prod(n for n, p in zip(self.sizes, strategy, strict=True) if p is not None and p in held)
        return elements * self.prices.element_bytes / parts

    def _seconds(self, group: _Group, strategy: Positions) -> float:
        prices = self.prices
        made = self._local(group.elements, {*group.made}, strategy)
        parts = prod(n for n, p in zip(self.sizes, strategy, strict=True) if p is not None)
        seconds = max(group.flops / parts / prices.flops, made / prices.memory if group.flops else 0.0)
        for link, size, position in zip(self.links, self.sizes, strategy, strict=True):
            if position in group.summed:
                seconds += 2 * made * (size - 1) / size / link
        moved = sum(self._local(n, {*held}, strategy) for held, n in group.read.items())
        return seconds + _STORED * 2 * moved / prices.memory / max(1, group.count)

    def edge(self, ends: Ends, count: int, first: Sequence[Positions], second: Sequence[Positions]) -> Edge:
        """The time of reshards from each strategy of the first group to each of the second."""
        one, other, shape, positions, wanted = ends
        size = prod(shape) * self.prices.element_bytes
        places = [tuple(_place(positions, p) for p in each) for each in first]
        targets = [tuple(_place(wanted, p) for p in each) for each in second]
        known: dict[tuple[Positions, Positions], float] = {}
        costs: list[float] = []
        for place in places:
            for target in targets:
                if (place, target) not in known:
                    known[place, target] = count * self._reshard(size, place, target)
                costs.append(known[place, target])
        return Edge(one, other, tuple(costs))

    def _reshard(self, size: float, place: Positions, target: Positions) -> float:
        """The seconds of all-gathers and all-to-alls; slices take none."""
        local = size / prod(n for n, p in zip(self.sizes, place, strict=True) if p is not None)
        seconds = 0.0
        for link, parts, held, wanted in zip(self.links, self.sizes, place, target, strict=True):
            if held == wanted or held is None:
                if held is None and wanted is not None:
                    local /= parts
                continue
            if wanted is None:
                seconds += local * (parts - 1) / link
                local *= parts
            else:
                seconds += local * (parts - 1) / parts / link
        return seconds


def _place(positions: Positions, position: int | None) -> int | None:
    """The dimension of a tensor that is at a position of a group."""
    return None if position is None or position not in positions else positions.index(position)
