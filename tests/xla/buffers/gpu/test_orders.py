"""Orders of kernels and collectives on a GPU, beside what looks at all of them at each step."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from shardy_py.xla.buffers.gpu.joined import joined
from shardy_py.xla.buffers.gpu.latency import Timed, beside
from shardy_py.xla.buffers.schedule import Event


def _ordered(events: Sequence[Event]) -> list[Event] | None:
    """The events, each after those that it needs; None if some need each other."""
    makers = {name: event for event in events for name in event.makes}
    found: list[Event] = []
    entered, done = set[int](), set[int]()

    def enter(event: Event) -> bool:
        if id(event) in done:
            return True
        if id(event) in entered:
            return False
        entered.add(id(event))
        needed = [makers[name] for name in event.reads if name in makers]
        if not all(enter(each) for each in reversed(needed)):
            return False
        done.add(id(event))
        found.append(event)
        return True

    return found if all(enter(event) for event in events) else None


def _one_after_the_other(events: Sequence[Event], groups: Sequence[Sequence[Event]]) -> list[Event]:
    """Joins the most of each group that can be one, and orders the whole program again."""
    found = [*events]
    for group in groups:
        left, count = [*group], 1
        while len(left) > 1:
            for count in range(len(left), 0, -1):
                own = left[:count]
                tried = [_one(own) if event is own[-1] else event for event in found if event not in own[:-1]]
                if ordered := _ordered(tried):
                    found = ordered if count > 1 else found
                    break
            left = left[count:]
    return found


def _one(group: Sequence[Event]) -> Event:
    reads = tuple(dict.fromkeys(name for event in group for name in event.reads))
    return group[0]._replace(reads=reads, makes=tuple(name for event in group for name in event.makes))


@pytest.mark.parametrize("seed", range(40))
def test_joined_events_are_where_ordering_all_again_puts_them(seed: int) -> None:
    rng = random.Random(seed)
    events = [
        Event(number, tuple(sorted(rng.sample(range(number), min(number, rng.randrange(3))))), (number,))
        for number in range(40)
    ]
    left = [*events]
    rng.shuffle(left)
    groups: list[list[Event]] = []
    for size in (2, 3, 2, 4, 5):
        group, left = left[:size], left[size:]
        groups.append(sorted(group, key=events.index) if rng.random() < 0.7 else group)
    assert joined(events, groups, {}) == _one_after_the_other(events, groups)


def _least_of_all(events: Sequence[Timed]) -> list[tuple[int, bool]]:
    """The rule of the scheduler, applied to all nodes that are ready at each step."""
    nodes = [
        (n, end) for n, event in enumerate(events) for end in ((False, True) if event.latency else (False,))
    ]
    makers = {name: (n, bool(event.latency)) for n, event in enumerate(events) for name in event.makes}
    before = {
        (n, end): [(n, False)] if end else [makers[name] for name in dict.fromkeys(events[n].reads)]
        for n, end in nodes
    }
    after = {node: [each for each in nodes if node in before[each]] for node in nodes}
    depth: dict[tuple[int, bool], float] = {}
    for n, end in nodes:
        own = events[n].latency if end else 0.0
        depth[n, end] = max((depth[each] for each in before[n, end]), default=0.0) + own
    began: dict[tuple[int, bool], float] = {}
    ready = {node: 0.0 for node in nodes if not after[node]}
    order: list[tuple[int, bool]] = []
    now, running = 0.0, False

    def starts(node: tuple[int, bool]) -> bool:
        return not node[1] and events[node[0]].latency > 0

    def cost(node: tuple[int, bool]) -> float:
        return 1.0 if node[1] or starts(node) else events[node[0]].cost

    while ready:
        latest = min((time for time in ready.values() if time > now), default=None)
        blocked = running and any(end for _, end in ready)

        def key(
            node: tuple[int, bool], now: float = now, latest: float | None = latest, blocked: bool = blocked
        ) -> tuple[float, ...]:
            waste = (
                0.0 if latest is None else float("inf") if starts(node) else abs(latest - now - cost(node))
            )
            waiting = [sum(user not in began for user in after[each]) for each in before[node]]
            return (
                not node[1],
                max(ready[node] - now, 0.0),
                starts(node) and depth[node] == 0 and not blocked,
                not (starts(node) and blocked),
                -depth[node],
                waste,
                not any(end for _, end in before[node]),
                -waiting.count(1),
                -(node[0] + node[1] / 2),
            )

        node = min((each for each in ready if not (running and each[1])), key=key)
        began[node] = max(now, ready.pop(node))
        now = began[node] + cost(node)
        order.append(node)
        running = node[1] or (running and not starts(node))
        for each in before[node]:
            if all(user in began for user in after[each]):
                pairs = ((began[user], starts(each) and user[1]) for user in after[each])
                times = (time + (events[each[0]].latency if is_pair else 1.0) for time, is_pair in pairs)
                ready[each] = max(now, *times)
    return order[::-1]


@pytest.mark.parametrize("seed", range(40))
def test_the_next_node_is_the_least_of_all_that_are_ready(seed: int) -> None:
    rng = random.Random(seed)
    events = [
        Timed(
            tuple(sorted(rng.sample(range(n), min(n, rng.randrange(4))))),
            (n,),
            rng.choice((0.5, 1.0, 3.0, 8.0)),
            rng.choice((0.0, 0.0, 0.0, 4.0, 25.0)),
        )
        for n in range(30)
    ]
    assert beside(events) == _least_of_all(events)
