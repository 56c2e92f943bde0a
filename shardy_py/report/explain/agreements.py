"""Other annotations that would have given an axis: tensors that have it all the way to the value.

What came first is in the journal; what came to the same result later left no trace there, for nothing changed
any more. It is found at the end: from the value along factors through tensors that all have the axis, in the
directions in which axes may move.

Not here: the way the axis took (`tracing.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator

from shardy_py.graph.run_record import Propagation
from shardy_py.propagation.arrivals import Arrival, Source
from shardy_py.propagation.directions import Direction
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.neighbourhood import Crossing, Neighbourhood
from shardy_py.report.explain.tracing import AtSpot, Cause, InSlot, Path, State, Tracer
from shardy_py.sharding import AxisRef

_FARTHEST = 5_000
"""So many tensors are visited at most."""


class Agreements:
    """Finds them in one propagation."""

    def __init__(self, tracer: Tracer, event: int, propagation: Propagation) -> None:
        """`propagation` is event number `event` of the tracer's record."""
        self._tracer = tracer
        self._event = event
        self._propagation = propagation
        self._neighbourhood = Neighbourhood(propagation)

    def paths(
        self, slot: int, dimension: int, axis: AxisRef, taken: Container[tuple[object, ...]]
    ) -> Iterator[Path]:
        """A path from each annotation that holds `axis` there, nearest first.

        taken: the keys of roots that are known; no way leads through other tensors that the user annotated.
        """
        parents: dict[tuple[int, int], Crossing | None] = {(slot, dimension): None}
        waiting = deque([(slot, dimension)])
        while waiting and len(parents) < _FARTHEST:
            at = waiting.popleft()
            if self._begins(*at, axis):
                start = InSlot(self._event, at[0], 0, at[1], axis)
                path = next(self._tracer.paths_from(start), None)
                if path is not None and path.root.key not in taken:
                    yield Path(path.root, (*path.causes, *self._way(at, parents, axis)))
                    continue
            for crossing in self._neighbourhood.crossings(*at, 0):
                before = (crossing.source_slot, crossing.source_dimension)
                if before not in parents and self._agrees(crossing, axis):
                    parents[before] = crossing
                    waiting.append(before)

    def _begins(self, slot: int, dimension: int, axis: AxisRef) -> bool:
        first = self._propagation.journal.first_sharding(slot)
        if first is None or dimension >= first.rank:
            return False
        return any(axis.overlaps(other) for other in first.dimensions[dimension].axes)

    def _agrees(self, crossing: Crossing, axis: AxisRef) -> bool:
        """Whether what one comes to has the axis, and may hand it over."""
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

    def _way(
        self, at: tuple[int, int], parents: dict[tuple[int, int], Crossing | None], axis: AxisRef
    ) -> Iterator[tuple[State, Cause]]:
        while (crossing := parents[at]) is not None:
            source = Source(crossing.source, crossing.source_slot, crossing.source_dimension)
            arrival = Arrival(
                *(len(self._propagation.journal.entries), crossing.slot, crossing.dimension, axis),
                *(crossing.step, crossing.position, crossing.factor, (source,)),
            )
            state = InSlot(self._event, crossing.slot, arrival.entry, crossing.dimension, axis)
            before = InSlot(self._event, crossing.source_slot, 0, crossing.source_dimension, axis)
            yield state, Cause(before, arrival=arrival, source=source)
            at = (crossing.slot, crossing.dimension)


def slot_at_end(tracer: Tracer, state: AtSpot) -> tuple[InSlot, tuple[tuple[State, Cause], ...]] | None:
    """Where an axis was when the last propagation ended, and the way from there; None if it was in none."""
    current: State = state
    way: list[tuple[State, Cause]] = []
    for _ in range(len(tracer.events) + 1):
        cause = next((c for c in tracer.causes(current) if isinstance(c, Cause)), None)
        if cause is None:
            return None
        way.insert(0, (current, cause))
        current = cause.state
        if isinstance(current, InSlot):
            return current, tuple(way)
    return None
