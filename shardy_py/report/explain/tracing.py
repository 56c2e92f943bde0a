"""Traces an axis back through the record: from a value to the user's annotation.

A state of an axis is at a spot (a value or function result, at a time among the events of the record), or in
a slot of one propagation (at a time among the entries of its journal). `Tracer.causes` returns the states
before it; a state without any is a root: an annotation of the user. `ways.py` has the nearest roots.

Not here: names and text; reading the journal (`propagation/journal.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.holders import Holder, Place
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import Copies, Movement, Spot
from shardy_py.propagation.graph.run_record import Propagation, Record
from shardy_py.report.explain.demands import requiring_tensors
from shardy_py.report.explain.states import (
    AtSpot,
    InSlot,
    Path,
    Root,
    SpotKey,
    State,
    Transition,
    key_of,
    overlapping,
)
from shardy_py.report.explain.ways import Causes, Node, Way, Ways
from shardy_py.sharding import AxisRef, Mesh, TensorSharding


class Tracer:
    """Traces axes in one complete record."""

    def __init__(self, record: Record) -> None:
        self.events = record.events
        self._numbers: dict[tuple[object, ...], int] = {}
        self._causes: dict[Node, Causes] = {}
        self._ways = Ways(self._known_causes)

    @cached_property
    def _movements(self) -> dict[SpotKey, list[int]]:
        indices: dict[SpotKey, list[int]] = {}
        for index, event in enumerate(self.events):
            if isinstance(event, Movement):
                indices.setdefault(key_of(event.target), []).append(index)
            elif isinstance(event, Copies) and indices:
                for value, copy in event.values.items():
                    if value is not copy and (moved := indices.get(key_of(value))):
                        indices.setdefault(key_of(copy), []).extend(moved)
        return indices

    @cached_property
    def propagations(self) -> tuple[tuple[int, Propagation], ...]:
        """The propagations with their numbers among the events, last one first."""
        pairs = [(i, event) for i, event in enumerate(self.events) if isinstance(event, Propagation)]
        return tuple(reversed(pairs))

    def propagation(self, event: int) -> Propagation:
        """Returns the propagation that is event number `event`."""
        propagation = self.events[event]
        assert isinstance(propagation, Propagation)
        return propagation

    def slot_of(self, spot: Spot, propagation: Propagation) -> int | None:
        """Returns the slot of a spot in a propagation."""
        if isinstance(spot, Holder):
            slots = propagation.program.slots.function_results.get(id(spot.op), ())
            return slots[spot.position] if spot.position < len(slots) else None
        return propagation.program.slots.of.get(id(spot)) or None

    def latest(self, spot: Spot, time: int) -> tuple[int, Movement | Propagation, int] | None:
        """Returns the last event before `time` that concerns a spot, with the slot of the spot in it."""
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
        """Returns the sharding of a spot before event number `time`, None if not recorded."""
        while (movement := self.latest(spot, time)) is not None:
            time, event, slot = movement
            if isinstance(event, Propagation):
                return event.journal.sharding(slot)
            if event.new is not None:
                return event.new
            spot = event.source
        return None

    def removing_pass(self, spot: Spot, dimension: int, axis: AxisRef) -> str:
        """Returns the last pass that changed the sharding of a spot while it had an axis; "" if none did."""
        for index in reversed(self._movements.get(key_of(spot), ())):
            event = self.events[index]
            if isinstance(event, Movement) and overlapping(event.old, dimension, axis):
                return event.pass_name
        return ""

    def paths(self, spot: Spot, dimension: int, axis: AxisRef) -> Iterator[Path]:
        """Returns the paths of an axis of the final program, shortest first, one a root."""
        return self.paths_from(AtSpot(spot, len(self.events), dimension, axis))

    def paths_from(self, start: State) -> Iterator[Path]:
        """Returns the paths of an axis to a state, shortest first, one a root."""
        return map(self._path, self._ways.to(self._node(start), start))

    def nearest(self, spot: Spot, dimension: int, axis: AxisRef) -> Path | None:
        """Returns the first of the `paths` of an axis; None if there is none."""
        start = AtSpot(spot, len(self.events), dimension, axis)
        way = self._ways.nearest(self._node(start), start)
        return None if way is None else self._path(way)

    def _path(self, way: Way) -> Path:
        transitions = way.transitions
        return Path(self._with_sharding(way.root, transitions), transitions)

    def _with_sharding(self, root: Root, way: tuple[tuple[State, Transition], ...]) -> Root:
        """Returns a root with its sharding: passes before propagation copy it unchanged."""
        for state, transition in way if root.sharding is None else ():
            if isinstance(state, InSlot):
                journal = self.propagation(state.event).journal
                return replace(root, sharding=journal.first_sharding(state.slot))
            if transition.movement is not None and transition.movement.new is not None:
                break
        return root

    def origin(self, event: int, slot: int) -> Root | None:
        """Returns the root of the first sharding of a slot in the propagation that is event `event`."""
        propagation = self.propagation(event)
        spots = spots_of(propagation, slot)
        for spot in spots:
            time = event
            while (movement := self.latest(spot, time)) is not None:
                time, moved, _ = movement
                if isinstance(moved, Propagation):
                    break
                if moved.is_dictated:
                    return Root(spot, 0, AxisRef(""), moved.op, moved.new)
                spot = moved.source
            if time < event:
                return Root(spot, 0, AxisRef(""))
        return Root(spots[-1], 0, AxisRef(""), None, propagation.journal.first_sharding(slot))

    def causes(self, state: State) -> Iterator[Transition | Root]:
        """Returns the moves that led to a state; a root for a state that the user's annotation gives."""
        return (cause for _, cause in self._known_causes(self._node(state), state))

    def _node(self, state: State) -> Node:
        number = self._numbers.setdefault(state.key, len(self._numbers))
        return number, state.entry if isinstance(state, InSlot) else 0

    def _known_causes(self, node: Node, state: State) -> Causes:
        """Returns the causes of a state, each with the node of the state before; a root with its own."""
        known = self._causes.get(node)
        if known is None:
            found = self._causes_at_spot(state) if isinstance(state, AtSpot) else self._causes_in_slot(state)
            pairs = (
                (node if isinstance(cause, Root) else self._node(cause.before), cause) for cause in found
            )
            known = self._causes[node] = tuple(pairs)
        return known

    def _causes_at_spot(self, state: AtSpot) -> Iterator[Transition | Root]:
        spot, dimension, axis = state.spot, state.dimension, state.axis
        movement = self.latest(spot, state.time)
        if movement is None:
            yield Root(spot, dimension, axis)
            return
        index, event, slot = movement
        if isinstance(event, Propagation):
            yield Transition(InSlot(index, slot, len(event.journal.entries), dimension, axis))
        elif event.source is not event.target and event.new is None:
            yield Transition(AtSpot(event.source, index, dimension, axis), movement=event)
        elif event.is_dictated:
            yield Root(spot, dimension, axis, event.op, event.new)
        else:
            old = event.old if event.source is event.target else self.sharding_at(event.source, index)
            before = overlapping(old, dimension, axis)
            for found_axis in before:
                same = found_axis == axis and event.source is event.target
                at = AtSpot(event.source, index, dimension, found_axis)
                yield Transition(at, movement=None if same else event)
            if not before:
                yield from self._demands(event, index, dimension, axis)

    def _demands(self, event: Movement, index: int, dimension: int, axis: AxisRef) -> Iterator[Transition]:
        """Returns the moves of an axis that a pass added to a value because an op requires it."""
        op = event.op
        if op is None:
            return
        values = tuple(self._without_reshards(value, op) for value in (*operands_of(op), *op.results))
        position = event.index
        if position < 0:
            target = self._without_reshards(event.target, op) if isinstance(event.target, SSAValue) else None
            position = next((i for i, value in enumerate(values) if value is target), 0)
        shardings = tuple(self.sharding_at(value, index) for value in values)
        meshes: Mapping[str, Mesh] = self.propagations[0][1].journal.meshes if self.propagations else {}
        for spot, at in requiring_tensors(op, position, dimension, axis, values, shardings, meshes):
            yield Transition(AtSpot(spot, index, at, axis), movement=event)

    def _without_reshards(self, value: SSAValue, op: Operation) -> SSAValue:
        """Returns the value in the place of `value` before passes inserted reshards beside `op`."""
        while (movement := self.latest(value, len(self.events))) is not None:
            event = movement[1]
            if not isinstance(event, Movement) or event.op is not op or event.source is event.target:
                break
            if event.new is None or not isinstance(event.source, SSAValue):
                break
            value = event.source
        return value

    def _causes_in_slot(self, state: InSlot) -> Iterator[Transition | Root]:
        propagation = self.propagation(state.event)
        spots = spots_of(propagation, state.slot)
        boundary = propagation.boundaries.get(state.slot)
        if boundary is not None and state.axis.name in boundary.manual_axes:
            owner = owner_of(propagation, spots[-1])
            yield Root(spots[-1], state.dimension, state.axis, None, boundary.outer, owner)
            return
        first = propagation.journal.first_sharding(state.slot)
        given = overlapping(first, state.dimension, state.axis)
        if given:
            moved = next((s for s in spots if self.latest(s, state.event) is not None), None)
            if moved is not None:
                yield Transition(AtSpot(moved, state.event, state.dimension, state.axis))
            else:
                owner = owner_of(propagation, spots[-1])
                yield Root(spots[-1], state.dimension, state.axis, None, first, owner)
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
                yield Transition(before, arrival=arrival, source=source)


def spots_of(propagation: Propagation, slot: int) -> tuple[Spot, ...]:
    """Returns the spots of a slot: its value, for an edge its owner too; or the result of a function."""
    program = propagation.program
    value = program.slots.values[slot]
    if value is None:
        holder = program.slots.places[slot]
        return (Holder(Place.FUNCTION_RESULT, holder.op, holder.position),)
    owner = propagation.edge_owners.get(slot)
    return (value,) if owner is None else (value, owner)


def owner_of(propagation: Propagation, spot: Spot) -> Operation | None:
    """Returns the op that defines the target of a data-flow edge; None for other spots."""
    return propagation.edge_values.get(id(spot), (None, None))[1]
