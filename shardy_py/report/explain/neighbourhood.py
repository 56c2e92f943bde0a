"""Dimensions of tensors that share a factor, step by step: the ways along which an axis could arrive.

    for crossing in neighbourhood.walk(slot, dimension, axis): ...      nearest first, up to tensors with it

The journal holds the annotation that propagated first. Others that lead to the same result later change
nothing and leave no entry there; `Agreements` finds them: from the value along factors through tensors that
all have the axis, in the directions in which axes may propagate. Not here: the way that the axis took
(`tracing.py`), why it stops at a crossing (`propagation/stops.py`), names and messages (`why_not.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from shardy_py.graph.run_record import Propagation
from shardy_py.propagation.flat import UNSHARDABLE, Direction
from shardy_py.propagation.journal import FUNCTION_RESULT, Arrival, Source
from shardy_py.report.explain.tracing import AtSpot, InSlot, Path, State, Tracer, Transition, overlapping
from shardy_py.sharding import AxisRef
from shardy_py.sharding.rule import TensorMapping

At = tuple[int, int]
"""A slot and a dimension of it."""
Joint = tuple[int, int, int]
"""A step, a factor of it, and the position of a tensor that has the factor."""
Way = tuple[int, int, int]
"""A dimension with a factor of a step: the position of its tensor, its slot, the dimension."""
_VISITED = 5_000
"""The limit of tensors that `Agreements` visits."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A step between two of its tensors along a factor.

    position, slot, dimension: of the tensor without the axis. source, source_slot, source_dimension: of the
        other tensor, from which the walk goes on.
    """

    step: int
    factor: int
    position: int
    slot: int
    dimension: int
    source: int
    source_slot: int
    source_dimension: int

    @property
    def before(self) -> At:
        """The slot and dimension from which the walk goes on."""
        return self.source_slot, self.source_dimension


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The tensors without an axis that are connected along factors: walks from any of them meet the same.

    reached: the slots and dimensions that crossings lead to. slots: those of `reached`.
    stop_count: the number of crossings to a tensor with the axis.
    """

    reached: tuple[At, ...]
    slots: frozenset[int]
    stop_count: int


