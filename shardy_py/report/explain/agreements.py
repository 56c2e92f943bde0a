"""Further annotations that agree with an axis: tensors that have it all the way to the value.

The journal holds the annotation that propagated first. Others that lead to the same result later change
nothing and leave no entry there. They are found at the end: from the value along factors through tensors that
all have the axis, in the directions in which axes may propagate.

Not here: the way that the axis took (`tracing.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator

from shardy_py.propagation.arrivals import Arrival, Source
from shardy_py.propagation.flat import Direction
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.neighbourhood import Crossing, Neighbourhood
from shardy_py.report.explain.tracing import AtSpot, InSlot, Path, State, Tracer, Transition, overlapping
from shardy_py.sharding import AxisRef

_VISITED = 5_000
"""The limit of tensors that are visited."""


class Agreements:
    """The agreeing annotations of the propagation that is event number `event` of the tracer's record."""

    def __init__(self, tracer: Tracer, event: int) -> None:
        self._tracer = tracer
        self._event = event
        self._propagation = tracer.propagation(event)
        self._neighbourhood = Neighbourhood(self._propagation)

    def paths(
        self, slot: int, dimension: int, axis: AxisRef, known: Container[tuple[object, ...]]
    ) -> Iterator[Path]:
        """Returns a path from each annotation that has `axis` there, nearest first.

        known: the keys of the roots to leave out. No path leads through other annotated tensors.
        """
        parents: dict[tuple[int, int], Crossing | None] = {(slot, dimension): None}
        waiting = deque([(slot, dimension)])
        while waiting and len(parents) < _VISITED:
            at = waiting.popleft()
            if overlapping(self._propagation.journal.first_sharding(at[0]), at[1], axis):
                start = InSlot(self._event, at[0], 0, at[1], axis)
                path = next(self._tracer.paths_from(start), None)
                if path is not None and path.root.key not in known:
                    yield Path(path.root, (*path.transitions, *self._transitions(at, parents, axis)))
                    continue
            for crossing in self._neighbourhood.crossings(*at, 0):
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
