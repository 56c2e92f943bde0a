"""Dimensions of tensors that share a factor, step by step: the ways along which an axis could arrive.

    for crossing in neighbourhood.walk(slot, dimension, axis): ...      nearest first, up to tensors with it

Not here: the way that the axis took (`tracing.py`), annotations that agree (`agreements.py`), why the axis
stops at a crossing (`propagation/stops.py`), names and messages (`why_not.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.states import overlapping
from shardy_py.sharding import AxisRef, ShardingRule

At = tuple[int, int]
"""A slot and a dimension of it."""
Joint = tuple[int, int, int]
"""A step, a factor of it, and the position of a tensor that has the factor."""
Way = tuple[int, int, int]
"""A dimension with a factor of a step: the position of its tensor, its slot, the dimension."""

_FEW_TENSORS = 8
"""Up to so many tensors of a step are searched for a slot, rather than their positions remembered."""


class Crossing(NamedTuple):
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


@dataclass(frozen=True, slots=True, eq=False)
class _Component:
    """The tensors that are connected along factors, whatever axes they have.

    numbers: the sharding numbers of theirs in the journal, each with the dimension.
    """

    reached: tuple[At, ...]
    slots: frozenset[int]
    numbers: frozenset[tuple[int, int]]


class _Mapping:
    """The places of a rule's factors, for all its steps: by factor, positions and dimensions."""

    def __init__(self, rule: ShardingRule) -> None:
        self.rule = rule  # keeps its identity
        self.tensors = rule.tensors
        self.factors: list[list[Iterable[int]]] = [
            [factors if len(factors) < 2 else {*factors} for factors in dimensions]
            for dimensions in self.tensors
        ]
        """By position and dimension, its factors, each once."""
        self.places: dict[int, list[At]] = {}
        for position, dimensions in enumerate(self.tensors):
            for dimension, factors in enumerate(dimensions):
                for factor in dict.fromkeys(factors):
                    self.places.setdefault(factor, []).append((position, dimension))


