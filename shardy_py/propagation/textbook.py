"""READ THIS FIRST: propagation as a textbook has it, one op after the other through the op graph.

    for each user priority:         the dimensions of later ones are hidden
      for each op priority:         which axes may propagate through which op
        for each strategy:          how one op propagates
          visit ops until no sharding changes

The sharding rule of an op, `([i, k], [k, j])->([i, j])` of a matrix product, follows from its indexing maps
(`rules/`): dimensions are products of factors. A step projects the shardings of the op's tensors to factors,
expands axes along each factor from tensor to tensor, and projects back.

The fast engine (`propagate.py`) has the same result, as tests compare: it numbers values, remembers steps,
and skips those that cannot change anything. Not here: which axes fit a factor (`basic.py`), projections
(`sharding/projection.py`), the graph (`op_graph.py`). docs/tour.md goes through an example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import networkx

from shardy_py.ops import Role
from shardy_py.propagation import basic as axes_of
from shardy_py.propagation import op_graph
from shardy_py.propagation.flat import Direction, StepKind
from shardy_py.propagation.op_graph import OpGraph, ValueKey
from shardy_py.propagation.propagate import PropagationOptions
from shardy_py.propagation.step import after_edge, before_edge, common_mesh
from shardy_py.sharding import AxisRef, DimensionSharding, FactorType, Mesh, Projection, TensorSharding
from shardy_py.sharding.axis_lists import Axes, Prefix, is_strict_prefix, prefix_status, total_size
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.projection import TensorProjection

Change = tuple[ValueKey, TensorSharding]
OP_PRIORITIES = range(5)


def propagate(graph: OpGraph, options: PropagationOptions | None = None) -> OpGraph:
    """Returns the graph with the shardings of the fixed point, and the local shapes and layouts that follow.

    graph: with data-flow edges, if the program has loops, branches or manual computations. Dead ops are
    missing in the result: they are erased on the way.
    """
    book = Textbook(graph, options or PropagationOptions())
    book.run()
    return op_graph.with_shardings(book.graph, book.shardings)


class Textbook:
    """One propagation; shardings: of the values that hold one, at present."""

    def __init__(self, graph: OpGraph, options: PropagationOptions) -> None:
        self.graph: OpGraph = networkx.MultiDiGraph(graph)  # dead ops are erased from the copy
        self.options, self.meshes = options, op_graph.meshes_of(graph)
        self.nodes, self.groups = op_graph.nodes_of(graph), op_graph.groups_of(graph)
        self.tensors = {key: op_graph.tensors_of(graph, key) for key in self.nodes}
        self.shardings: dict[ValueKey, TensorSharding | None] = {}
        for key, node in self.nodes.items():
            self.shardings |= {(key, number): value.sharding for number, value in enumerate(node.values)}

    def run(self) -> None:
        """Propagates to the fixed point: the loops around the worklist."""
        given = {value: sharding for value, sharding in self.shardings.items() if sharding is not None}
        later = {dimension.priority or 0 for sharding in given.values() for dimension in sharding.dimensions}
        for priority in sorted(later | {0}) if self.options.run_user_priority_propagation else [None]:
            if priority is not None:
                self.reveal(given, priority)
            for level in OP_PRIORITIES[0 if self.options.run_op_priority_propagation else -1 :]:
                for name in self.options.propagation_strategy.split("-then-"):
                    self.join_returned(name)
                    self.visit_all(level, name)
                    self.join_returned(name)

    def reveal(self, given: dict[ValueKey, TensorSharding], priority: int) -> None:
        """Shows the dimensions of a user priority; until then they are empty, and their axes replicated."""
        for value, then in given.items():
            now, mesh = self.shardings[value] or then, mesh_of(then, self.meshes)
            if all(dimension.priority is None for dimension in then.dimensions):
                continue
            before = now.dimensions if priority else (DimensionSharding(is_closed=True),) * now.rank
            shown = tuple(
                replace(new, priority=None) if (new.priority or 0) == priority else old
                for old, new in zip(before, then.dimensions, strict=True)
            )
            hidden = (axis for d in then.dimensions if (d.priority or 0) > priority for axis in d.axes)
            replicated = sorted((*then.replicated_axes, *hidden), key=lambda axis: axis.order_in(mesh))
            self.shardings[value] = replace(now, dimensions=shown, replicated_axes=tuple(replicated))

    def visit_all(self, level: int, strategy: str) -> None:
        """Visits ops until no sharding changes, in the order of MLIR's greedy driver.

        All ops are on the list in program order; those that a change concerns are put before all others.
        """
        self.worklist = [key for key in self.graph if self.nodes[key].kind == "op"][::-1]
        self.listed = set(self.worklist)
        while self.worklist:
            key = self.worklist.pop()
            self.listed.discard(key)
            if op_graph.is_dead(self.graph, key):
                self.erase(key)
            elif key in self.graph and (kind := self.nodes[key].step) is not None:
                kind = replace(kind, has_shared_operand=op_graph.has_shared_operand(self.graph, key))
                for value, new in self.step(key, kind, level, strategy):
                    for user in self.assign(value, new, kind, key):
                        self.push(user, key)

    def push(self, key: str, visited: str = "") -> None:
        """Puts an op at the top of the worklist, unless it is on it, or is the one that is visited."""
        if key not in self.listed and key != visited:
            self.listed.add(key)
            self.worklist.append(key)

    def erase(self, key: str) -> None:
        """Erases a dead op; what it read is visited again if at most one use is left."""
        reads = (*op_graph.operands(self.graph, key, "operand"), *op_graph.operands(self.graph, key, "yield"))
        for value in reads:
            if len(set(op_graph.users(self.graph, value)) - {key}) < 2:
                self.push(value[0])
        for inner in [inner for inner, node in self.nodes.items() if node.parent == key]:
            if inner in self.graph:
                self.erase(inner)
        self.graph.remove_node(key)

    def step(self, key: str, kind: StepKind, level: int, strategy: str) -> Iterator[Change]:
        """Yields the values at an op whose shardings change, operands first, with their new shardings."""
        values, rule, boundary = self.tensors[key], kind.rule, kind.boundary
        seen = [None if value is None else self.shardings[value] for value in values]
        if boundary is not None and (last := seen[-1]) is not None:
            seen[-1] = before_edge(boundary, last)  # an edge into or out of a manual computation
        found = common_mesh(tuple(seen), self.meshes)
        if rule is None or found is None or found[1].is_maximal:
            return
        is_conservative = self.options.conservative_propagation and not (kind.is_edge or kind.is_barrier)
        ways = tuple(direction(kind, factor, level) for factor in range(len(rule.factors)))
        options = axes_of.StepOptions(rule.factor_sizes, ways, is_conservative, kind.is_elementwise)
        before = Projection.build(rule, seen, found[1])
        after = (basic if strategy == "basic" else aggressive)(before, options, found[1])
        for position in after.changed_since(before):
            value, old, tensor = values[position], seen[position], after.tensors[position]
            new = tensor.to_sharding(rule.tensors[position], options.factor_sizes, *found)
            if value is not None and new != old and not (old is None and new.has_no_axes):
                edge = boundary if value[0] == key else None
                yield value, new if edge is None else after_edge(edge, new)

    def assign(self, value: ValueKey, new: TensorSharding, kind: StepKind, key: str) -> Iterator[str]:
        """Gives a sharding to a value and to its sharding group; yields the ops to visit again."""
        self.set(value, new)
        yield from op_graph.dependents(self.graph, value)
        if kind.boundary is not None and value[0] == key:
            new = before_edge(kind.boundary, new)
        for holder, member in self.groups.get(value, ()):
            self.set(holder, new)
            yield from op_graph.dependents(self.graph, member)

    def set(self, value: ValueKey, new: TensorSharding) -> None:
        """Sets a sharding; with the first one of an op, its other results get open ones."""
        siblings = self.nodes[value[0]].values if self.shardings[value] is None else ()
        for number, other in enumerate(siblings):
            if other.holder == (key := (value[0], number)) and self.shardings[key] is None:
                self.shardings[key] = TensorSharding.fully_open(new.mesh, len(other.shape or ()))
        self.shardings[value] = new

    def join_returned(self, strategy: str) -> None:
        """Propagates between each value that the main function returns and the function's result, once."""
        for key, node in self.nodes.items():
            if node.kind == "result" and node.step is not None:
                for value, new in [*self.step(key, node.step, OP_PRIORITIES[-1], strategy)]:
                    _ = [*self.assign(value, new, node.step, key)]


