"""READ THIS FIRST: propagation as a textbook has it, one op after the other through the op graph.

    for each user priority:         the dimensions of later ones are hidden
      for each op priority:         which axes may propagate through which op
        for each strategy:          how one op propagates
          visit ops until no sharding changes

An op has a sharding rule, which follows from its indexing maps (`rules/`): each dimension of its tensors is a
product of factors. A step projects the shardings of the tensors to factors, expands axes from tensor to tensor
along each factor, and projects back:

    dot: ([i, k], [k, j])->([i, j])    [{"x", ?}, {?}], [{?}, {?}] -> [{?}, {?}]     "x" is along factor i,
                                       which the result has, too: it becomes [{"x", ?}, {?}]

The fast engine (`propagate.py`) has the same result, as tests compare: it numbers values, remembers steps, and
skips steps that cannot change anything. Not here: which axes fit a factor (`basic.py`), projections
(`sharding/projection.py`), the graph (`op_graph.py`). docs/tour.md goes through an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_

import networkx

from shardy_py.ops import Role
from shardy_py.propagation import basic as fit
from shardy_py.propagation.basic import StepOptions, Strategy, compatible_axes
from shardy_py.propagation.flat import Direction, StepKind
from shardy_py.propagation.op_graph import (
    USES,
    OpGraph,
    OpNode,
    ValueKey,
    dependents,
    operands,
    uses,
    with_values,
)
from shardy_py.propagation.propagate import PropagationOptions
from shardy_py.propagation.step import after_edge, before_edge, common_mesh
from shardy_py.sharding import DimensionSharding, FactorType, Mesh, Projection, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import Axes, Prefix, is_strict_prefix, prefix_status, total_size
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.projection import TensorProjection

OP_PRIORITIES = range(5)


def propagate(graph: OpGraph, options: PropagationOptions = PropagationOptions()) -> OpGraph:
    """Returns the graph with the shardings of the fixed point, and the local shapes and layouts that follow.

    graph: of a program with data-flow edges, if it has loops, branches or manual computations. Dead ops are
    missing in the result: they are erased on the way.
    """
    book = Textbook(graph, options)
    book.run()
    found, meshes = book.shardings, book.meshes
    return with_values(book.graph, lambda value: value.sharded(found.get(value.holder or ("", 0)), meshes))


class Textbook:
    """One propagation; shardings: of the values that hold one, at present."""

    def __init__(self, graph: OpGraph, options: PropagationOptions) -> None:
        self.graph: OpGraph = networkx.MultiDiGraph(graph)  # from which dead ops are erased
        self.options, self.meshes, self.main = options, graph.graph["meshes"], graph.graph["main"]
        self.nodes: dict[str, OpNode] = dict(graph.nodes(data="node"))
        self.shardings: dict[ValueKey, TensorSharding | None] = {}
        self.tensors: dict[str, list[ValueKey | None]] = {}
        self.groups: dict[int, list[ValueKey]] = {}
        self.worklist: list[str] = []
        for key, node in self.nodes.items():
            self.shardings |= {(key, number): value.sharding for number, value in enumerate(node.values)}
            reads = operands(graph, key, "flow" if node.step and node.step.is_edge else "operand")
            self.tensors[key] = [*map(self.holder, reads), *(value.holder for value in node.values)]
            if node.group is not None and reads[0] not in self.groups.setdefault(node.group, []):
                self.groups[node.group] += reads

    def holder(self, value: ValueKey) -> ValueKey | None:
        """The value that has the sharding of a value."""
        return self.nodes[value[0]].values[value[1]].holder

    def run(self) -> None:
        """Propagates to the fixed point: the loops around the worklist."""
        given = {value: sharding for value, sharding in self.shardings.items() if sharding is not None}
        later = {d.priority or 0 for sharding in given.values() for d in sharding.dimensions}
        has_users, has_ops = (
            self.options.run_user_priority_propagation,
            self.options.run_op_priority_propagation,
        )
        for priority in sorted(later | {0}) if has_users else [None]:
            if priority is not None:
                self.reveal(given, priority)
            for level in OP_PRIORITIES if has_ops else OP_PRIORITIES[-1:]:
                for strategy in STRATEGIES[self.options.propagation_strategy]:
                    self.join_returned(strategy)
                    self.visit_all(level, strategy)
                    self.join_returned(strategy)

    def reveal(self, given: dict[ValueKey, TensorSharding], priority: int) -> None:
        """Shows the dimensions of a user priority; until then they are empty, and their axes replicated."""
        for value, then in given.items():
            now, mesh = self.shardings[value], mesh_of(then, self.meshes)
            if now is None or all(d.priority is None for d in then.dimensions):
                continue
            before = now.dimensions if priority else (DimensionSharding(is_closed=True),) * now.rank
            shown = tuple(
                replace(new, priority=None) if (new.priority or 0) == priority else old
                for old, new in zip(before, then.dimensions, strict=True)
            )
            hidden = (axis for d in then.dimensions if (d.priority or 0) > priority for axis in d.axes)
            replicated = sorted((*then.replicated_axes, *hidden), key=lambda axis: axis.order_in(mesh))
            self.shardings[value] = replace(now, dimensions=shown, replicated_axes=tuple(replicated))

    def visit_all(self, level: int, strategy: Strategy) -> None:
        """Visits ops until no sharding changes, in the order of MLIR's greedy driver.

        All ops are on the list in program order; those that a change concerns are put before all others.
        """
        self.worklist = [key for key in self.graph if self.nodes[key].kind == "op"][::-1]
        self.listed = set(self.worklist)
        while self.worklist:
            key = self.worklist.pop()
            self.listed.discard(key)
            node = self.nodes[key]
            if key not in self.graph:
                continue
            if node.is_removable and not any(kind in USES for *_, kind in self.graph.out_edges(key, "kind")):
                self.erase(key)
            elif node.step is not None and node.step.rule is not None:
                kind = replace(node.step, has_shared_operand=self.has_shared_operand(key))
                for value, new in self.step(kind, self.tensors[key], level, strategy):
                    for user in self.assign(value, new, kind if value[0] == key else None):
                        if user != key:
                            self.push(user)

    def push(self, key: str) -> None:
        """Puts an op at the top of the worklist, unless it is on it."""
        if key not in self.listed and key in self.graph:
            self.listed.add(key)
            self.worklist.append(key)

    def erase(self, key: str) -> None:
        """Erases a dead op; what it read may be dead by now, or have one use left."""
        inside = [each for each in self.graph if self.nodes[each].parent == key]
        for value in (*operands(self.graph, key, "operand"), *operands(self.graph, key, "yield")):
            if len({user for user, kind in uses(self.graph, value) if kind in USES} - {key}) < 2:
                self.push(value[0])
        for each in inside:
            self.erase(each)
        self.graph.remove_node(key)

    def has_shared_operand(self, key: str) -> bool:
        """Returns whether an operand that is not a scalar has another use."""
        for maker, number in operands(self.graph, key, "operand"):
            if self.nodes[maker].values[number].shape != ():
                if sum(kind in USES for _, kind in uses(self.graph, (maker, number))) > 1:
                    return True
        return False

    def step(
        self, kind: StepKind, values: Sequence[ValueKey | None], level: int, strategy: Strategy
    ) -> Iterator[tuple[ValueKey, TensorSharding]]:
        """Yields the values of an op whose shardings change, with their new ones: operands, then results."""
        rule, boundary = kind.rule, kind.boundary
        seen = [None if value is None else self.shardings[value] for value in values]
        if boundary is not None and (last := seen[-1]) is not None:
            seen[-1] = before_edge(boundary, last)  # an edge into or out of a manual computation
        found = common_mesh(tuple(seen), self.meshes)
        if rule is None or found is None or found[1].is_maximal:
            return
        is_conservative = self.options.conservative_propagation and not (kind.is_edge or kind.is_barrier)
        ways = tuple(direction(kind, factor, level) for factor in range(len(rule.factors)))
        options = StepOptions(rule.factor_sizes, ways, is_conservative, kind.is_elementwise)
        before = Projection.build(rule, seen, found[1])
        after = strategy(before, options, found[1])
        for position in after.changed_since(before):
            value, old, tensor = values[position], seen[position], after.tensors[position]
            new = tensor.to_sharding(rule.tensors[position], options.factor_sizes, *found)
            if value is not None and new != old and not (old is None and new.has_no_axes):
                is_inside = boundary is not None and position == len(values) - 1
                yield value, after_edge(boundary, new) if is_inside else new

    def assign(self, value: ValueKey, new: TensorSharding, edge: StepKind | None = None) -> Iterator[str]:
        """Gives a sharding to a value and to its sharding group; yields the ops to visit again."""
        self.set(value, new)
        yield from dependents(self.graph, value)
        shared = before_edge(edge.boundary, new) if edge is not None and edge.boundary else new
        for members in self.groups.values():
            for member in members if value in members else ():
                if member != value and (holder := self.holder(member)) is not None:
                    self.set(holder, shared)
                    yield from dependents(self.graph, member)

    def set(self, value: ValueKey, new: TensorSharding) -> None:
        """Sets a sharding; with the first one of an op, its other results get open ones."""
        siblings = self.nodes[value[0]].values if self.shardings[value] is None else ()
        for number, other in enumerate(siblings):
            if other.holder == (key := (value[0], number)) and self.shardings[key] is None:
                self.shardings[key] = TensorSharding.fully_open(new.mesh, len(other.shape or ()))
        self.shardings[value] = new

    def join_returned(self, strategy: Strategy) -> None:
        """Propagates once between each value that the main function returns and the result of the function."""
        for key, node in self.nodes.items():
            shape = node.values[0].shape if node.kind == "result" and node.function == self.main else None
            if shape is not None:
                returned = [*map(self.holder, operands(self.graph, key, "yield")), (key, 0)]
                kind = StepKind(ShardingRule.identity(tuple(size or 0 for size in shape)), is_edge=True)
                for value, new in [*self.step(kind, returned, OP_PRIORITIES[-1], strategy)]:
                    _ = [*self.assign(value, new)]


def direction(step: StepKind, factor: int, level: int) -> Direction:
    """The direction in which axes may propagate along a factor: at each level also what the ones before allow."""
    assert step.rule is not None
    if step.is_barrier:
        return Direction(step.barrier_direction)
    if step.rule.factors[factor].is_blocked:
        return Direction.NONE
    passing = {Role.PASS_THROUGH: Direction.BOTH, Role.SLICE: Direction.FORWARD}.get(
        step.role, Direction.NONE
    )
    without_broadcasts = Direction.BACKWARD if step.role is Role.BROADCAST else Direction.BOTH
    is_passed = step.rule.factors[factor].type is FactorType.PASS_THROUGH
    levels = (
        Direction.NONE if step.has_shared_operand else passing,  # whose operands no other op wants otherwise
        passing,
        without_broadcasts if is_passed else Direction.NONE,
        without_broadcasts,  # so that small tensors do not decide for large ones
        Direction.BOTH,
    )
    return reduce(or_, levels[: level + 1])


def basic(projection: Projection, options: StepOptions, mesh: Mesh) -> Projection:
    """Expands, factor by factor, the axes on which all tensors agree and that all can take."""
    for factor, way in enumerate(options.directions):
        axes = compatible_axes(projection, factor, way)
        for tensor in projection.tensors:
            axes = fitting(tensor, factor, axes, options, mesh)
        projection = projection.expanded(factor, axes)
    return projection


def aggressive(projection: Projection, options: StepOptions, mesh: Mesh) -> Projection:
    """Expands axes tensor by tensor, results first; of factors that want an axis, the first in order gets it."""
    ways = enumerate(options.directions)
    wanted = {factor: axes for factor, way in ways if (axes := compatible_axes(projection, factor, way))}
    order = sorted(wanted, key=lambda factor: preference(projection, factor, wanted[factor], options, mesh))
    results, operands = list(projection.results), list(projection.operands)
    for tensors in (results, operands):
        for number, tensor in enumerate(tensors):
            for factor in order:
                axes = fitting(tensor, factor, wanted[factor], options, mesh)
                if tensors is operands and options.is_elementwise:  # no more than the results could take
                    held = (result.factors[factor] for result in results)
                    axes = reduce(lambda a, f: f.axes if f and is_strict_prefix(f.axes, a) else a, held, axes)
                tensor = tensor.expanded(factor, axes)
            tensors[number] = tensor
    return Projection((*operands, *results), projection.operand_count)


def preference(
    projection: Projection, factor: int, axes: Axes, options: StepOptions, mesh: Mesh
) -> tuple[int, int, int, int]:
    """Sorts factors: those first whose axes come from the largest tensor, or from an earlier one as large."""
    sources = [(-1, 1)]
    for number, tensor in enumerate(projection.tensors):
        along = tensor.factors[factor]
        if along is not None and prefix_status(axes, along.axes) is not Prefix.NONE:
            sizes = zip(options.factor_sizes, tensor.factors, strict=True)
            sources.append((prod(size for size, own in sizes if own is not None), -number))
    size, place = max(sources)
    return -size, -total_size(axes, mesh) if options.is_elementwise else 0, -place, factor


def fitting(tensor: TensorProjection, factor: int, axes: Axes, options: StepOptions, mesh: Mesh) -> Axes:
    """The first of `axes` that a tensor can have along a factor, beside those of its other factors."""
    along, size = tensor.factors[factor], options.factor_sizes[factor]
    keep: list[Callable[..., object]] = [lambda axis, _: fit.prefix_across_factors(axis, tensor, factor)]
    if along is not None:
        keep += [lambda axis, parts: fit.prefix_within_factor(axis, tensor, along, parts, size, mesh)]
    return reduce(
        lambda a, k: fit.truncate(a, k, mesh, conservative_propagation=options.conservative_propagation),
        keep,
        axes,
    )


STRATEGIES: dict[str, tuple[Strategy, ...]] = {
    "basic": (basic,),
    "aggressive": (aggressive,),
    "basic-then-aggressive": (basic, aggressive),
}
