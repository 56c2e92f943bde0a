"""Dimensions of tensors that share a factor, step by step: the ways along which an axis could arrive.

    for crossing in neighbourhood.walk(slot, dimension, axis): ...      nearest first, up to tensors with it

Not here: why an axis stops at a crossing (`propagation/stops.py`), names and messages (`why_not.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from shardy_py.graph.run_record import Propagation
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.tracing import overlapping
from shardy_py.sharding import AxisRef


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

    def crossings(self, slot: int, dimension: int, distance: int) -> Iterator[Crossing]:
        """Returns the crossings from a dimension of a slot; those to function results come last."""
        arrivals = self.propagation.arrivals
        for step in (*self.propagation.steps_at.get(slot, ()), *self._returned.get(slot, ())):
            rule = arrivals.rule_of(step)
            if rule is None:
                continue
            slots = arrivals.slots_of(step)
            for position in (position for position, own in enumerate(slots) if own == slot):
                for factor in rule.tensors[position][dimension]:
                    for source, mapping in enumerate(rule.tensors):
                        other = slots[source]
                        for at, factors in enumerate(mapping):
                            is_way = source != position and factor in factors
                            if is_way and other != UNSHARDABLE and (other, at) != (slot, dimension):
                                yield Crossing(
                                    *(step, factor, position, slot, dimension, source, other, at, distance)
                                )
