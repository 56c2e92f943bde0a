"""Copies of arguments whose memory a result takes: donated ones, those that a loop carries, and updated ones.

A result can be written over an argument if all that reads the argument has run before, whatever the order.
If an op that reads it does not come before the result in the graph, the argument is copied first, and the
copy is read. So are the values with which a loop starts, unless it is the last that reads them. Source:
openxla/xla, xla/service/copy_insertion.cc, which removes copies by dependencies.

>>> update = Event("update", ("w", "g"), ("new",), over=("w",))
>>> gradient = Event("gradient", ("w", "dy"), ("dx",))
>>> copied([update, gradient], {"w": "new"})
(['w'], [])
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, repeat

from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


def copied(events: Sequence[Event], taken: Mapping[Name, Name]) -> tuple[list[Name], list[Name]]:
    """Returns the arguments that are copied first, and those into which their results are copied at the end.

    XLA puts copies at both places, and removes those that it can, at the end first. The copy of what a loop
    makes stays there: the loop starts with a value that need not come after the copy of the argument. Then
    the other can go, if all that reads the argument comes before.

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
    first: list[Name] = []
    last: list[Name] = []
    for bit, (name, maker) in enumerate(pairs.items()):
        is_read_otherwise = maker in readers[name] and name not in _over(events[maker], taken[name])
        if not all(before[reader] >> bit & 1 for reader in readers[name]):
            first.append(name)
        elif is_read_otherwise:
            (last if _is_loop(events[maker]) else first).append(name)
    return first, last


def _is_loop(event: Event) -> bool:
    return event.is_update and event.step is not None and bool(event.step.blocks)


def _over(event: Event, made: Name) -> tuple[Name, ...]:
    return event.over_at(event.makes.index(made))


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


def with_copies(events: Sequence[Event], sizes: dict[Name, int], names: Collection[Name]) -> list[Event]:
    """The events with copies of these arguments first, which are read instead.

    sizes: of values; receives those of copies.
    """
    copies: dict[Name, Name] = {name: ("copy", name) for name in names}
    sizes |= {copy: sizes[name] for name, copy in copies.items()}
    made = [Event(None, (name,), (copy,)) for name, copy in copies.items()]
    return [*made, *(_reading(each, copies) for each in events)]


def with_copies_at_end(
    events: Sequence[Event],
    sizes: dict[Name, int],
    names: Collection[Name],
    results: Sequence[Name],
    carried: Sequence[Name | None],
) -> tuple[list[Event], list[Name]]:
    """The events with copies of results into the memory of these arguments at the end, and the new results.

    sizes: of values; receives those of copies. carried: the argument that is first in the memory of each.
    """
    found = [*events]
    returned: list[Name] = []
    for made, name in zip(results, chain(carried, repeat(None)), strict=False):
        if name is not None and name in names:
            copy = ("copy", made)
            sizes[copy] = sizes[made]
            found.append(Event(None, (made,), (copy,)))
            made = copy
        returned.append(made)
    return found, returned


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
        if _is_loop(event) and len(event.over) == len(event.makes):
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
    events: Sequence[Event], sizes: dict[Name, int], arguments: Collection[Name]
) -> list[Event]:
    """Returns events with copies of arguments that ops update in place.

    sizes: of values; receives those of copies. arguments: those whose memory no result takes.
    """
    found: list[Event] = []
    for number, event in enumerate(events):
        name = event.over[0] if event.over else None
        if _updates_one(event) and name in arguments:
            copy = ("copy", name, number)
            sizes[copy] = sizes[name]
            found.append(Event(None, (name,), (copy,)))
            event = _reading(event, {name: copy})
        found.append(event)
    return found


def _updates_one(event: Event) -> bool:
    """True for an op without regions that updates a value in its memory."""
    is_op = event.step is not None and not event.step.blocks and event.sent is None and not event.sums
    return is_op and event.is_update and len(event.makes) == 1


def _reading(event: Event, copies: Mapping[Name, Name]) -> Event:
    return event.renamed(lambda name: copies.get(name, name))
