"""Collectives that run as one op: what is summed is put together before, and taken apart after it.

Gathers and permutes of one op have a buffer each. Source: openxla/xla, xla/service/all_reduce_contiguous.cc.
Not here: which run as one (`xla/targets/combining.py`).

>>> sums = [Event("a", ("x",), ("y",), over=("x",)), Event("b", ("z",), ("w",), over=("z",))]
>>> [(event.reads, event.makes) for event in joined(sums, [sums], {"y": 4, "w": 8})[:2]]
[(('x', 'z'), (('joined', 'y'),)), ((('joined', 'y'),), (('joined', 'y', 'sum'),))]
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


def joined(events: Sequence[Event], groups: Sequence[Sequence[Event]], sizes: dict[Name, int]) -> list[Event]:
    """Returns events, which are in program order, with those of a group as one; notes the sizes of buffers."""
    instead = {id(group[-1]): _one(group, sizes) for group in groups}
    dropped = {id(event) for group in groups for event in group[:-1]}
    found: list[Event] = []
    for event in events:
        if id(event) in instead:
            found += instead[id(event)]
        elif id(event) not in dropped:
            found.append(event)
    return _in_order(found) if groups else found


def _one(group: Sequence[Event], sizes: dict[Name, int]) -> list[Event]:
    """The events of a group: of sums, which are written over what is put together, or of others."""
    reads = tuple(dict.fromkeys(name for event in group for name in event.reads))
    makes = tuple(name for event in group for name in event.makes)
    first = group[0]
    if not all(event.over for event in group):
        return [first._replace(reads=reads, makes=makes)]
    together = ("joined", makes[0])
    whole = (*together, "sum")
    sizes[together] = sizes[whole] = sum(sizes.get(name, 0) for name in makes)
    return [
        Event(first.step, reads, (together,)),
        first._replace(reads=(together,), makes=(whole,), over=(together,)),
        *(Event(event.step, (whole,), event.makes) for event in group),
    ]


def _in_order(events: Sequence[Event]) -> list[Event]:
    """The events, each after those that make what it reads."""
    makers = {name: number for number, event in enumerate(events) for name in event.makes}
    order: list[Event] = []
    state = bytearray(len(events))
    for start in range(len(events)):
        left = [start]
        while left:
            number = left[-1]
            if state[number] == 0:
                state[number] = 1
                before = (makers[name] for name in events[number].reads if name in makers)
                left += [each for each in before if state[each] == 0]
                continue
            left.pop()
            if state[number] == 1:
                state[number] = 2
                order.append(events[number])
    return order
