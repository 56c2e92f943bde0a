"""The nearest roots of a state are those of a breadth-first search over its causes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i64

from shardy_py.mlir.movements import Movement
from shardy_py.report.explain.states import AtSpot, Root, State, Transition
from shardy_py.report.explain.ways import Causes, Node, Ways
from shardy_py.sharding import AxisRef

AXIS = AxisRef("x")


class Graph:
    """Random states, whose causes are earlier ones unless `cyclic`, and roots."""

    def __init__(self, seed: int, *, cyclic: bool = False, states: int = 40, roots: int = 30) -> None:
        random = Random(seed)
        self.spot = test.TestOp(result_types=[i64]).results[0]
        self.states: list[State] = [AtSpot(self.spot, number, 0, AXIS) for number in range(states)]
        ops = [test.TestOp() for _ in range(roots)]
        move = Movement(self.spot, self.spot, "pass")
        self.causes: list[Causes] = []
        for number in range(states):
            most = states if cyclic else number
            before = [random.randrange(most) for _ in range(random.randrange(1, 4)) if most]
            is_given = not before or random.random() < 0.3
            given = [((number, 0), Root(self.spot, 0, AXIS, random.choice(ops)))] * is_given
            moves = [((other, 0), Transition(self.states[other], movement=move)) for other in before]
            if len(moves) > 1 and not cyclic and random.random() < 0.3:
                moves[0] = moves[0][0], Transition(self.states[before[0]])
            self.causes.append((*given, *moves))

    def of(self, node: Node, state: State) -> Causes:
        assert state is self.states[node[0]]
        return self.causes[node[0]]

    def distances(self, start: int) -> dict[object, int]:
        """The distance of each root, by relaxation until nothing changes."""
        at = {start: 0}
        changed = True
        while changed:
            changed = False
            for number, distance in list(at.items()):
                for (other, _), cause in self.causes[number]:
                    if isinstance(cause, Transition):
                        further = distance + (cause.movement is not None)
                        if further < at.get(other, further + 1):
                            at[other], changed = further, True
        found: dict[object, int] = {}
        for number, distance in at.items():
            for _, cause in self.causes[number]:
                if isinstance(cause, Root):
                    found[cause.key] = min(distance, found.get(cause.key, distance))
        return found


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_ways_are_shortest(seed: int, cyclic: bool) -> None:
    """One way a root, all roots, by distance; each way is one of moves that exist."""
    graph = Graph(seed, cyclic=cyclic)
    ways = Ways(graph.of)
    for number in reversed(range(len(graph.states))):
        found = list(ways.to((number, 0), graph.states[number]))
        lengths = {way.root.key: way.distance for way in found}
        assert len(lengths) == len(found)
        assert lengths == graph.distances(number)
        assert list(lengths.values()) == sorted(lengths.values())
        for way in found:
            moves = way.transitions
            assert len([move for _, move in moves if move.movement is not None]) == way.distance
            assert all(move.before is earlier for (earlier, _), (_, move) in pairwise(moves))
            assert not moves or moves[-1][0] is graph.states[number]


@pytest.mark.parametrize("near", [300, 10])
@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_way_is_the_first_of_all(seed: int, near: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in order of causes among equal ones, whether it is found near the state or not."""
    monkeypatch.setattr(f"{Ways.__module__}._NEAR", near)
    graph = Graph(seed)
    alone, all_ways = Ways(graph.of), Ways(graph.of)
    for number in reversed(range(len(graph.states))):
        nearest = alone.nearest((number, 0), graph.states[number])
        first = next(all_ways.to((number, 0), graph.states[number]))
        assert nearest is not None
        assert (nearest.distance, nearest.root) == (first.distance, first.root)
        assert nearest.transitions == first.transitions


def test_each_state_is_visited_once() -> None:
    """The ways to all states of a long chain with joints cost as much as the chain is long."""
    graph = Graph(0, states=400, roots=8)
    visits = 0

    def causes(node: Node, state: State) -> Causes:
        nonlocal visits
        visits += 1
        return graph.of(node, state)

    ways = Ways(causes)
    for number in range(400):
        assert next(ways.to((number, 0), graph.states[number]), None) is not None
    assert visits <= 2 * 400
