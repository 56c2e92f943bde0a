"""The order of kernels and collectives that run beside each other, as XLA's latency hiding scheduler has it.

From the end to the start: a collective's end is taken as soon as it may be, then what fills the time until it
is ready to start; one collective runs at a time. What waits shortest goes first, then what leads to more
collectives, then the later one of the order before. Source: openxla/xla,
xla/service/latency_hiding_scheduler.cc, xla/service/gpu/gpu_latency_hiding_scheduler.cc. Not here: the order
before (`order.py`), times (`costs.py`).

>>> gather = Timed(("x",), ("w",), 0, 50.0)
>>> order = beside([gather, Timed(("y",), ("z",), 40), Timed(("w", "z"), ("end",), 1)])
>>> [(number, is_end) for number, is_end in order]
[(0, False), (1, False), (0, True), (2, False)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shardy_py.xla.spmd.program import Name

_STEP = 1.0
"""Microseconds between two ops that need each other."""


class Timed(NamedTuple):
    """An event with times in microseconds. latency: of a collective, from its start to its end, else 0."""

    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    cost: float
    latency: float = 0.0


def beside(events: Sequence[Timed]) -> list[tuple[int, bool]]:
    """Returns the numbers of events in an order that hides latencies, collectives also where they end.

    events: in an order in which they can run.
    """
    return _Scheduler(events).order()


class _Scheduler:
    """Schedules nodes: events, and the ends of collectives.

    ends: by event. before, after: the nodes that each needs, and that need it. depth: the most latency of the
    collectives on a way to a node.
    """

    def __init__(self, events: Sequence[Timed]) -> None:
        self.events = events
        count = len(events)
        self.ends = {n: count + k for k, n in enumerate(n for n, e in enumerate(events) if e.latency)}
        self.nodes = [(n, False) for n in range(count)] + [(n, True) for n in self.ends]
        makers = {name: self.ends.get(n, n) for n, event in enumerate(events) for name in event.makes}
        self.before: list[list[int]] = [[] for _ in self.nodes]
        self.after: list[list[int]] = [[] for _ in self.nodes]
        for number, event in enumerate(events):
            for each in dict.fromkeys(makers[name] for name in event.reads if name in makers):
                self._link(each, number)
            if number in self.ends:
                self._link(number, self.ends[number])
        self.is_end = [end for _, end in self.nodes]
        self.is_start = [n in self.ends and not end for n, end in self.nodes]
        self.place = [number + (0.5 if end else 0.0) for number, end in self.nodes]
        self.depth = self._depths()
        self.unlocks = [
            any(self.is_end[each] for each in self.before[node]) for node in range(len(self.nodes))
        ]

    def _link(self, first: int, second: int) -> None:
        self.before[second].append(first)
        self.after[first].append(second)

    def _depths(self) -> list[float]:
        found = [0.0] * len(self.nodes)
        for node in sorted(range(len(self.nodes)), key=self.place.__getitem__):
            deepest = max([found[each] for each in self.before[node]], default=0.0)
            found[node] = deepest + (self.events[self.nodes[node][0]].latency if self.is_end[node] else 0.0)
        return found

    def order(self) -> list[tuple[int, bool]]:
        """The nodes in their order."""
        waiting = [len(after) for after in self.after]
        ready = {node: 0.0 for node, count in enumerate(waiting) if count == 0}
        began: dict[int, float] = {}
        now: float = 0.0
        running: bool = False
        order: list[int] = []
        while ready:
            latest = min([time for time in ready.values() if time > now], default=None)
            blocked = running and any(self.is_end[node] for node in ready)
            able = [node for node in ready if not (running and self.is_end[node])]
            keys = {each: self._key(each, ready[each], now, latest, waiting, blocked) for each in able}
            node = min(able, key=keys.__getitem__)
            event = self.events[self.nodes[node][0]]
            began[node] = max(now, ready[node])
            now = began[node] + (_STEP if self.is_end[node] or self.is_start[node] else event.cost)
            del ready[node]
            order.append(node)
            running = self.is_end[node] or (running and not self.is_start[node])
            for each in self.before[node]:
                waiting[each] -= 1
                if waiting[each] == 0:
                    steps = (began[user] + self._latency(each, user) for user in self.after[each])
                    ready[each] = max(now, *steps)
        return [self.nodes[node] for node in reversed(order)]

    def _latency(self, node: int, user: int) -> float:
        is_pair = self.is_start[node] and self.is_end[user]
        return self.events[self.nodes[node][0]].latency if is_pair else _STEP

    def _key(
        self, node: int, time: float, now: float, latest: float | None, waiting: Sequence[int], blocked: bool
    ) -> tuple[float, ...]:
        """The key of a node: the least goes first."""
        starts = self.is_start[node]
        waste = 0.0
        if latest is not None:
            cost = _STEP if starts or self.is_end[node] else self.events[self.nodes[node][0]].cost
            waste = float("inf") if starts else abs(latest - now - cost)
        return (
            not self.is_end[node],
            max(time - now, 0.0),
            starts and self.depth[node] == 0 and not blocked,
            not (starts and blocked),
            -self.depth[node],
            waste,
            not self.unlocks[node],
            -sum([waiting[each] == 1 for each in self.before[node]]),
            -self.place[node],
        )
