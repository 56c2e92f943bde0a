"""Annotations that agree: they would have given a tensor an axis that arrived there from another one.

    for path in Agreements(tracer, neighbourhood, event, axis).paths((slot, dimension), used): ...

The journal holds the annotation that propagated first. Others that lead to the same result later change
nothing and leave no entry there; they are found from the value along factors through tensors that all have
the axis, in the directions in which axes may propagate. Not here: the way that the axis took (`tracing.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from shardy_py.base.records import dataclass
from shardy_py.propagation.flat import Direction
from shardy_py.propagation.journal import FUNCTION_RESULT, Arrival, AxisSource
from shardy_py.report.explain.neighbourhood import At, Joint, Neighbourhood, Way
from shardy_py.report.explain.states import AtSpot, InSlot, Path, State, Transition, overlapping
from shardy_py.report.explain.tracing import Tracer
from shardy_py.sharding import AxisRef

_VISITED = 5_000
"""The limit of tensors that a search visits."""


@dataclass(slots=True, eq=False)
class _Stop:
    """A dimension of a slot that has the axis.

    path: from the annotation of the slot, and key: of that annotation; None if it has none.
    exits: for each joint, where the axis may come from; None until a search gets here.
    """

    at: At
    path: Path | None = None
    key: object = None
    exits: tuple[tuple[Joint, _Exits], ...] | None = None


_Exits = tuple[tuple[_Stop, int], ...]
"""The agreeing tensors with a factor of a step, with their positions in it."""
_Hop = tuple[_Stop, Joint, int]
"""The way by which a search reached a stop: from which one, through which joint, and the position."""


class Agreements:
    """The annotations with one axis that agree in the propagation that is event `event` of the record."""

    def __init__(self, tracer: Tracer, neighbourhood: Neighbourhood, event: int, axis: AxisRef) -> None:
        self._tracer = tracer
        self._neighbourhood = neighbourhood
        self._event = event
        self._axis = axis
        self._journal = tracer.propagation(event).journal
        self._roots: dict[At, frozenset[object]] = {}
        self._stops: dict[At, _Stop] = {}
        self._exits: dict[tuple[int, int], _Exits] = {}
        self._steps: dict[tuple[_Stop, _Hop], tuple[State, Transition]] = {}

    def paths(self, start: At, used: frozenset[object]) -> Iterator[Path]:
        """Returns a path from each annotation that has the axis at `start`, nearest first.

        used: the keys of the roots to leave out. No path leads through other annotated tensors.
        """
        count = len(self._connected_roots(start) - used)
        found: set[object] = set()
        first = self._stop(start)
        parents: dict[_Stop, _Hop | None] = {first: None}
        crossed: set[int] = set()
        waiting = deque([first])
        while waiting and len(found) < count and len(parents) < _VISITED:
            stop = waiting.popleft()
            if stop.path is not None and stop.key not in used:
                yield Path(stop.path.root, (*stop.path.transitions, *self._transitions(stop, parents)))
                found.add(stop.key)
                continue
            for joint, exits in self._exits_around(stop) if stop.exits is None else stop.exits:
                if id(exits) not in crossed:
                    crossed.add(id(exits))
                    for before, position in exits:
                        if before not in parents:
                            parents[before] = stop, joint, position
                            waiting.append(before)

    def _connected_roots(self, start: At) -> frozenset[object]:
        """Returns the annotations with the axis that any crossings connect with a dimension of a slot.

        Finds the paths to them, and the same for all tensors in between.
        """
        if start in self._roots:
            return self._roots[start]
        around, axis = self._neighbourhood, self._axis
        found = {start}
        crossed: set[tuple[int, int]] = set()
        keys: set[object] = set()
        waiting = deque(found)
        while waiting:
            at = waiting.popleft()
            if overlapping(self._journal.first_sharding(at[0]), at[1], axis):
                path = next(self._tracer.paths_from(InSlot(self._event, at[0], 0, at[1], self._axis)), None)
                if path is not None:
                    stop = self._stop(at)
                    stop.path, stop.key = path, path.root.key
                    keys.add(stop.key)
            for step, factor, _ in around.joints(at):
                if (step, factor) in crossed:
                    continue
                crossed.add((step, factor))
                for _, slot, dimension in around.ways(step, factor):
                    before = slot, dimension
                    if before not in found and around.has(slot, dimension, axis):
                        found.add(before)
                        waiting.append(before)
        self._roots.update(dict.fromkeys(found, frozenset(keys)))
        return self._roots[start]

    def _stop(self, at: At) -> _Stop:
        stop = self._stops.get(at)
        if stop is None:
            stop = self._stops[at] = _Stop(at)
        return stop

    def _exits_around(self, stop: _Stop) -> tuple[tuple[Joint, _Exits], ...]:
        joints = self._neighbourhood.joints(stop.at)
        pairs = ((joint, self._exits_of(joint[0], joint[1])) for joint in joints)
        stop.exits = tuple((joint, exits) for joint, exits in pairs if exits)
        return stop.exits

    def _exits_of(self, step: int, factor: int) -> _Exits:
        found = self._exits.get((step, factor))
        if found is None:
            ways = self._neighbourhood.ways(step, factor)
            agreeing = (way for way in ways if self._agrees(step, factor, way))
            found = tuple((self._stop((slot, dimension)), position) for position, slot, dimension in agreeing)
            self._exits[step, factor] = found
        return found

    def _agrees(self, step: int, factor: int, way: Way) -> bool:
        """Returns whether the tensor of a way has the axis, and may propagate it."""
        position, slot, dimension = way
        if not self._neighbourhood.has(slot, dimension, self._axis):
            return False
        if step <= FUNCTION_RESULT:
            return True
        stages = self._journal.stages
        table = stages[-1].tables[self._journal.kinds[step]] if stages else None
        if table is None:
            return False
        is_operand = position < len(table.step.rule.operands)
        direction = table.step.options.directions[factor]
        return bool(direction & (Direction.FORWARD if is_operand else Direction.BACKWARD))

    def _transitions(
        self, stop: _Stop, parents: dict[_Stop, _Hop | None]
    ) -> Iterator[tuple[State, Transition]]:
        while (hop := parents[stop]) is not None:
            step = self._steps.get((stop, hop))
            if step is None:
                step = self._steps[stop, hop] = self._step(stop.at, hop)
            yield step
            stop = hop[0]

    def _step(self, before: At, hop: _Hop) -> tuple[State, Transition]:
        """Returns the move of the axis from `before` to where the search came from."""
        stop, (step, factor, position), source_position = hop
        slot, dimension = stop.at
        source = AxisSource(source_position, *before)
        entry = len(self._journal.entries)
        arrival = Arrival(entry, slot, dimension, self._axis, step, position, factor, (source,))
        state = InSlot(self._event, slot, entry, dimension, self._axis)
        start = InSlot(self._event, source.slot, 0, source.dimension, self._axis)
        return state, Transition(start, arrival=arrival, source=source)


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
