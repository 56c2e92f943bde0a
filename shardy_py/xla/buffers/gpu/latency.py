"""The order of kernels and collectives that run beside each other, as XLA's latency hiding scheduler has it.

From the end to the start: a collective's end is taken as soon as it may be, then what fills the time until it
is ready to start; one collective runs at a time, and beside it nothing that runs others. What waits shortest
goes first, then what leads to more collectives, then the later one of the order before. Source: openxla/xla,
xla/service/latency_hiding_scheduler.cc, xla/service/gpu/gpu_latency_hiding_scheduler.cc. Not here: the order
before (`order.py`), times (`costs.py`).

>>> gather = Timed(("x",), ("w",), 0, 50.0)
>>> order = beside([gather, Timed(("y",), ("z",), 40), Timed(("w", "z"), ("end",), 1)])
>>> [(number, is_end) for number, is_end in order]
[(0, False), (1, False), (0, True), (2, False)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from shardy_py.xla.spmd.program import Name

_STEP = 1.0
"""Microseconds between two ops that need each other."""
_NEVER = float("inf")


class Timed(NamedTuple):
    """An event with times in microseconds.

    latency: of a collective, from its start to its end, else 0. sends: whether bodies that it runs send.
    """

    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    cost: float
    latency: float = 0.0
    sends: bool = False


def beside(events: Sequence[Timed]) -> list[tuple[int, bool]]:
    """Returns the numbers of events in an order that hides latencies, collectives also where they end.

    events: in an order in which they can run.
    """
    return _Scheduler(events).order()


class _Scheduler:
    """Schedules nodes: events, and the ends of collectives.

    ends: by event. before, after: the nodes that each needs, and that need it. depth: the most latency of the
    collectives on a way to a node. locks: whether it makes no end ready. frees: how many nodes wait for it
    alone. turn: whether it may be taken while a collective runs.
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
        self.turn = [_END if end else _SENDING if events[n].sends else _ANY for n, end in self.nodes]
        self.place = [number + (0.5 if end else 0.0) for number, end in self.nodes]
        self.depth = self._depths()
        self.cost = [_STEP if end or n in self.ends else events[n].cost for n, end in self.nodes]
        self.locks = [
            not any(self.is_end[each] for each in self.before[node]) for node in range(len(self.nodes))
        ]
        self.frees = [sum([len(self.after[each]) == 1 for each in before]) for before in self.before]

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
        ready = _Ready(self)
        for node, count in enumerate(waiting):
            if count == 0:
                ready.add(node, 0.0)
        began: dict[int, float] = {}
        now: float = 0.0
        running: bool = False
        order: list[int] = []
        while ready.times:
            latest = ready.reach(now)
            blocked = running and ready.has_blocked()
            able = ready.first(now, running=running)
            node = self._least(able, None if latest is None else latest - now, blocked=blocked)
            began[node] = max(now, ready.times[node])
            now = began[node] + self.cost[node]
            ready.take(node)
            order.append(node)
            running = self.is_end[node] or (running and not self.is_start[node])
            for each in self.before[node]:
                waiting[each] -= 1
                if waiting[each] == 1:
                    last = next(user for user in self.after[each] if user not in began)
                    self.frees[last] += 1
                    ready.change(last)
                elif waiting[each] == 0:
                    steps = (began[user] + self._latency(each, user) for user in self.after[each])
                    ready.add(each, max(now, *steps))
        return [self.nodes[node] for node in reversed(order)]

    def _latency(self, node: int, user: int) -> float:
        is_pair = self.is_start[node] and self.is_end[user]
        return self.events[self.nodes[node][0]].latency if is_pair else _STEP

    def _least(self, nodes: Iterable[int], left: float | None, *, blocked: bool) -> int:
        """The node that goes first of those that may begin at one time, all ends or none.

        left: the time until another node may begin. blocked: whether a node waits for the one that runs.
        """
        is_start, depth, cost = self.is_start, self.depth, self.cost
        locks, frees, place = self.locks, self.frees, self.place
        keys = [
            (
                is_start[n] and not blocked and depth[n] == 0,
                not (is_start[n] and blocked),
                -depth[n],
                0.0 if left is None else _NEVER if is_start[n] else abs(left - cost[n]),
                locks[n],
                -frees[n],
                -place[n],
                n,
            )
            for n in nodes
        ]
        return min(keys)[-1]


