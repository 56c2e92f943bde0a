"""Which dimensions of which tensors share a factor, step by step: the way an axis could come.

    neighbourhood.frontiers(slot, dimension, axis)      where the way ends at a tensor that has the axis

Not here: why it ended there (`propagation/stops.py`), names and words (`why_not.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from shardy_py.graph.run_record import Propagation
from shardy_py.propagation.flat import UNSHARDABLE
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.sharding import AxisRef, ShardingRule


@dataclass(frozen=True, slots=True)
class Crossing:
    """From one tensor of a step to another along a factor.

    position, slot, dimension: what lacks the axis. source, source_slot, source_dimension: where one goes on.
    distance: the number of steps to here, this one included.
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
    """Walks one propagation along factors."""

    def __init__(self, propagation: Propagation) -> None:
        """The propagation must be complete."""
        self.propagation = propagation
        self._returned: dict[int, list[int]] = {}
        for index, returned in enumerate(propagation.program.flat.returned):
            for slot in (returned.slot, returned.result_slot):
                self._returned.setdefault(slot, []).append(FUNCTION_RESULT - index)

    def steps_at(self, slot: int) -> list[int]:
        """The steps that a slot takes part in; matched results of the main function last."""
        return self.propagation.steps_at.get(slot, []) + self._returned.get(slot, [])

    def has(self, slot: int, dimension: int, axis: AxisRef) -> bool:
        """Whether a dimension of a slot has an axis, or a part of it, at the end."""
        sharding = self.propagation.journal.sharding(slot)
        if sharding is None or dimension >= sharding.rank:
            return False
        return any(axis.overlaps(other) for other in sharding.dimensions[dimension].axes)

    def walk(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[Crossing]:
        """All crossings in the order of distance, not beyond tensors that have the axis."""
        groups = self.propagation.program.flat.groups
        seen = {(slot, dimension)}
        waiting = deque([(slot, dimension, 0)])
        while waiting:
            slot, dimension, distance = waiting.popleft()
            for member in (slot, *(other.slot for other in groups.get(slot, ()))):
                for crossing in self.crossings(member, dimension, distance + 1):
                    at = (crossing.source_slot, crossing.source_dimension)
                    yield crossing
                    if at not in seen and not self.has(*at, axis):
                        seen.add(at)
                        waiting.append((*at, distance + 1))

    def crossings(self, slot: int, dimension: int, distance: int) -> Iterator[Crossing]:
        """The ways on from a dimension of a slot."""
        arrivals = self.propagation.arrivals
        for step in self.steps_at(slot):
            rule = arrivals.rule_of(step)
            if rule is None:
                continue
            slots = arrivals.slots_of(step)
            for position, own in enumerate(slots):
                if own != slot:
                    continue
                for factor in rule.tensors[position][dimension]:
                    for source, at in _others(rule, position, factor):
                        if slots[source] != UNSHARDABLE and (slots[source], at) != (slot, dimension):
                            yield Crossing(
                                step, factor, position, slot, dimension, source, slots[source], at, distance
                            )


def _others(rule: ShardingRule, position: int, factor: int) -> Iterator[tuple[int, int]]:
    for other, mapping in enumerate(rule.tensors):
        if other != position:
            for at, factors in enumerate(mapping):
                if factor in factors:
                    yield other, at
