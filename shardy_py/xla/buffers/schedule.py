"""The orders in which XLA runs ops: breadth first on the host, elsewhere so that little memory is needed.

On the host, an op is ready as soon as all of its operands are, and ops run in the order in which they became
ready. So what depends on arguments alone, such as a gather of a weight, runs first and is stored.
Source: openxla/xla, the concurrency-optimized scheduler of xla/service/hlo_memory_scheduler.cc.

>>> a, b, c = Event("first", ("x",), ("a",)), Event("second", ("a",), ("b",)), Event("gather", ("y",), ("c",))
>>> [event.step for event in breadth_first([a, b, c])]
['first', 'gather', 'second']
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from shardy_py.ops import TensorType
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name

IN_LOOP = "loop"
"""The first element of the names of what the loop of a product starts with, or makes in an iteration."""


class Event(NamedTuple):
    """A step that runs, a collective `sent` on an operand of it, or a sum of results: then step is None.

    reads, makes: names of stored values. kind: sums of equal kind may be combined. sums: their collectives.
    over: what is read in whose memory the result may be, or each of several results; is_update: whether it is
    in that memory in any case, which is copied before if need be. is_part: whether what it makes is in a
    tuple with others, as what several results are in any case, or is read as a bitcast. over_each: as over,
    for each of several results. updated: the positions of those that are in the memory of what they update.
    """

    step: Any
    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    sent: PlannedCollective | None = None
    kind: Hashable = None
    sums: tuple[PlannedCollective, ...] = ()
    over: tuple[Name, ...] = ()
    is_update: bool = False
    is_part: bool = False
    over_each: tuple[tuple[Name, ...], ...] = ()
    updated: tuple[int, ...] = ()

    def updates(self, position: int) -> bool:
        """True if a result is in the memory of what it is written over in any case."""
        return position in self.updated if self.updated else self.is_update

    def over_at(self, position: int) -> tuple[Name, ...]:
        """The values that one of the results may be written over: of a loop the one in its place."""
        if self.over_each:
            return self.over_each[position] if position < len(self.over_each) else ()
        if len(self.makes) > 1 and (not self.is_update or len(self.over) == len(self.makes)):
            return self.over[position : position + 1]
        return self.over

    @property
    def over_any(self) -> dict[int, tuple[Name, ...]]:
        """The values listed in `over_each`, by identities: of many results it often is one list."""
        return {id(over): over for over in self.over_each}

    def renamed(self, names: Callable[[Name], Name]) -> Event:
        """The event with other names of what it reads and may write over."""
        each = {known: tuple(map(names, over)) for known, over in self.over_any.items()}
        return self._replace(
            reads=tuple(map(names, self.reads)),
            over=tuple(map(names, self.over)),
            over_each=tuple([each[id(over)] for over in self.over_each]),
        )


def is_in_loop(name: Name) -> bool:
    """Returns whether a value is what the loop of a product starts with, or makes in an iteration."""
    return isinstance(name, tuple) and name[:1] == (IN_LOOP,)


def breadth_first(events: Sequence[Event]) -> list[Event]:
    """Returns events, which are in program order, in that of the host."""
    users: dict[Name, list[int]] = {}
    waiting: list[int] = []
    for number, event in enumerate(events):
        reads = event.reads if len(event.reads) < 2 else dict.fromkeys(event.reads)
        waiting.append(len(reads))
        for name in reads:
            known = users.get(name)
            if known is None:
                users[name] = [number]
            else:
                known.append(number)
    made = set(chain.from_iterable([event.makes for event in events]))
    given = [name for name in users if name not in made]
    order: list[Event] = []
    ready = deque([number for number, count in enumerate(waiting) if count == 0])
    pending = deque[Name](given)
    while pending or ready:
        # Values from outside come first, each followed by what it makes ready.
        if pending:
            names: Iterable[Name] = (pending.popleft(),)
        else:
            event = events[ready.popleft()]
            order.append(event)
            names = event.makes
        for name in names:
            for number in users.get(name, ()):
                waiting[number] -= 1
                if not waiting[number]:
                    ready.append(number)
    return order


def breadth_first_combined(events: Sequence[Event], results: Sequence[Name]) -> list[Event]:
    """Returns events in the order of the host, with sums of one kind as one, as XLA combines all-reduces.

    results: the values that are returned, in their order.
    """
    is_alone = {event.kind for event in events} <= {None}
    return breadth_first(events if is_alone else _combined(events, results))


def _combined(events: Sequence[Event], results: Sequence[Name]) -> list[Event]:
    """The events, with one for each set of sums, behind what its first one was."""
    from shardy_py.xla.targets.combined_sets import (  # for several devices only
        NO_LIMIT,
        CombinedSets,
        ReadOps,
    )

    makers = makers_of(events)
    reads = {
        number: [makers[name] for name in event.reads if name in makers]
        for number, event in enumerate(events)
    }
    sums = [number for number, event in enumerate(events) if event.kind is not None]
    ends = [makers[name] for name in results if name in makers]
    sets = CombinedSets(ReadOps(reads, ends, {number: number for number in sums}))
    sets.combine({place: events[number].kind for place, number in enumerate(sums)}, NO_LIMIT)
    groups = {sums[each[0]]: [events[sums[place]] for place in each] for each in sets if len(each) > 1}
    alone = {id(event) for group in groups.values() for event in group}
    together = [
        Event(None, tuple(n for e in group for n in e.reads), tuple(n for e in group for n in e.makes))
        for group in groups.values()
    ]
    return [*[event for event in events if id(event) not in alone], *together]


def least_memory(
    events: Sequence[Event], sizes: Mapping[Name, int], types: Mapping[Name, TensorType] | None = None
) -> list[Event]:
    """Returns events in an order that needs little memory: of those that are ready, the one that frees most.

    sizes: bytes of the values that events make; others are not freed. types: of values; those of one element
    are made first. Equal ones run in program order. As the list scheduler of openxla/xla,
    xla/service/hlo_memory_scheduler.cc.
    """
    made = {name for event in events for name in event.makes}
    reads = [[name for name in dict.fromkeys(event.reads) if name in made] for event in events]
    users: dict[Name, set[int]] = defaultdict(set)
    waiting = [len(names) for names in reads]
    for number, names in enumerate(reads):
        for name in names:
            users[name].add(number)

    elements = {number for number, event in enumerate(events) if types and makes_elements(event, types)}

    def priority(number: int) -> tuple[float, int]:
        if number in elements:
            return -inf, number
        freed = sum(sizes.get(name, 0) for name in reads[number] if len(users[name]) == 1)
        return sum(sizes.get(name, 0) for name in events[number].makes) - freed, number

    ready = [priority(number) for number, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[Event] = []
    done = [False] * len(events)
    while ready:
        _, number = heappop(ready)
        if done[number]:
            continue
        done[number] = True
        order.append(events[number])
        for name in reads[number]:
            left = users[name]
            left.discard(number)
            if len(left) == 1 and waiting[last := next(iter(left))] == 0:
                heappush(ready, priority(last))  # it frees this value now
        for name in events[number].makes:
            for user in users[name]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    heappush(ready, priority(user))
    return order


def makes_elements(event: Event, types: Mapping[Name, TensorType]) -> bool:
    """Returns whether all that an event makes is one element each. types: of values."""
    made = [types.get(name) for name in event.makes]
    return bool(made) and all(type_ is not None and {*type_.shape} <= {1} for type_ in made)


def ordered_by_reads(events: Sequence[Event], *, last_first: bool = False) -> list[Event] | None:
    """Returns events each after those that make what it reads; None if some need each other.

    last_first: whether of these the last ones come first.
    """
    makers = makers_of(events)
    reads = [[makers[name] for name in event.reads if name in makers] for event in events]
    reads = [each[::-1] for each in reads] if last_first else reads
    order = walked(range(len(events)), reads)
    return None if order is None else [events[number] for number in order]


def walked(ends: Iterable[int], reads: Sequence[Sequence[int]]) -> list[int] | None:
    """Returns numbers in the order of a depth-first walk, each after what it reads; None if that is a circle.

    ends: where the walk starts. reads: by number those that it needs, in the order in which it goes to them.
    """
    order: list[int] = []
    state = bytearray(len(reads))
    for end in ends:
        left = [end]
        while left:
            number = left[-1]
            if state[number] == 0:
                state[number] = 1
                if any(state[each] == 1 for each in reads[number]):
                    return None
                left += [each for each in reversed(reads[number]) if not state[each]]
                continue
            left.pop()
            if state[number] == 1:
                state[number] = 2
                order.append(number)
    return order


def makers_of(events: Sequence[Event]) -> dict[Name, int]:
    """Returns the number of the event that makes each value: the first one, if some make it again."""
    last = len(events) - 1
    return {name: last - number for number, event in enumerate(reversed(events)) for name in event.makes}
