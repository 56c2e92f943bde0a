"""Copies of arguments whose memory a result takes: donated ones, and those that a loop carries.

A result can be written over an argument if all that reads the argument has run before, whatever the order.
If an op that reads it does not come before the result in the graph, the argument is copied first, and the
copy is read. So are the values with which a loop starts, unless it is the last that reads them. Source:
openxla/xla, xla/service/copy_insertion.cc, which removes copies by dependencies.

>>> update = Event("update", ("w", "g"), ("new",), over=("w",))
>>> gradient = Event("gradient", ("w", "dy"), ("dx",))
>>> [*copied([update, gradient], {"w": "new"})]
['w']
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


def copied(events: Sequence[Event], taken: Mapping[Name, Name]) -> dict[Name, None]:
    """Returns the arguments that are copied.

    events: in an order in which they can run. taken: by argument the result that takes its memory.
    """
    readers: dict[Name, list[int]] = defaultdict(list)
    makers: dict[Name, int] = {}
    for number, event in enumerate(events):
        for name in event.reads:
            if name in taken:
                readers[name].append(number)
        makers |= dict.fromkeys(event.makes, number)
    pairs = {name: makers[made] for name, made in taken.items() if made in makers}
    before = _before([*pairs.values()], events, makers)
    found: dict[Name, None] = {}
    for bit, (name, maker) in enumerate(pairs.items()):
        over = events[maker].over_at(events[maker].makes.index(taken[name]))
        for reader in readers[name]:
            is_before = before[reader] >> bit & 1
            if not is_before or (reader == maker and name not in over):
                found[name] = None
    return found


def _before(ends: Sequence[int], events: Sequence[Event], makers: Mapping[Name, int]) -> list[int]:
    """For each event a set of bits: whether it is each of these ends, or one that the end needs."""
    found = [0] * len(events)
    for bit, end in enumerate(ends):
        found[end] |= 1 << bit
    for number in range(len(events) - 1, -1, -1):
        if found[number]:
            for name in events[number].reads:
                maker = makers.get(name)
                if maker is not None:
                    found[maker] |= found[number]
    return found


def copy_of(name: Name) -> Name:
    """The copy of an argument."""
    return ("copy", name)


def with_copies(events: Sequence[Event], names: Mapping[Name, object]) -> list[Event]:
    """The events with copies of these arguments first, which are read instead."""
    copies = {name: copy_of(name) for name in names}
    made = [Event(None, (name,), (copy,)) for name, copy in copies.items()]
    return [*made, *(each.renamed(lambda name: copies.get(name, name)) for each in events)]


def with_copies_for_loops(
    events: Sequence[Event], sizes: dict[Name, int], own: Collection[Name]
) -> list[Event]:
    """The events with copies of what loops start with, where that is an argument or read elsewhere.

    sizes: of values; receives those of copies. own: arguments whose memory results take.
    """
    last: dict[Name, int] = {}
    for number, event in enumerate(events):
        last |= dict.fromkeys(event.reads, number)
    made = {name for event in events for name in event.makes}
    found: list[Event] = []
    for number, event in enumerate(events):
        if (
            event.is_update
            and len(event.over) == len(event.makes)
            and event.step is not None
            and event.step.blocks
        ):
            kept = set[Name]()
            over: list[Name] = []
            for position, name in enumerate(event.over):
                is_free = name in own or (name in made and last[name] == number)
                if sizes.get(name) and not (is_free and name not in kept):
                    copy = ("copy", name, number, position)
                    sizes[copy] = sizes[name]
                    found.append(Event(None, (name,), (copy,)))
                    over.append(copy)
                else:
                    kept.add(name)
                    over.append(name)
            copies = [name for name in over if name not in kept]
            event = event._replace(reads=(*event.reads, *copies), over=tuple(over))
        found.append(event)
    return found


def with_copies_for_updates(
    events: Sequence[Event], sizes: dict[Name, int], own: Collection[Name], arguments: Collection[Name]
) -> list[Event]:
    last: dict[Name, int] = {}
    for number, event in enumerate(events):
        last |= dict.fromkeys(event.reads, number)
    found: list[Event] = []
    for number, event in enumerate(events):
        if event.is_update and event.step is not None and event.sent is None and not event.sums and event.over and not event.step.blocks and len(event.makes) == 1:
            name = event.over[0]
            if name in arguments and name not in own and sizes.get(name) == sizes.get(event.makes[0]):
                copy = ("copy", name, number)
                sizes[copy] = sizes[name]
                found.append(Event(None, (name,), (copy,)))
                event = event.renamed(lambda each: copy if each == name else each)
        found.append(event)
    return found
