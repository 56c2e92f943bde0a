"""The order in which XLA's backend for the host runs ops: breadth first.

An op is ready as soon as all of its operands are, and ops run in the order in which they became ready. So what
depends on arguments alone, such as a gather of a weight, runs first and is stored until it is needed.
Source: openxla/xla, the concurrency-optimized scheduler of xla/service/hlo_memory_scheduler.cc.

>>> a, b, c = Event("first", ("x",), ("a",)), Event("second", ("a",), ("b",)), Event("gather", ("y",), ("c",))
>>> [event.step for event in breadth_first([a, b, c])]
['first', 'gather', 'second']
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from shardy_py.spmd.model import Collective
from shardy_py.spmd.program import Name


class Event(NamedTuple):
    """A step that runs, a collective `sent` on an operand of it, or the sum of results: then the step is None.

    reads, makes: names of stored values. kind: sums of equal kind may be combined.
    """

    step: Any
    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    sent: Collective | None = None
    kind: Hashable = None


def breadth_first(events: Sequence[Event]) -> list[Event]:
    """Returns events, which are in program order, in that of the host."""
    makers = {name: number for number, event in enumerate(events) for name in event.makes}
    users: dict[Name, list[int]] = defaultdict(list)
    waiting = [0] * len(events)
    ready: deque[int] = deque()
    given: dict[Name, None] = {}
    for number, event in enumerate(events):
        for name in dict.fromkeys(event.reads):
            users[name].append(number)
            waiting[number] += 1
            if name not in makers:
                given[name] = None
    order: list[Event] = []
    ready.extend(number for number, count in enumerate(waiting) if count == 0)
    pending: deque[Name] = deque(given)
    while pending or ready:
        # Values from outside come first, each followed by what it makes ready.
        if pending:
            made: Iterable[Name] = (pending.popleft(),)
        else:
            event = events[ready.popleft()]
            order.append(event)
            made = event.makes
        for name in made:
            for number in users[name]:
                waiting[number] -= 1
                if waiting[number] == 0:
                    ready.append(number)
    return order