_ANY, _SENDING, _END = range(3)
"""When a node may be taken: at any time, or only while no collective runs; ends then go before all others."""

_Alike = tuple[float, bool, int]
"""The cost of nodes, whether they lock, and how many they free."""


class _Ready:
    """The nodes that may be taken, such that the few which may be the least are found at once.

    times: when each may begin. Those that may begin now are in groups of equal turns, starts, and depth, of
    which only the deepest may have the least, and in these in heaps of equal costs, locks and frees, by their
    places; the others are in heaps by their times.
    """

    def __init__(self, scheduler: _Scheduler) -> None:
        self.turn, self.is_start, self.depth = scheduler.turn, scheduler.is_start, scheduler.depth
        self.cost, self.locks, self.frees = scheduler.cost, scheduler.locks, scheduler.frees
        self.place = scheduler.place
        self._begun = set[int]()
        self.times: dict[int, float] = {}
        self._counts = [0, 0, 0]
        self._later: tuple[list[tuple[float, int]], ...] = ([], [], [])
        self._groups: dict[tuple[int, bool, float], dict[_Alike, list[tuple[float, int]]]] = {}
        self._depths: dict[tuple[int, bool], list[float]] = {}

    def add(self, node: int, time: float) -> None:
        """Adds a node that may begin at a time."""
        self.times[node] = time
        self._counts[self.turn[node]] += 1
        heappush(self._later[self.turn[node]], (time, node))

    def has_blocked(self) -> bool:
        """True if a node may only be taken while no collective runs."""
        return self._counts[_SENDING] > 0 or self._counts[_END] > 0

    def take(self, node: int) -> None:
        """Removes a node."""
        del self.times[node]
        self._counts[self.turn[node]] -= 1
        self._begun.discard(node)

    def change(self, node: int) -> None:
        """Notes that a node frees more."""
        if node in self._begun:
            self._begin(node)

    def reach(self, now: float) -> float | None:
        """Notes the time, which never decreases; returns the first time at which another node may begin."""
        left: list[float] = []
        for later in self._later:
            while later and (later[0][0] <= now or later[0][1] not in self.times):
                _, node = heappop(later)
                if node in self.times:
                    self._begin(node)
            left += [time for time, _ in later[:1]]
        return min(left, default=None)

    def _begin(self, node: int) -> None:
        kind, depth = (self.turn[node], self.is_start[node]), self.depth[node]
        group = self._groups.setdefault((*kind, depth), {})
        if not group:
            heappush(self._depths.setdefault(kind, []), -depth)
        self._begun.add(node)
        heappush(group.setdefault(self._alike(node), []), (-self.place[node], node))

    def _alike(self, node: int) -> _Alike:
        return self.cost[node], self.locks[node], self.frees[node]

    def first(self, now: float, *, running: bool) -> list[int]:
        """The nodes among which the least is: ends if there are any that may be taken, else others.

        running: whether a collective runs.
        """
        turns = (_ANY,) if running else (_END,) if self._counts[_END] else (_ANY, _SENDING)
        found: list[int] = []
        for turn in turns:
            for is_start in (False, True):
                found += self._deepest((turn, is_start))
        return found or self._soonest([self._later[turn] for turn in turns], now)

    def _deepest(self, kind: tuple[int, bool]) -> Iterable[int]:
        depths = self._depths.get(kind, [])
        while depths:
            group = self._groups.get((*kind, -depths[0]), {})
            for alike, places in tuple(group.items()):
                while places and not self._is_among(places[0][1], alike):
                    heappop(places)
                if not places:
                    del group[alike]
            if group:
                return [places[0][1] for places in group.values()]
            heappop(depths)
        return ()

    def _is_among(self, node: int, alike: _Alike) -> bool:
        return node in self._begun and self._alike(node) == alike

    def _soonest(self, laters: Sequence[list[tuple[float, int]]], now: float) -> list[int]:
        found: list[tuple[float, int]] = []
        for later in laters:
            while later and (not found or later[0][0] - now <= found[0][0] - now):
                each = heappop(later)
                if each[1] in self.times:
                    found.append(each)
        for time, node in found:
            heappush(self._later[self.turn[node]], (time, node))
        soonest = min([time - now for time, _ in found], default=0.0)
        return [node for time, node in found if time - now == soonest]
