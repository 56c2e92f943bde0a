"""The order in which chips run events: of several, the one that needs least memory.

The first takes what frees most bytes of what is ready; the second goes to the operands that have most users
behind them first; the third is the program's. Source: openxla/xla,
xla/hlo/transforms/simplifiers/hlo_memory_scheduler.cc. Not here: the order of XLA:TPU's list scheduler
(`schedule.py`), how collectives are moved to run beside kernels.

>>> events = [Event("large", (), ("a",)), Event("small", ("a",), ("b",)), Event("last", ("b",), ("c",))]
>>> [event.step for event in in_least_memory(events, {"a": 8, "b": 1, "c": 1}, ("c",))]
['large', 'small', 'last']
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from shardy_py.xla.buffers.schedule import Event, least_memory
from shardy_py.xla.spmd.program import Name

_NUMBER = 8
"""The most bytes of a single number."""


def in_least_memory(events: Sequence[Event], sizes: Mapping[Name, int], kept: Sequence[Name]) -> list[Event]:
    """Returns events in an order that needs little memory. kept: the values that are returned."""
    graph = EventGraph(events, sizes, kept)
    orders = graph.by_bytes_freed(), graph.by_users(), [*range(len(events))]
    best = min(orders, key=graph.peak)
    return [events[number] for number in best]


def or_depth_first(
    events: Sequence[Event], order: Sequence[Event], sizes: Mapping[Name, int], kept: Sequence[Name]
) -> Sequence[Event]:
    """Returns events in an order, or depth first if that needs less memory. kept: what is returned.

    events: the same in program order.
    """
    placed = least_memory(events, {})  # each after those that it needs
    graph, numbers = EventGraph(placed, sizes, kept), {id(event): n for n, event in enumerate(placed)}
    own, other = [numbers[id(event)] for event in order], graph.by_users()
    return order if graph.peak(own) <= graph.peak(other) else [placed[number] for number in other]


class EventGraph:
    """Events by what they need of each other.

    reads: the events that make what an event reads. users: those that read what it makes, each once.

    readers: by value the events that read it.
    """

    def __init__(self, events: Sequence[Event], sizes: Mapping[Name, int], kept: Sequence[Name]) -> None:
        """Events in an order in which they can run, the bytes of values, and those that are returned."""
        self.events, self.kept = events, set(kept)
        makers = {name: number for number, event in enumerate(events) for name in event.makes}
        self.values = [[name for name in dict.fromkeys(event.reads) if name in makers] for event in events]
        self.reads = [[*dict.fromkeys(makers[name] for name in names)] for names in self.values]
        self.users: list[list[int]] = [[] for _ in events]
        for number, reads in enumerate(self.reads):
            for each in reads:
                self.users[each].append(number)
        self.readers: dict[Name, list[int]] = {}
        for number, names in enumerate(self.values):
            for name in names:
                self.readers.setdefault(name, []).append(number)
        self.sizes = {name: sizes.get(name, 0) for name in makers}
        self.made = [sum([self.sizes[name] for name in event.makes]) for event in events]

    def by_bytes_freed(self) -> list[int]:
        """The order of XLA's list scheduler; of equals, what became ready last goes first."""
        uses: dict[Name, int] = dict.fromkeys(self.sizes, 0)
        for names in self.values:
            for name in names:
                uses[name] += 1
        for name in self.kept:
            if name in uses:
                uses[name] += 1
        waiting = [len(reads) for reads in self.reads]
        added = 0
        keys: list[tuple[int, int, int]] = [(0, 0, 0)] * len(self.events)

        def key(number: int) -> tuple[int, int, int]:
            if 0 < self.made[number] <= _NUMBER:  # numbers first
                return -(2**62), 0, -added
            freed = sum([self.sizes[name] for name in self.values[number] if uses[name] == 1])
            return self.made[number] - freed, -len(self.users[number]), -added

        ready: list[tuple[tuple[int, int, int], int]] = []
        for number, count in enumerate(waiting):
            if count == 0:
                keys[number] = key(number)
                ready.append((keys[number], number))
                added += 1
        heapify(ready)
        order: list[int] = []
        done = [False] * len(self.events)
        while ready:
            found, number = heappop(ready)
            if done[number] or keys[number] != found:
                continue
            done[number] = True
            order.append(number)
            last: set[int] = set()
            for name in self.values[number]:
                uses[name] -= 1
                if uses[name] == 1:
                    last.update([reader for reader in self.readers[name] if not done[reader]])
            changed = self._in_order(number, last)
            for user in self.users[number]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    changed[user] = None
            for each in changed:
                if waiting[each] == 0 and not done[each]:
                    new = key(each)
                    if keys[each][:2] != new[:2] or keys[each] == (0, 0, 0):
                        keys[each] = new
                        added += 1
                        heappush(ready, (new, each))
        return order

    def _in_order(self, number: int, users: Collection[int]) -> dict[int, None]:
        """Some users of what an event reads, in the order of that, then of its users."""
        if len(users) < 2:
            return dict.fromkeys(users)
        return {user: None for each in self.reads[number] for user in self.users[each] if user in users}

    def by_users(self) -> list[int]:
        """The order of a depth-first walk from the results, to operands with most users behind them first."""
        total, count = sum(self.made), len(self.events)
        behind: list[tuple[int, int]] = []
        for number, reads in enumerate(self.reads):
            users = max(len(self.users[number]) - 1, 0) + sum([behind[each][0] for each in reads])
            size = self.made[number] + sum([behind[each][1] for each in reads])
            behind.append((min(users, count), min(size, total)))
        ranks = [(-users, -size, number) for number, (users, size) in enumerate(behind)]
        ends = [number for number in range(count) if not self.users[number]]
        order: list[int] = []
        state = bytearray(count)
        for end in sorted(ends, key=ranks.__getitem__):
            left = [end]
            while left:
                number = left[-1]
                if state[number] == 0:
                    state[number] = 1
                    left += sorted(
                        (each for each in self.reads[number] if not state[each]),
                        key=ranks.__getitem__,
                        reverse=True,
                    )
                    continue
                left.pop()
                if state[number] == 1:
                    state[number] = 2
                    order.append(number)
        return order

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes that are alive at once."""
        last: dict[Name, int] = {}
        for number in order:
            last |= dict.fromkeys(self.values[number], number)
        alive = peak = 0
        for number in order:
            event = self.events[number]
            dying = [name for name in self.values[number] if last[name] == number and name not in self.kept]
            freed = sum([self.sizes[name] for name in dying])
            free = [name for names in event.over_each for name in names] or event.over
            over = [self.sizes[name] for name in dying if name in free]
            shared = sum(size for size in [self.sizes[n] for n in event.makes] if size in over and size)
            alive += self.made[number]
            peak = max(peak, alive - min(shared, freed))
            alive -= freed + sum([self.sizes[n] for n in event.makes if n not in last and n not in self.kept])
        return peak
