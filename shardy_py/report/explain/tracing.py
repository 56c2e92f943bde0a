"""Following an axis back through the record: from a value to what the user wrote.

An axis is at a spot (a value or function result, at a time among the events of the record), or in a slot of
one propagation (at a time among the entries of its journal). `Tracer.causes` says where it was just before;
what has no cause is a root: something that the user wrote.

Not here: names and text; reading the journal (`propagation/arrivals.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from shardy_py.graph.holders import Holder, Place
from shardy_py.graph.movements import Copies, Movement, Spot
from shardy_py.graph.run_record import Propagation, Record
from shardy_py.ir import operands_of
from shardy_py.propagation.arrivals import Arrival, Source
from shardy_py.report.explain.demands import demanders
from shardy_py.sharding import AxisRef, Mesh, TensorSharding

Key = tuple[int, int]
"""What tells spots apart: the identity of a value and -1, or that of a function and the index of a result."""


def key_of(spot: Spot) -> Key:
    """The key of a spot."""
    return (id(spot.op), spot.position) if isinstance(spot, Holder) else (id(spot), -1)


@dataclass(frozen=True, slots=True, eq=False)
class AtSpot:
    """An axis on a dimension of a spot, before event number `time` of the record."""

    spot: Spot
    time: int
    dimension: int
    axis: AxisRef

    @property
    def key(self) -> tuple[object, ...]:
        """What tells states apart."""
        return (key_of(self.spot), self.time, self.dimension, self.axis)


@dataclass(frozen=True, slots=True, eq=False)
class InSlot:
    """An axis on a dimension of a slot of the propagation that is event `event`, before its entry `entry`."""

    event: int
    slot: int
    entry: int
    dimension: int
    axis: AxisRef

    @property
    def key(self) -> tuple[object, ...]:
        """What tells states apart."""
        return (self.event, self.slot, self.dimension, self.axis)


State = AtSpot | InSlot


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """How an axis came to a state: by an arrival in propagation, or by a pass; both None: it is the same.

    state: where it was before.
    """

    state: State
    arrival: Arrival | None = None
    source: Source | None = None
    movement: Movement | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """What the user wrote: the sharding at a spot, or on an op that dictated it.

    sharding: as it stood when it was first seen; None if it was never seen.
    owner: what defines the value at the spot, if that may be gone by now.
    """

    spot: Spot
    dimension: int
    axis: AxisRef
    op: Operation | None = None
    sharding: TensorSharding | None = None
    owner: Operation | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells roots apart."""
        return (id(self.op) if self.op is not None else key_of(self.spot), self.dimension)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """From a root to where the question was asked: states in order, with the cause of each but the first."""

    root: Root
    causes: tuple[tuple[State, Cause], ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What tells roots apart."""
        return self.root.key


class Tracer:
    """Answers from one record."""

    def __init__(self, record: Record) -> None:
        """The record must be complete."""
        self.events = record.events

    @cached_property
    def _movements(self) -> dict[Key, list[int]]:
        found: dict[Key, list[int]] = {}
        for index, event in enumerate(self.events):
            if isinstance(event, Movement):
                found.setdefault(key_of(event.target), []).append(index)
            elif isinstance(event, Copies) and found:
                for value, copy in event.values.items():
                    if value is not copy and (moved := found.get(key_of(value))):
                        found.setdefault(key_of(copy), []).extend(moved)
        return found

    @cached_property
    def propagations(self) -> tuple[tuple[int, Propagation], ...]:
        """The propagations with their numbers among the events, the last one first."""
        pairs = ((i, event) for i, event in enumerate(self.events) if isinstance(event, Propagation))
        return tuple(reversed([*pairs]))

    def slot_of(self, spot: Spot, propagation: Propagation) -> int | None:
        """The slot of a spot in a propagation."""
        if isinstance(spot, Holder):
            slots = propagation.program.function_results.get(id(spot.op), ())
            return slots[spot.position] if spot.position < len(slots) else None
        return propagation.program.slot_of.get(id(spot)) or None

    def latest(self, spot: Spot, time: int) -> tuple[int, Movement | Propagation, int] | None:
        """The last event before `time` that says something of a spot; with its slot in a propagation."""
        moved = max((i for i in self._movements.get(key_of(spot), ()) if i < time), default=-1)
        for index, propagation in self.propagations:
            if moved < index < time and (slot := self.slot_of(spot, propagation)) is not None:
                return index, propagation, slot
        if moved < 0:
            return None
        movement = self.events[moved]
        assert isinstance(movement, Movement)
        return moved, movement, 0

    def sharding_at(self, spot: Spot, time: int) -> TensorSharding | None:
        """The sharding of a spot before event number `time`, as far as the record knows."""
        while (found := self.latest(spot, time)) is not None:
            time, event, slot = found
            if isinstance(event, Propagation):
                return event.journal.sharding(slot)
            if event.new is not None:
                return event.new
            spot = event.source
        return None

    def taker(self, spot: Spot, dimension: int, axis: AxisRef) -> str:
        """The last pass that changed a spot's sharding while that had an axis; "" if none did."""
        for index in reversed(self._movements.get(key_of(spot), ())):
            event = self.events[index]
            if isinstance(event, Movement) and overlapping(event.old, dimension, axis):
                return event.pass_name
        return ""

    def paths(self, spot: Spot, dimension: int, axis: AxisRef) -> Iterator[Path]:
        """All ways along which the axis came, shortest first, one a root."""
        return self.paths_from(AtSpot(spot, len(self.events), dimension, axis))

    def paths_from(self, start: State) -> Iterator[Path]:
        """All ways along which an axis came to a state, shortest first, one a root."""
        parents: dict[tuple[object, ...], tuple[State, Cause] | None] = {start.key: None}
        waiting: deque[State] = deque([start])
        seen: set[tuple[object, ...]] = set()
        while waiting:
            state = waiting.popleft()
            for cause in self.causes(state):
                if isinstance(cause, Root):
                    if cause.key not in seen:
                        seen.add(cause.key)
                        way = _way(state, parents)
                        yield Path(self._as_written(cause, way), way)
                elif cause.state.key not in parents:
                    parents[cause.state.key] = (state, cause)
                    same = cause.arrival is None and cause.movement is None
                    (waiting.appendleft if same else waiting.append)(cause.state)

    def _as_written(self, root: Root, way: tuple[tuple[State, Cause], ...]) -> Root:
        """A root with its sharding: passes before propagation copy that as it is."""
        for state, cause in way if root.sharding is None else ():
            if isinstance(state, InSlot):
                propagation = self.events[state.event]
                assert isinstance(propagation, Propagation)
                return replace(root, sharding=propagation.journal.first_sharding(state.slot))
            if cause.movement is not None and cause.movement.new is not None:
                break
        return root

    def origin(self, event: int, slot: int) -> Root | None:
        """What gave a slot of the propagation that is event `event` its first sharding."""
        propagation = self.events[event]
        assert isinstance(propagation, Propagation)
        spots = spots_of(propagation, slot)
        for spot in spots:
            time = event
            while (found := self.latest(spot, time)) is not None:
                time, moved, _ = found
                if isinstance(moved, Propagation):
                    break
                if moved.is_dictated:
                    return Root(spot, 0, AxisRef(""), moved.op, moved.new)
                spot = moved.source
            if time < event:
                return Root(spot, 0, AxisRef(""))
        return Root(spots[-1], 0, AxisRef(""), None, propagation.journal.first_sharding(slot))

    def causes(self, state: State) -> Iterator[Cause | Root]:
        """Where the axis of a state was just before; or that it was there from the start."""
        if isinstance(state, AtSpot):
            yield from self._causes_at_spot(state)
        else:
            yield from self._causes_in_slot(state)

    def _causes_at_spot(self, state: AtSpot) -> Iterator[Cause | Root]:
        spot, dimension, axis = state.spot, state.dimension, state.axis
        found = self.latest(spot, state.time)
        if found is None:
            yield Root(spot, dimension, axis)
            return
        index, event, slot = found
        if isinstance(event, Propagation):
            yield Cause(InSlot(index, slot, len(event.journal.entries), dimension, axis))
        elif event.source is not event.target and event.new is None:
            yield Cause(AtSpot(event.source, index, dimension, axis), movement=event)
        elif event.is_dictated:
            yield Root(spot, dimension, axis, event.op, event.new)
        else:
            old = event.old if event.source is event.target else self.sharding_at(event.source, index)
            before = overlapping(old, dimension, axis)
            for found_axis in before:
                same = found_axis == axis and event.source is event.target
                at = AtSpot(event.source, index, dimension, found_axis)
                yield Cause(at, movement=None if same else event)
            if not before:
                yield from self._demands(event, index, dimension, axis)

    def _demands(self, event: Movement, index: int, dimension: int, axis: AxisRef) -> Iterator[Cause]:
        """Where an axis came from that a pass put on a value for the sake of an op."""
        op = event.op
        if op is None:
            return
        values = tuple(self._without_reshards(value, op) for value in (*operands_of(op), *op.results))
        made = self._without_reshards(event.target, op) if isinstance(event.target, SSAValue) else None
        position = event.index
        if position < 0:
            position = next((i for i, value in enumerate(values) if value is made), 0)

        def sharding_of(value: Spot) -> TensorSharding | None:
            return self.sharding_at(value, index)

        meshes: Mapping[str, Mesh] = self.propagations[0][1].journal.meshes if self.propagations else {}
        for spot, at in demanders(op, position, dimension, axis, values, sharding_of, meshes):
            yield Cause(AtSpot(spot, index, at, axis), movement=event)

    def _without_reshards(self, value: SSAValue, op: Operation) -> SSAValue:
        """What stood in the place of `value` before passes put reshards beside `op`."""
        while (found := self.latest(value, len(self.events))) is not None:
            event = found[1]
            if not isinstance(event, Movement) or event.op is not op or event.source is event.target:
                break
            if event.new is None or not isinstance(event.source, SSAValue):
                break
            value = event.source
        return value

    def _causes_in_slot(self, state: InSlot) -> Iterator[Cause | Root]:
        propagation = self.events[state.event]
        assert isinstance(propagation, Propagation)
        boundary = propagation.boundaries.get(state.slot)
        if boundary is not None and state.axis.name in boundary.manual_axes:
            spot = spots_of(propagation, state.slot)[-1]
            owner = propagation.edge_values[id(spot)][1]
            yield Root(spot, state.dimension, state.axis, None, boundary.outer, owner)
            return
        first = propagation.journal.first_sharding(state.slot)
        given = overlapping(first, state.dimension, state.axis)
        if given:
            yield from self._first_causes(state, propagation, first)
            if any(axis.contains(state.axis) for axis in given):
                return
        for arrival in propagation.arrivals.at(state.slot):
            if arrival.entry >= state.entry or arrival.dimension != state.dimension:
                continue
            axis = state.axis.overlap(arrival.axis)
            if axis is None:
                continue
            # Members of a group follow within the entry in which the first of them changes.
            limit = arrival.entry + (arrival.step is None)
            for source in arrival.sources:
                before = InSlot(state.event, source.slot, limit, source.dimension, axis)
                yield Cause(before, arrival=arrival, source=source)

    def _first_causes(
        self, state: InSlot, propagation: Propagation, first: TensorSharding | None
    ) -> Iterator[Cause | Root]:
        spots = spots_of(propagation, state.slot)
        for spot in spots:
            if self.latest(spot, state.event) is not None:
                yield Cause(AtSpot(spot, state.event, state.dimension, state.axis))
                return
        owner = propagation.edge_values.get(id(spots[-1]), (None, None))[1]
        yield Root(spots[-1], state.dimension, state.axis, None, first, owner)


def spots_of(propagation: Propagation, slot: int) -> tuple[Spot, ...]:
    """What has its sharding in a slot: the value, for an edge its owner too; or the result of a function."""
    program = propagation.program
    value, holder = program.values[slot], program.holders[slot]
    assert holder is not None
    if value is None:
        return (Holder(Place.FUNCTION_RESULT, holder.op, holder.position),)
    owner = propagation.edge_owners.get(slot)
    return (value,) if owner is None else (value, owner)


def overlapping(sharding: TensorSharding | None, dimension: int, axis: AxisRef) -> list[AxisRef]:
    """The axes of a dimension that share parts with `axis`."""
    if sharding is None or dimension >= sharding.rank:
        return []
    return [other for other in sharding.dimensions[dimension].axes if other.overlaps(axis)]


def _way(
    state: State, parents: dict[tuple[object, ...], tuple[State, Cause] | None]
) -> tuple[tuple[State, Cause], ...]:
    """The states from here to where the question was asked, each with its cause."""
    found: list[tuple[State, Cause]] = []
    while (step := parents[state.key]) is not None:
        found.append(step)
        state = step[0]
    return tuple(found)
