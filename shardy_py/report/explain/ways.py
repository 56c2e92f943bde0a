"""The annotations nearest to a state, and the ways from them: found once a state, from the states before it.

    way = next(ways.to(node, state))     distance 1, root: the sharding of %arg0
    way.state, way.move, way.rest        the state, the move to it, the way to the state before

Not here: the causes of a state (`tracing.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.report.explain.states import Root, State, Transition

Node = tuple[int, int]
"""The number of a state, equal for states of one key, and its entry (0 at a spot)."""
Causes = tuple[tuple[Node, Transition | Root], ...]
"""The moves that led to a state, each with the node of the state before, and its roots."""
_NEAR = 300
"""The most states that are searched for the nearest root before all are."""
_MANY = 16
"""The most roots of a state that are remembered: those that an explanation shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """The way from a root to a state.

    distance: the number of moves that change something.
    move, rest: the last move, and the way up to it; None: the root is at the state.
    """

    distance: int
    root: Root
    state: State
    move: Transition | None = None
    rest: Way | None = None

    @property
    def transitions(self) -> tuple[tuple[State, Transition], ...]:
        """Each state but the first, with the move to it."""
        found: list[tuple[State, Transition]] = []
        way: Way | None = self
        while way is not None and way.move is not None:
            found.append((way.state, way.move))
            way = way.rest
        return tuple(reversed(found))


class Ways:
    """The ways in one record, whose `causes` do not change."""

    def __init__(self, causes: Callable[[Node, State], Causes]) -> None:
        self._causes = causes
        self._nearest: dict[Node, tuple[Way, ...] | None] = {}

    def to(self, node: Node, state: State) -> Iterator[Way]:
        """Returns a way from each root that leads to a state, shortest first; in order of causes if equal."""
        nearest = self._nearest_known(node, state)
        yield from nearest or ()
        if nearest is None or len(nearest) == _MANY:
            seen = {way.root.key for way in nearest or ()}
            yield from (way for way in self._search(node, state) if way.root.key not in seen)

    def nearest(self, node: Node, state: State) -> Way | None:
        """Returns the first of the ways `to` a state; None if there is none.

        A root is often a few states away, of thousands from which others lead to the state.
        """
        near = self._near(node, state) if node not in self._nearest else None
        return near or next(self.to(node, state), None)

    def _near(self, start: Node, state: State) -> Way | None:
        """Returns the shortest way to a state, the first in order of causes; None if roots are not near."""
        distances, states, done = {start: 0}, {start: state}, set[Node]()
        waiting = deque([start])
        end: int | None = None
        while waiting:
            node = waiting.popleft()
            distance = distances[node]
            if node in done:
                continue
            if end is not None and distance > end:
                break
            done.add(node)
            if len(done) > _NEAR:
                return None
            for other, cause in self._causes(node, states[node]):
                if isinstance(cause, Root):
                    end = distance
                    continue
                is_same = _is_same(cause)
                if other not in distances or distances[other] > distance + (not is_same):
                    distances[other] = distance + (not is_same)
                    states[other] = cause.before
                    (waiting.appendleft if is_same else waiting.append)(other)
        return None if end is None else self._first_way(start, states, distances, end)

    def _first_way(
        self, start: Node, states: Mapping[Node, State], distances: Mapping[Node, int], end: int
    ) -> Way | None:
        """Returns the first way of the length `end` to a state; distances: of the states from it."""

        def causes(node: Node) -> Iterator[tuple[Node, Transition | Root]]:
            return iter(sorted(self._causes(node, states[node]), key=_same_last))

        entered = {start}
        moves: list[Transition] = []
        stack = [(start, causes(start))]
        while stack:
            node, left = stack[-1]
            distance = distances[node]
            for other, cause in left:
                if isinstance(cause, Root):
                    if distance == end:
                        return _joined(cause, [states[each] for each, _ in stack], moves)
                    continue
                after = distance + (not _is_same(cause))
                if after <= end and distances.get(other) == after and other not in entered:
                    entered.add(other)
                    moves.append(cause)
                    stack.append((other, causes(other)))
                    break
            else:
                stack.pop()
                if moves:
                    moves.pop()
        return None

    def _nearest_known(self, start: Node, state: State) -> tuple[Way, ...] | None:
        """Returns the ways from at most `_MANY` roots to a state; None if a cycle leads to it."""
        entered: set[Node] = set()
        waiting = [(start, state)]
        while waiting:
            node, state = waiting[-1]
            causes = self._causes(node, state) if node not in self._nearest else ()
            unknown = ((other, cause) for other, cause in causes if other not in self._nearest)
            before = [(other, cause.before) for other, cause in unknown if not isinstance(cause, Root)]
            if before and node not in entered:
                entered.add(node)
                waiting.extend(before)
                continue
            if node not in self._nearest:
                self._nearest[node] = self._merged(state, causes)
            waiting.pop()
        return self._nearest[start]

    def _merged(self, state: State, causes: Causes) -> tuple[Way, ...] | None:
        """Returns the ways through all causes, one a root; None if those of one are unknown.

        What a state is without a move comes after its own causes, as it is searched after them.
        """
        ways: list[Way] = []
        for node, cause in sorted(causes, key=_same_last):
            if isinstance(cause, Root):
                ways.append(Way(0, cause, state))
                continue
            rests = self._nearest.get(node)
            if rests is None:
                return None
            length = not _is_same(cause)
            ways += (Way(rest.distance + length, rest.root, state, cause, rest) for rest in rests)
        return _first_of_each_root(ways)

    def _search(self, node: Node, state: State) -> Iterator[Way]:
        """Returns the ways to a state that cycles lead to, or more than `_MANY` roots."""
        parents: dict[int, tuple[int, State, Transition] | None] = {node[0]: None}
        waiting = deque([(node, state)])
        seen: set[object] = set()
        while waiting:
            node, state = waiting.popleft()
            for before, cause in self._causes(node, state):
                if isinstance(cause, Root):
                    if cause.key not in seen:
                        seen.add(cause.key)
                        yield _traced(cause, state, node[0], parents)
                elif before[0] not in parents:
                    parents[before[0]] = (node[0], state, cause)
                    add = waiting.appendleft if _is_same(cause) else waiting.append
                    add((before, cause.before))


