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

Way = tuple[int, int, int]
"""A dimension with a factor of a step: the position of its tensor, its slot, the dimension."""
_VISITED = 5_000
"""The limit of tensors that `Agreements` visits."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A step between two of its tensors along a factor.

    position, slot, dimension: of the tensor without the axis. source, source_slot, source_dimension: of the
        other tensor, from which the walk goes on.
    distance: the number of steps so far, this one included.
    """

    step: int
    factor: int
    position: int
    slot: int
    dimension: int
    source: int
    source_slot: int
    source_dimension: int
    distance: int


class Neighbourhood:
    """Walks a complete propagation along factors."""

    def __init__(self, propagation: Propagation) -> None:
        self.propagation = propagation
        self._returned: dict[int, list[int]] = {}
        self._known_positions: dict[int, dict[int, list[int]]] = {}
        for index, returned in enumerate(propagation.program.flat.returned):
            for slot in (returned.slot, returned.result_slot):
                self._returned.setdefault(slot, []).append(FUNCTION_RESULT - index)

    def has(self, slot: int, dimension: int, axis: AxisRef) -> bool:
        """Whether a dimension of a slot is finally sharded along an axis, or a sub-axis of it."""
        return bool(overlapping(self.propagation.journal.sharding(slot), dimension, axis))

    def walk(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[Crossing]:
        """Returns all crossings by distance, not beyond tensors that have the axis."""
        flat = self.propagation.program.flat
        seen = {(slot, dimension)}
        waiting = deque([(slot, dimension, 0)])
        while waiting:
            slot, dimension, distance = waiting.popleft()
            for member in (slot, *(other.slot for other in flat.other_members(slot))):
                for crossing in self.crossings(member, dimension, distance + 1):
                    at = (crossing.source_slot, crossing.source_dimension)
                    yield crossing
                    if at not in seen and not self.has(*at, axis):
                        seen.add(at)
                        waiting.append((*at, distance + 1))

    def crossings(
        self,
        slot: int,
        dimension: int,
        distance: int,
        ways: dict[tuple[int, int], list[Way]] | None = None,
        reached: Container[tuple[int, int]] = (),
    ) -> Iterator[Crossing]:
        """Returns the crossings from a dimension of a slot; those to function results come last.

        ways: kept from call to call, so that a step with n tensors costs n for all of them together; those to
            dimensions that are `reached` are removed.
        """
        arrivals = self.propagation.arrivals
        ways = {} if ways is None else ways
        for step in (*self.propagation.steps_at.get(slot, ()), *self._returned.get(slot, ())):
            rule = arrivals.rule_of(step)
            if rule is None:
                continue
            slots = arrivals.slots_of(step)
            tensors = rule.tensors
            for position in self._positions(step)[slot]:
                for factor in tensors[position][dimension]:
                    known = ways.get((step, factor))
                    if known is None:
                        known = list(_ways(slots, tensors, factor))
                    ways[step, factor] = [way for way in known if way[1:] not in reached]
                    for source, other, at in ways[step, factor]:
                        if source != position and (other, at) != (slot, dimension):
                            yield Crossing(
                                *(step, factor, position, slot, dimension, source, other, at, distance)
                            )

    def _positions(self, step: int) -> dict[int, list[int]]:
        """Returns the positions of each slot in a step."""
        known = self._known_positions.get(step)
        if known is None:
            known = self._known_positions[step] = {}
            for position, slot in enumerate(self.propagation.arrivals.slots_of(step)):
                known.setdefault(slot, []).append(position)
        return known


def _ways(slots: Sequence[int], tensors: Sequence[TensorMapping], factor: int) -> Iterator[Way]:
    """Returns the dimensions with a factor."""
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

    def paths(
        self, slot: int, dimension: int, axis: AxisRef, used: Container[tuple[object, ...]]
    ) -> Iterator[Path]:
        """Returns a path from each annotation that has `axis` there, nearest first.

        known: the keys of the roots to leave out. No path leads through other annotated tensors.
        """
        parents: dict[tuple[int, int], Crossing | None] = {(slot, dimension): None}
        ways: dict[tuple[int, int], list[Way]] = {}
        waiting = deque([(slot, dimension)])
        while waiting and len(parents) < _VISITED:
            at = waiting.popleft()
            if overlapping(self._propagation.journal.first_sharding(at[0]), at[1], axis):
                start = InSlot(self._event, at[0], 0, at[1], axis)
                path = next(self._tracer.paths_from(start), None)
                if path is not None and path.root.key not in used:
                    yield Path(path.root, (*path.transitions, *self._transitions(at, parents, axis)))
                    continue
            for crossing in self._neighbourhood.crossings(*at, 0, ways, parents):
                before = (crossing.source_slot, crossing.source_dimension)
                if before not in parents and self._agrees(crossing, axis):
                    parents[before] = crossing
                    waiting.append(before)

    def _agrees(self, crossing: Crossing, axis: AxisRef) -> bool:
        """Whether the source of a crossing has the axis, and may propagate it."""
        if not self._neighbourhood.has(crossing.source_slot, crossing.source_dimension, axis):
            return False
        if crossing.step <= FUNCTION_RESULT:
            return True
        journal = self._propagation.journal
        table = journal.stages[-1].tables[journal.kinds[crossing.step]] if journal.stages else None
        if table is None:
            return False
        is_operand = crossing.source < len(table.step.rule.operands)
        direction = table.step.options.directions[crossing.factor]
        return bool(direction & (Direction.FORWARD if is_operand else Direction.BACKWARD))

    def _transitions(
        self, at: tuple[int, int], parents: dict[tuple[int, int], Crossing | None], axis: AxisRef
    ) -> Iterator[tuple[State, Transition]]:
        while (crossing := parents[at]) is not None:
            source = Source(crossing.source, crossing.source_slot, crossing.source_dimension)
            arrival = Arrival(
                *(len(self._propagation.journal.entries), crossing.slot, crossing.dimension, axis),
                *(crossing.step, crossing.position, crossing.factor, (source,)),
            )
            state = InSlot(self._event, crossing.slot, arrival.entry, crossing.dimension, axis)
            before = InSlot(self._event, crossing.source_slot, 0, crossing.source_dimension, axis)
            yield state, Transition(before, arrival=arrival, source=source)
            at = (crossing.slot, crossing.dimension)


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
