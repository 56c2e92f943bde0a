"""The order in which XLA runs ops on GPUs and TPUs: of two or three, the one that needs least memory.

The first takes what frees most bytes of what is ready; the second goes to the operands that have most users
behind them first; the third takes operands in their order. Source: openxla/xla,
xla/hlo/transforms/simplifiers/hlo_memory_scheduler.cc. Of XLA's own HLO for TPUs, the best one is the order
of the compiler, or close to it, in two of three programs. Not here: how collectives are moved to run beside
kernels (`gpu/latency.py`).

>>> events = [Event("large", (), ("a",)), Event("small", ("a",), ("b",)), Event("last", ("b",), ("c",))]
>>> found = in_least_memory(events, {"a": 8, "b": 1, "c": 1}, ("c",), lambda event: False)
>>> [event.step for event in found]
['large', 'small', 'last']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from shardy_py.xla.buffers.schedule import Event, makers_of, walked
from shardy_py.xla.spmd.program import Name


def in_least_memory(
    events: Sequence[Event],
    sizes: Mapping[Name, int],
    kept: Sequence[Name],
    is_number: Callable[[Event], bool],
    inside: Callable[[Event], int] = lambda event: 0,
    *,
    knows_operands: bool = True,
) -> list[Event]:
    """Returns events in an order that needs little memory.

    events: each after those that make what it reads. sizes: bytes of what they make. kept: the values that
    are returned. is_number: whether an event makes single numbers, which run first. inside: the bytes that
    are alive at most in what an event runs, as the body of a loop. knows_operands: whether what an event
    reads is in the order of its operands.
    """
    graph = _Graph(events, sizes, kept)
    numbers = frozenset([number for number, event in enumerate(events) if is_number(event)])
    within = {n: inside(event) for n, event in enumerate(events) if event.step is not None}
    orders = [graph.by_bytes_freed(numbers), graph.by_users()]
    if knows_operands:
        orders.append(graph.by_operands())
    best = min(orders, key=lambda order: graph.peak(order, within))
    return [events[number] for number in best]


class _Graph:
    """reads: the events that make what an event reads. users: those that read what it makes, each once.

    readers: by value the events that read it.
    """

    def __init__(self, events: Sequence[Event], sizes: Mapping[Name, int], kept: Sequence[Name]) -> None:
        self.events, self.kept = events, set(kept)
        makers = makers_of(events)
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

    def by_bytes_freed(self, numbers: Collection[int]) -> list[int]:
        """The order of XLA's list scheduler; of equals, what became ready last goes first."""
        uses: dict[Name, int] = dict.fromkeys(self.sizes, 0)
        for names in self.values:
            for name in names:
                uses[name] += 1
        for name in self.kept:
            if name in uses:
                uses[name] += 1
        # The tuple of results reads them, too.
        readers = [
            len(users) + (not self.kept.isdisjoint(event.makes))
            for event, users in zip(self.events, self.users, strict=True)
        ]
        waiting = [len(reads) for reads in self.reads]
        added = 0
        keys: list[tuple[int, int, int]] = [(0, 0, 0)] * len(self.events)

        def key(number: int) -> tuple[int, int, int]:
            if number in numbers:
                return -(2**62), 0, -added
            freed = sum([self.sizes[name] for name in self.values[number] if uses[name] == 1])
            return self.made[number] - freed, -readers[number], -added

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
        reads = [sorted(each, key=ranks.__getitem__) for each in self.reads]
        return walked(sorted(ends, key=ranks.__getitem__), reads) or []

    def by_operands(self) -> list[int]:
        """The order of a depth-first walk from the results, to operands in their order."""
        ends = [number for number in range(len(self.events)) if not self.users[number]]
        return walked(ends, self.reads) or []

    def peak(self, order: Sequence[int], inside: Mapping[int, int]) -> int:
        """The most bytes that are alive at once. inside: in what each event runs."""
        last: dict[Name, int] = {}
        for number in order:
            last |= dict.fromkeys(self.values[number], number)
        alive = peak = 0
        for number in order:
            event = self.events[number]
            dying = [name for name in self.values[number] if last[name] == number and name not in self.kept]
            freed = sum([self.sizes[name] for name in dying])
            free = {name for names in event.over_any.values() for name in names} or {*event.over}
            over = {self.sizes[name] for name in dying if name in free}
            shared = sum(size for size in [self.sizes[n] for n in event.makes] if size in over and size)
            alive += self.made[number]
            peak = max(peak, alive - min(shared, freed) + inside.get(number, 0))
            alive -= freed + sum([self.sizes[n] for n in event.makes if n not in last and n not in self.kept])
        return peak