def direction(step: StepKind, factor: int, level: int) -> Direction:
    """The direction in which axes may propagate along a factor: what this level and those before allow."""
    if step.is_barrier:
        return Direction(step.barrier_direction)
    if step.rule is None or step.rule.factors[factor].is_blocked:
        return Direction.NONE
    passing = {Role.PASS_THROUGH: Direction.BOTH, Role.SLICE: Direction.FORWARD}.get(
        step.role, Direction.NONE
    )
    unbroadcast = Direction.BACKWARD if step.role is Role.BROADCAST else Direction.BOTH
    levels = (
        Direction.NONE if step.has_shared_operand else passing,  # whose operands no other op wants otherwise
        passing,
        unbroadcast if step.rule.factors[factor].type is FactorType.PASS_THROUGH else Direction.NONE,
        unbroadcast,  # small tensors do not decide for large ones
        Direction.BOTH,
    )
    return Direction(levels[level] | (direction(step, factor, level - 1) if level else Direction.NONE))


def basic(projection: Projection, options: axes_of.StepOptions, mesh: Mesh) -> Projection:
    """Expands, factor by factor, the axes on which all tensors agree and that all can take."""
    for factor, way in enumerate(options.directions):
        axes = axes_of.compatible_axes(projection, factor, way)
        for tensor in projection.tensors:
            axes = fitting(tensor, factor, axes, options, mesh)
        projection = projection.expanded(factor, axes)
    return projection