class Neighbourhood:
    """Walks a complete propagation along factors; remembers joints, ways and regions."""

    def __init__(self, propagation: Propagation) -> None:
        self.propagation = propagation
        self._regions: dict[tuple[At, AxisRef], Region] = {}
        self._joints: dict[At, tuple[Joint, ...]] = {}
        self._ways: dict[tuple[int, int], tuple[Way, ...]] = {}
        self._known_positions: dict[int, dict[int, list[int]]] = {}
        self._returned: dict[int, list[int]] = {}
        for index, returned in enumerate(propagation.program.flat.returned):
            for slot in (returned.slot, returned.result_slot):
                self._returned.setdefault(slot, []).append(FUNCTION_RESULT - index)

    def has(self, slot: int, dimension: int, axis: AxisRef) -> bool:
        """Whether a dimension of a slot is finally sharded along an axis, or a sub-axis of it."""
        return bool(overlapping(self.propagation.journal.sharding(slot), dimension, axis))

    def walk(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[tuple[Crossing, int]]:
        """Returns crossings by distance, with that, not beyond tensors that have the axis.

        Those are all crossings to tensors with the axis, and one to each other tensor of a step, so that its
        n tensors cost n together. The distance is the number of steps so far, that of the crossing included.
        """
        seen = {(slot, dimension)}
        left: dict[tuple[int, int], Sequence[Way]] = {}
        waiting = deque([(slot, dimension, 0)])
        while waiting:
            slot, dimension, distance = waiting.popleft()
            for member in self.members(slot):
                for crossing in self.crossings((member, dimension), left, axis):
                    at = crossing.before
                    yield crossing, distance + 1
                    if at not in seen and not self.has(*at, axis):
                        seen.add(at)
                        waiting.append((*at, distance + 1))

    def members(self, slot: int) -> tuple[int, ...]:
        """Returns a slot and the others of its sharding group."""
        return (slot, *(other.slot for other in self.propagation.program.flat.other_members(slot)))

    def region(self, slot: int, dimension: int, axis: AxisRef) -> Region:
        """Returns the region around a dimension of a slot."""
        start = (slot, dimension)
        region = self._regions.get((start, axis))
        if region is not None:
            return region
        reached: dict[At, bool] = {}
        stop_count = 0
        for crossing, _ in self.walk(*start, axis):
            at = crossing.before
            if at not in reached:
                reached[at] = self.has(*at, axis)
            stop_count += reached[at]
        region = Region(tuple(reached), frozenset(slot for slot, _ in reached), stop_count)
        is_inside = reached.get(start) is False
        inside = (at for at, has_axis in reached.items() if is_inside and not has_axis)
        self._regions.update(dict.fromkeys(((at, axis) for at in (start, *inside)), region))
        return region

    def crossings(
        self, at: At, left: dict[tuple[int, int], Sequence[Way]], axis: AxisRef | None = None
    ) -> Iterator[Crossing]:
        """Returns the crossings from a dimension of a slot; those to function results come last.

        left: for each step and factor the ways to return; kept from call to call without those returned, but
            with all to tensors that have `axis`.
        """
        for step, factor, position in self.joints(at):
            rest: list[Way] = []
            is_own_left = False
            known = left.get((step, factor))
            for way in self.ways(step, factor) if known is None else known:
                is_own = way[1:] == at
                if not is_own:
                    yield Crossing(step, factor, position, *at, *way)
                if (is_own and not is_own_left) or (axis is not None and self.has(*way[1:], axis)):
                    rest.append(way)
                is_own_left = is_own_left or is_own
            left[step, factor] = rest

    def joints(self, at: At) -> tuple[Joint, ...]:
        """Returns the steps and factors of a dimension; those of function results come last."""
        found = self._joints.get(at)
        if found is None:
            found = self._joints[at] = tuple(self._find_joints(*at))
        return found

    def _find_joints(self, slot: int, dimension: int) -> Iterator[Joint]:
        for step in (*self.propagation.steps_at.get(slot, ()), *self._returned.get(slot, ())):
            rule = self.propagation.arrivals.rule_of(step)
            if rule is not None:
                for position in self._positions(step)[slot]:
                    yield from ((step, factor, position) for factor in rule.tensors[position][dimension])

    def ways(self, step: int, factor: int) -> tuple[Way, ...]:
        """Returns the dimensions with a factor of a step."""
        found = self._ways.get((step, factor))
        if found is None:
            arrivals = self.propagation.arrivals
            rule = arrivals.rule_of(step)
            tensors = () if rule is None else rule.tensors
            found = self._ways[step, factor] = tuple(_ways(arrivals.slots_of(step), tensors, factor))
        return found

    def _positions(self, step: int) -> dict[int, list[int]]:
        """Returns the positions of each slot in a step."""
        known = self._known_positions.get(step)
        if known is None:
            known = self._known_positions[step] = {}
            for position, slot in enumerate(self.propagation.arrivals.slots_of(step)):
                known.setdefault(slot, []).append(position)
        return known


def _ways(slots: Sequence[int], tensors: Sequence[TensorMapping], factor: int) -> Iterator[Way]:
    for position, (slot, dimensions) in enumerate(zip(slots, tensors, strict=True)):
        if slot != UNSHARDABLE:
            for dimension, factors in enumerate(dimensions):
                if factor in factors:
                    yield position, slot, dimension


class Agreements:
    """The agreeing annotations of the propagation that is event number `event` of the tracer's record."""

    def __init__(self, tracer: Tracer, event: int) -> None:
        self._tracer = tracer
        self._event = event
        self._propagation = tracer.propagation(event)
        self._neighbourhood = Neighbourhood(self._propagation)
        self._roots: dict[tuple[At, AxisRef], frozenset[tuple[object, ...]]] = {}
        self._annotated: dict[tuple[At, AxisRef], Path] = {}
        self._agreeing: dict[tuple[int, int, AxisRef], tuple[Way, ...]] = {}
        self._steps: dict[tuple[Crossing, AxisRef], tuple[State, Transition]] = {}

    def paths(
        self, slot: int, dimension: int, axis: AxisRef, used: Container[tuple[object, ...]]
    ) -> Iterator[Path]:
        """Returns a path from each annotation that has `axis` there, nearest first.

        used: the keys of the roots to leave out. No path leads through other annotated tensors.
        """
        start = (slot, dimension)
        left = {key for key in self._connected_roots(start, axis) if key not in used}
        parents: dict[At, Crossing | None] = {start: None}
        crossed: set[tuple[int, int]] = set()
        waiting = deque([start])
        while waiting and left and len(parents) < _VISITED:
            at = waiting.popleft()
            path = self._annotated.get((at, axis))
            if path is not None and path.root.key not in used:
                yield Path(path.root, (*path.transitions, *self._transitions(at, parents, axis)))
                left.discard(path.root.key)
                continue
            for step, factor, position in self._neighbourhood.joints(at):
                if (step, factor) in crossed:
                    continue
                crossed.add((step, factor))
                for way in self._agreeing_ways(step, factor, axis):
                    if way[1:] not in parents:
                        parents[way[1:]] = Crossing(step, factor, position, *at, *way)
                        waiting.append(way[1:])

    def _connected_roots(self, start: At, axis: AxisRef) -> frozenset[tuple[object, ...]]:
        """Returns the annotations with the axis that any crossings connect with a dimension of a slot.

        Finds the paths to them, and the same for all tensors in between.
        """
        if (start, axis) in self._roots:
            return self._roots[start, axis]
        found = {start}
        left: dict[tuple[int, int], Sequence[Way]] = {}
        keys: set[tuple[object, ...]] = set()
        waiting = deque(found)
        while waiting:
            at = waiting.popleft()
            if overlapping(self._propagation.journal.first_sharding(at[0]), at[1], axis):
                path = next(self._tracer.paths_from(InSlot(self._event, at[0], 0, at[1], axis)), None)
                if path is not None:
                    self._annotated[at, axis] = path
                    keys.add(path.root.key)
            for crossing in self._neighbourhood.crossings(at, left):
                if crossing.before not in found and self._neighbourhood.has(*crossing.before, axis):
                    found.add(crossing.before)
                    waiting.append(crossing.before)
        self._roots.update(dict.fromkeys(((at, axis) for at in found), frozenset(keys)))
        return self._roots[start, axis]

    def _agreeing_ways(self, step: int, factor: int, axis: AxisRef) -> tuple[Way, ...]:
        """Returns the ways to tensors that have the axis, and may propagate it."""
        found = self._agreeing.get((step, factor, axis))
        if found is None:
            ways = self._neighbourhood.ways(step, factor)
            agreeing = (way for way in ways if self._agrees(step, factor, way, axis))
            found = self._agreeing[step, factor, axis] = tuple(agreeing)
        return found

    def _agrees(self, step: int, factor: int, way: Way, axis: AxisRef) -> bool:
        """Whether the tensor of a way has the axis, and may propagate it."""
        source, slot, dimension = way
        if not self._neighbourhood.has(slot, dimension, axis):
            return False
        if step <= FUNCTION_RESULT:
            return True
        journal = self._propagation.journal
        table = journal.stages[-1].tables[journal.kinds[step]] if journal.stages else None
        if table is None:
            return False
        is_operand = source < len(table.step.rule.operands)
        direction = table.step.options.directions[factor]
        return bool(direction & (Direction.FORWARD if is_operand else Direction.BACKWARD))

    def _transitions(
        self, at: At, parents: dict[At, Crossing | None], axis: AxisRef
    ) -> Iterator[tuple[State, Transition]]:
        while (crossing := parents[at]) is not None:
            step = self._steps.get((crossing, axis))
            if step is None:
                step = self._steps[crossing, axis] = self._step(crossing, axis)
            yield step
            at = (crossing.slot, crossing.dimension)

    def _step(self, crossing: Crossing, axis: AxisRef) -> tuple[State, Transition]:
        source = Source(crossing.source, crossing.source_slot, crossing.source_dimension)
        arrival = Arrival(
            *(len(self._propagation.journal.entries), crossing.slot, crossing.dimension, axis),
            *(crossing.step, crossing.position, crossing.factor, (source,)),
        )
        state = InSlot(self._event, crossing.slot, arrival.entry, crossing.dimension, axis)
        before = InSlot(self._event, crossing.source_slot, 0, crossing.source_dimension, axis)
        return state, Transition(before, arrival=arrival, source=source)


def slot_at_end(tracer: Tracer, state: AtSpot) -> tuple[InSlot, tuple[tuple[State, Transition], ...]] | None:
    """Returns where an axis was at the end of the last propagation, and the way from there, if anywhere."""
    current: State = state
    way: list[tuple[State, Transition]] = []
    for _ in range(len(tracer.events) + 1):
        transition = next((c for c in tracer.causes(current) if isinstance(c, Transition)), None)
        if transition is None:
            return None
        way.insert(0, (current, transition))
        current = transition.before
        if isinstance(current, InSlot):
            return current, tuple(way)
    return None