class Neighbourhood:
    """Walks a complete propagation along factors; remembers joints, ways and regions."""

    def __init__(self, propagation: Propagation) -> None:
        self.propagation = propagation
        self._mappings: dict[int, _Mapping] = {}
        self._components: dict[At, _Component] = {}
        self._crossing: dict[int, tuple[tuple[int, ...], _Mapping] | None] = {}
        self._regions: dict[tuple[At, AxisRef], Region] = {}
        self._joints: dict[At, tuple[Joint, ...]] = {}
        self._ways: dict[tuple[int, int], tuple[Way, ...]] = {}
        self._known_ats: dict[tuple[int, int], Sequence[At]] = {}
        self._known_positions: dict[int, dict[int, list[int]]] = {}
        self._has: dict[AxisRef, dict[At, bool]] = {}
        self._last: tuple[AxisRef, dict[At, bool]] | None = None
        self._returned: dict[int, list[int]] = {}
        for index, returned in enumerate(propagation.program.flat.returned):
            for slot in (returned.slot, returned.result_slot):
                self._returned.setdefault(slot, []).append(FUNCTION_RESULT - index)

    def has(self, slot: int, dimension: int, axis: AxisRef) -> bool:
        """Returns whether a dimension of a slot is finally sharded along an axis, or a sub-axis of it."""
        known = self._of_axis(axis)
        found = known.get((slot, dimension))
        if found is None:
            found = bool(overlapping(self.propagation.journal.sharding(slot), dimension, axis))
            known[slot, dimension] = found
        return found

    def _of_axis(self, axis: AxisRef) -> dict[At, bool]:
        """Returns what is known of an axis; that of the last one without computing its hash."""
        if self._last is None or self._last[0] is not axis:
            self._last = axis, self._has.setdefault(axis, {})
        return self._last[1]

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
        component = self._component(start)
        values = self.propagation.journal.values
        if not any(overlapping(values[number], at, axis) for number, at in component.numbers):
            region = self._regions[start, axis] = Region(component.reached, component.slots, 0)
            return region
        reached, stop_count = self._reached(start, axis)
        region = Region(tuple(reached), frozenset(slot for slot, _ in reached), stop_count)
        is_inside = reached.get(start) is False
        inside = (at for at, has_axis in reached.items() if is_inside and not has_axis)
        self._regions.update(dict.fromkeys(((at, axis) for at in (start, *inside)), region))
        return region

    def _component(self, start: At) -> _Component:
        """Returns the tensors that walks from a dimension of a slot reach, were there no axes."""
        known = self._components.get(start)
        if known is not None:
            return known
        reached: dict[At, None] = {}
        crossed = set[tuple[int, int]]()
        """The steps that were crossed, each with a factor."""
        steps_of, factors_at = self._steps, self._factors_at
        known_crossing, crossing_of = self._crossing, self._crossing_of
        members_of = self.members if self.propagation.program.flat.groups else None
        seen, waiting = {start}, [start]
        grouped = set[At]()
        """The dimensions of members of groups, whose steps were crossed together."""
        while waiting:
            slot, dimension = waiting.pop()
            if (slot, dimension) in grouped:
                continue
            members = (slot,)
            if members_of is not None:
                members = members_of(slot)
                grouped.update((member, dimension) for member in members)
            for member in members:
                for step in steps_of(member):
                    crossing = known_crossing[step] if step in known_crossing else crossing_of(step)
                    if crossing is None:
                        continue
                    slots, mapping = crossing
                    if len(slots) <= _FEW_TENSORS and slots.count(member) == 1:  # nearly all
                        factors: Iterable[int] = mapping.factors[slots.index(member)][dimension]
                    else:
                        factors = factors_at(step, slots, mapping, member, dimension)
                    for factor in factors:
                        if (step, factor) in crossed:
                            continue
                        crossed.add((step, factor))
                        found = [(slots[position], at) for position, at in mapping.places[factor]]
                        if UNSHARDABLE in slots:
                            found = [at for at in found if at[0] != UNSHARDABLE]
                        new = [at for at in found if at not in seen]
                        if len(new) > 1:  # each once: where the last one is, from which the walk goes on
                            new = [*dict.fromkeys(new[::-1])][::-1]
                        # Several places may be one dimension of one slot.
                        if len(found) > 1 and (found[0] != found[1] or len({*found}) > 1):
                            for at in found:
                                reached[at] = None
                        if new:
                            waiting += new
                            seen.update(new)
        numbers = self.propagation.journal.end_numbers
        component = _Component(
            tuple(reached),
            frozenset([slot for slot, _ in reached]),
            frozenset([(numbers[slot], dimension) for slot, dimension in (start, *reached)]),
        )
        self._components.update(dict.fromkeys((start, *reached), component))
        return component

    def _factors_at(
        self, step: int, slots: Sequence[int], mapping: _Mapping, member: int, dimension: int
    ) -> Iterable[int]:
        """The factors of a dimension of a slot in a step, each once."""
        tensors = mapping.tensors
        if len(slots) > _FEW_TENSORS:
            return {f for position in self._positions(step)[member] for f in tensors[position][dimension]}
        if slots.count(member) == 1:
            return mapping.factors[slots.index(member)][dimension]
        return {f for i, slot in enumerate(slots) if slot == member for f in tensors[i][dimension]}

    def _crossing_of(self, step: int) -> tuple[tuple[int, ...], _Mapping] | None:
        """The slots of a step and the places of its factors; None without a rule."""
        try:
            return self._crossing[step]
        except KeyError:
            mapping = self._mapping(step)
            known = None if mapping is None else (self.propagation.arrivals.slots_of(step), mapping)
            self._crossing[step] = known
            return known

    def _reached(self, start: At, axis: AxisRef) -> tuple[dict[At, bool], int]:
        """The slots that `walk` crosses to, with whether each has the axis, and the crossings to those.

        As `walk`, without making crossings: a region may be the whole program.
        """
        reached: dict[At, bool] = {}
        left: dict[tuple[int, int], Sequence[At]] = {}
        stop_count = 0
        seen, waiting = {start}, deque([start])
        while waiting:
            slot, dimension = waiting.popleft()
            for member in self.members(slot):
                here = (member, dimension)
                for step, factor, _ in self.joints(here):
                    key = (step, factor)
                    known = left.get(key)
                    rest: list[At] = []
                    is_own_left = False
                    for at in self._ats(key) if known is None else known:
                        if at == here:
                            if not is_own_left or self.has(*at, axis):
                                rest.append(at)
                            is_own_left = True
                            continue
                        has_axis = reached.get(at)
                        if has_axis is None:
                            has_axis = reached[at] = self.has(*at, axis)
                        if has_axis:
                            stop_count += 1
                            rest.append(at)
                        elif at not in seen:
                            seen.add(at)
                            waiting.append(at)
                    left[key] = rest
        return reached, stop_count

    def _ats(self, key: tuple[int, int]) -> Sequence[At]:
        """The slots and dimensions with a factor of a step."""
        found = self._known_ats.get(key)
        if found is None:
            found = self._known_ats[key] = [(slot, dimension) for _, slot, dimension in self.ways(*key)]
        return found

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
            found = self._joints[at] = self._find_joints(*at)
        return found

    def _find_joints(self, slot: int, dimension: int) -> tuple[Joint, ...]:
        found: list[Joint] = []
        for step in self._steps(slot):
            mapping = self._mapping(step)
            if mapping is not None:
                for position in self._places_in(step, slot):
                    found += [(step, factor, position) for factor in mapping.tensors[position][dimension]]
        return tuple(found)

    def _steps(self, slot: int) -> Sequence[int]:
        """The steps that read or write a slot; those of function results come last."""
        steps, returned = self.propagation.steps_at.get(slot, ()), self._returned.get(slot)
        return (*steps, *returned) if returned else steps

    def _places_in(self, step: int, slot: int) -> Sequence[int]:
        """The positions of a slot in a step."""
        slots = self.propagation.arrivals.slots_of(step)
        if len(slots) > _FEW_TENSORS:
            return self._positions(step)[slot]
        return [position for position, other in enumerate(slots) if other == slot]

    def _mapping(self, step: int) -> _Mapping | None:
        rule = self.propagation.arrivals.rule_of(step)
        if rule is None:
            return None
        known = self._mappings.get(id(rule))
        if known is None:
            known = self._mappings[id(rule)] = _Mapping(rule)
        return known

    def ways(self, step: int, factor: int) -> tuple[Way, ...]:
        """Returns the dimensions with a factor of a step."""
        found = self._ways.get((step, factor))
        if found is None:
            slots, mapping = self.propagation.arrivals.slots_of(step), self._mapping(step)
            places = () if mapping is None else mapping.places.get(factor, ())
            made = [(position, slots[position], dimension) for position, dimension in places]
            found = self._ways[step, factor] = tuple([way for way in made if way[1] != UNSHARDABLE])
        return found

    def _positions(self, step: int) -> dict[int, list[int]]:
        """Returns the positions of each slot in a step."""
        known = self._known_positions.get(step)
        if known is None:
            known = self._known_positions[step] = {}
            for position, slot in enumerate(self.propagation.arrivals.slots_of(step)):
                known.setdefault(slot, []).append(position)
        return known