def aggressive(projection: Projection, options: axes_of.StepOptions, mesh: Mesh) -> Projection:
    """Expands axes tensor by tensor, results first; of those that compete, the preferred factor wins."""
    ways = enumerate(options.directions)
    wanted = {
        factor: axes for factor, way in ways if (axes := axes_of.compatible_axes(projection, factor, way))
    }
    order = sorted(wanted, key=lambda factor: preference(projection, factor, wanted[factor], options, mesh))
    results, operands = list(projection.results), list(projection.operands)
    for tensors in (results, operands):
        for number, factor in [(number, factor) for number in range(len(tensors)) for factor in order]:
            axes = fitting(tensors[number], factor, wanted[factor], options, mesh)
            for result in results if tensors is operands and options.is_elementwise else ():
                along = result.factors[factor]
                if along is not None and is_strict_prefix(along.axes, axes):
                    axes = along.axes  # no more than the results could take
            tensors[number] = tensors[number].expanded(factor, axes)
    return Projection((*operands, *results), projection.operand_count)


def preference(
    projection: Projection, factor: int, axes: Axes, options: axes_of.StepOptions, mesh: Mesh
) -> tuple[int, int, int, int]:
    """Sorts those factors first whose axes come from the largest tensor, or from the first one so large."""
    sources = [(-1, 1)]
    for number, tensor in enumerate(projection.tensors):
        along = tensor.factors[factor]
        if along is not None and prefix_status(axes, along.axes) is not Prefix.NONE:
            own = zip(options.factor_sizes, tensor.factors, strict=True)
            sources.append((prod(size for size, part in own if part is not None), -number))
    size, place = max(sources)
    return -size, -total_size(axes, mesh) if options.is_elementwise else 0, -place, factor


def fitting(
    tensor: TensorProjection, factor: int, axes: Axes, options: axes_of.StepOptions, mesh: Mesh
) -> Axes:
    """The first of `axes` that a tensor can have along a factor, beside those of its other factors."""
    along, size = tensor.factors[factor], options.factor_sizes[factor]

    def keep(axis: AxisRef, parts: int) -> AxisRef | None:
        part = axes_of.prefix_across_factors(axis, tensor, factor)
        if part is None or along is None:
            return part
        return axes_of.prefix_within_factor(part, tensor, along, parts, size, mesh)

    return axes_of.truncate(axes, keep, mesh, conservative_propagation=options.conservative_propagation)
