"""Annotations that agree: they would have given a tensor an axis that arrived there from another one.

    for path in Agreements(tracer, neighbourhood, event, axis).paths((slot, dimension), used): ...

The journal holds the annotation that propagated first. Others that lead to the same result later change
nothing and leave no entry there; they are found from the value along factors through tensors that all have
the axis, in the directions in which axes may propagate. Not here: the way that the axis took (`tracing.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from shardy_py.propagation.flat import Direction
from shardy_py.propagation.journal import FUNCTION_RESULT, Arrival, Source
from shardy_py.report.explain.neighbourhood import At, Joint, Neighbourhood, Way
from shardy_py.report.explain.states import AtSpot, InSlot, Path, State, Transition, overlapping
from shardy_py.report.explain.tracing import Tracer
from shardy_py.sharding import AxisRef

Hop = tuple[At, Joint, int]
"""How a search came to a dimension of a slot: from which one, through what, and its position there."""
Exits = tuple[tuple[At, int], ...]
"""The dimensions of slots with a factor of a step that agree, with the positions of their tensors."""
_VISITED = 5_000
"""The limit of tensors that a search visits."""


class Agreements:
    """The annotations with one axis that agree in the propagation that is event `event` of the record."""

    def __init__(self, tracer: Tracer, neighbourhood: Neighbourhood, event: int, axis: AxisRef) -> None:
        self._tracer = tracer
        self._neighbourhood = neighbourhood
        self._event = event
        self._axis = axis
        self._journal = tracer.propagation(event).journal
        self._roots: dict[At, frozenset[object]] = {}
        self._annotated: dict[At, Path] = {}
        self._exits: dict[tuple[int, int], Exits] = {}
        self._around: dict[At, tuple[tuple[Joint, Exits], ...]] = {}
        self._steps: dict[tuple[At, Hop], tuple[State, Transition]] = {}

    def paths(self, start: At, used: frozenset[object]) -> Iterator[Path]:
        """Returns a path from each annotation that has the axis at `start`, nearest first.

        used: the keys of the roots to leave out. No path leads through other annotated tensors.
        """
        count = len(self._connected_roots(start) - used)
        found: set[object] = set()
        parents: dict[At, Hop | None] = {start: None}
        crossed: set[int] = set()
        waiting = deque([start])
        while waiting and len(found) < count and len(parents) < _VISITED:
            at = waiting.popleft()
            path = self._annotated.get(at)
            if path is not None and (key := path.root.key) not in used:
                yield Path(path.root, (*path.transitions, *self._transitions(at, parents)))
                found.add(key)
                continue
            for joint, exits in self._exits_around(at):
                if id(exits) not in crossed:
                    crossed.add(id(exits))
                    for before, position in exits:
                        if before not in parents:
                            parents[before] = at, joint, position
                            waiting.append(before)

    def _connected_roots(self, start: At) -> frozenset[object]:
        """Returns the annotations with the axis that any crossings connect with a dimension of a slot.

        Finds the paths to them, and the same for all tensors in between.
        """
        if start in self._roots:
            return self._roots[start]
        found = {start}
        left: dict[tuple[int, int], Sequence[Way]] = {}
        keys: set[object] = set()
        waiting = deque(found)
        while waiting:
            at = waiting.popleft()
            if overlapping(self._journal.first_sharding(at[0]), at[1], self._axis):
                path = next(self._tracer.paths_from(InSlot(self._event, at[0], 0, at[1], self._axis)), None)
                if path is not None:
                    self._annotated[at] = path
                    keys.add(path.root.key)
            for crossing in self._neighbourhood.crossings(at, left):
                before = crossing.before
                if before not in found and self._neighbourhood.has(*before, self._axis):
                    found.add(before)
                    waiting.append(before)
        self._roots.update(dict.fromkeys(found, frozenset(keys)))
        return self._roots[start]

    def _exits_around(self, at: At) -> tuple[tuple[Joint, Exits], ...]:
        """Returns the joints of a dimension of a slot, each with its exits."""
        around = self._around.get(at)
        if around is None:
            joints = self._neighbourhood.joints(at)
            pairs = ((joint, self._exits_of(joint[0], joint[1])) for joint in joints)
            around = self._around[at] = tuple((joint, exits) for joint, exits in pairs if exits)
        return around

    def _exits_of(self, step: int, factor: int) -> Exits:
        found = self._exits.get((step, factor))
        if found is None:
            ways = self._neighbourhood.ways(step, factor)
            agreeing = (((slot, at), position) for position, slot, at in ways)
            found = tuple(exit for exit in agreeing if self._agrees(step, factor, *exit))
            self._exits[step, factor] = found
        return found

    def _agrees(self, step: int, factor: int, at: At, position: int) -> bool:
        """Whether a tensor of a step has the axis, and may propagate it."""
        if not self._neighbourhood.has(*at, self._axis):
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

    def _transitions(self, at: At, parents: dict[At, Hop | None]) -> Iterator[tuple[State, Transition]]:
        while (hop := parents[at]) is not None:
            step = self._steps.get((at, hop))
            if step is None:
                step = self._steps[at, hop] = self._step(at, hop)
            yield step
            at = hop[0]

    def _step(self, before: At, hop: Hop) -> tuple[State, Transition]:
        """Returns the move of the axis from `before` to where the search came from."""
        (slot, dimension), (step, factor, position), source_position = hop
        source = Source(source_position, *before)
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
