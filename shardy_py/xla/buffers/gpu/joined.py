"""Collectives that run as one op: operands of a sum are concatenated before it, its parts sliced after it.

Gathers and permutes of one op have a buffer each. Source: openxla/xla, xla/service/all_reduce_contiguous.cc.
Not here: which run as one (`xla/targets/combining.py`).

>>> sums = [Event("a", ("x",), ("y",), over=("x",)), Event("b", ("z",), ("w",), over=("z",))]
>>> [event.makes for event in joined(sums, [sums], {"y": 4, "w": 8})]
[(Together(first='y', is_sum=False),), (Together(first='y', is_sum=True),), ('y',), ('w',)]
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from shardy_py.xla.buffers.schedule import Event, ordered_by_reads
from shardy_py.xla.spmd.program import Name


def joined(events: Sequence[Event], groups: Sequence[Sequence[Event]], sizes: dict[Name, int]) -> list[Event]:
    """Returns events with those of a group as one, where none needs another; notes the sizes of buffers.

    Kinds are joined one after the other: what gathers that are one op need may be a sum of a later group,
    which then ends before what needs that op. What stands before the first event that is joined, or after the
    last one, stays where it is: only the places between are put in order again. Each event of a group has
    two, as a sum of `n` becomes `n + 2` events. Source: openxla/xla, xla/service/collective_combiner_utils.h.
    """
    wide = {id(event) for group in groups for event in group}
    slots = _spread(ordered_by_reads(events, last_first=True) or events, wide)
    places = {id(event): n for n, event in enumerate(slots) if event is not None}
    for group in groups:
        left = [*group]
        while len(left) > 1:
            left = left[_joined_first(left, slots, places, wide, sizes) :]
    return [event for event in slots if event is not None]


def _joined_first(
    group: Sequence[Event],
    slots: list[Event | None],
    places: dict[int, int],
    wide: set[int],
    sizes: dict[Name, int],
) -> int:
    """How many events of a group, from its first, can be one, which they then are in the places of events."""
    for count in range(len(group), 1, -1):
        own = {id(event) for event in group[:count]}
        one, last = _one(group[:count], sizes), group[count - 1]
        held = [places[each] for each in own]
        first, end = min(held), max(held) + 2
        tried: list[Event] = []
        for event in slots[first:end]:
            if event is last:
                tried += one
            elif event is not None and id(event) not in own:
                tried.append(event)
        found = ordered_by_reads(tried, last_first=True)
        if not found:
            continue
        wide -= own
        spread = _spread(found, wide)
        slots[first:end] = [*spread, *[None] * (end - first - len(spread))]
        places |= {id(event): first + n for n, event in enumerate(spread) if event is not None}
        return count
    return 1


def _spread(events: Sequence[Event], wide: Container[int]) -> list[Event | None]:
    """The events with a free place after each of these, by their identities."""
    return [each for event in events for each in ((event, None) if id(event) in wide else (event,))]


def written_apart(events: Sequence[Event], over: Mapping[Name, Name], sizes: dict[Name, int]) -> list[Event]:
    """The events with a copy of a value for each but one of those that write over it, made with the value.

    over: by what an event makes, the value that it writes over. Source: openxla/xla,
    xla/service/copy_insertion.cc, xla/backends/gpu/transforms/copy_fusion.cc.
    """
    writers: dict[Name, list[Name]] = {}
    for made, name in over.items():
        writers.setdefault(name, []).append(made)
    makers = {name for event in events for name in event.makes}
    several = {name: made for name, made in writers.items() if len(made) > 1 and name in makers}
    added: dict[Name, list[Name]] = {
        name: [("copy", name, n) for n in range(len(made) - 1)] for name, made in several.items()
    }
    copies = {
        made: copy for name, each in several.items() for made, copy in zip(each[1:], added[name], strict=True)
    }
    found: list[Event] = []
    for event in events:
        for name in added.keys() & event.makes if added else ():
            sizes |= dict.fromkeys(added[name], sizes[name])
            event = event._replace(makes=(*event.makes, *added[name]))
        own = {made: over[made] for made in event.makes if made in copies}
        found.append(_over_copies(event, own, copies) if own else event)
    return found


def _over_copies(event: Event, over: Mapping[Name, Name], copies: Mapping[Name, Name]) -> Event:
    """The event with the copies that it writes over instead of the values that these are of.

    over: by what it makes, the value. A loop may start with one value several times.
    """
    if len(event.makes) == 1:
        ((made, name),) = over.items()
        read, written = (
            tuple([copies[made] if each == name else each for each in names])
            for names in (event.reads, event.over)
        )
        return event._replace(reads=read, over=written)
    written = tuple(
        [copies[made] if made in over else each for made, each in zip(event.makes, event.over, strict=True)]
    )
    left = {name: event.reads.count(name) - [*over.values()].count(name) for name in over.values()}
    read = tuple([each for each in event.reads if left.get(each, 1) > 0])
    return event._replace(reads=(*read, *(copies[made] for made in over)), over=written)


class Together(NamedTuple):
    """A buffer of several values. first: one of them. is_sum: whether they are summed over devices."""

    first: Name
    is_sum: bool = False


def summed(names: Sequence[Name]) -> Name | None:
    """Returns a value whose sum, joined with others, is the first of these; None if there is none."""
    name = names[0] if names else None
    return name.first if isinstance(name, Together) and name.is_sum else None


def is_taken_apart(event: Event) -> bool:
    """True if an event takes a value from a sum of several."""
    return summed(event.reads) is not None


def _one(group: Sequence[Event], sizes: dict[Name, int]) -> list[Event]:
    """The events of a group: of sums, which are written over what is put together, or of others."""
    reads = tuple(dict.fromkeys(name for event in group for name in event.reads))
    makes = tuple(name for event in group for name in event.makes)
    first = group[0]
    if not all(event.over for event in group):
        return [first._replace(reads=reads, makes=makes)]
    together, whole = Together(makes[0]), Together(makes[0], is_sum=True)
    sizes[together] = sizes[whole] = sum(sizes.get(name, 0) for name in makes)
    return [
        Event(first.step, reads, (together,)),
        first._replace(reads=(together,), makes=(whole,), over=(together,)),
        *(Event(event.step, (whole,), event.makes) for event in group),
    ]