def _joined(root: Root, states: Sequence[State], moves: Sequence[Transition]) -> Way:
    """Returns the way from `root`, at the last state, to the first, by moves to each from the next one."""
    way = Way(0, root, states[-1])
    for state, move in zip(states[-2::-1], reversed(moves), strict=True):
        way = Way(way.distance + (not _is_same(move)), root, state, move, way)
    return way


def _same_last(pair: tuple[Node, Transition | Root]) -> bool:
    """Sorts moves that change nothing behind other causes."""
    return _is_same(pair[1])


def _is_same(cause: Transition | Root) -> bool:
    """Returns whether a cause is a move that changes nothing."""
    return isinstance(cause, Transition) and cause.arrival is None and cause.movement is None


def _first_of_each_root(ways: Iterable[Way]) -> tuple[Way, ...]:
    first: dict[object, Way] = {}
    for way in sorted(ways, key=lambda way: way.distance):
        first.setdefault(way.root.key, way)
    return tuple(first.values())[:_MANY]


def _traced(
    root: Root, state: State, number: int, parents: dict[int, tuple[int, State, Transition] | None]
) -> Way:
    """Returns the way from `root`, at the state of `number`, to the one asked about."""
    moves: list[tuple[State, Transition]] = []
    while (step := parents[number]) is not None:
        number = step[0]
        moves.append(step[1:])
    way = Way(0, root, state)
    for distance, (state, move) in enumerate(moves, 1):
        way = Way(distance, root, state, move, way)
    return way
