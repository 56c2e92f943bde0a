"""Updates in the fusions that make what they write: XLA:TPU writes it where it is kept at once.

    (y, z) = fusion(...);  stack' = dynamic_update_slice(stack, y)   ->   (stack', z) = fusion(stack, ...)

So what a loop keeps of each of its runs is not stored twice. Of fusions that make several values only those
with a product are such. From the loops of 12 networks and their gradients, compiled ahead of time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.facet import COMPILED, NodeForm


def with_updates_inside(
    events: Sequence[Event],
    kept: Collection[Name],
    products: Collection[int],
    stored_name: Callable[[Name], Name],
) -> list[Event]:
    """Returns events in program order, without those that write one of several results into a part.

    kept: the values that are needed in any case. products: the identities of steps that are computed with a
    product. stored_name: the value whose memory holds a value.
    """
    makers, readers = dict[Name, int](), dict[Name, list[int]]()
    for number, event in enumerate(events):
        makers |= dict.fromkeys(event.makes, number)
        for name in event.reads:
            readers.setdefault(name, []).append(number)
    inside: dict[int, dict[Name, Event]] = {}
    """By event the updates that it makes, by what they write."""
    moved = set[int]()
    for number, event in enumerate(events):
        written = _written(event, stored_name)
        maker = -1 if written is None else makers.get(written, -1)
        if written is None or written in kept or maker < 0 or len(readers[written]) > 1:
            continue
        made_by = events[maker]
        if len(made_by.makes) < 2 or made_by.sent is not None or id(made_by.step) not in products:
            continue
        if event.over[0] in makers:
            continue  # only what a loop carries
        is_ready = all(makers.get(name, -1) < maker for name in event.reads if name != written)
        if is_ready and all(at <= maker or at == number for at in readers[event.over[0]]):
            inside.setdefault(maker, {})[written] = event
            moved.add(number)
    return [
        _one(event, inside[n]) if n in inside else event for n, event in enumerate(events) if n not in moved
    ]


def _written(event: Event, stored_name: Callable[[Name], Name]) -> Name | None:
    """The value that an event writes into a part of another one, in whose memory it stays."""
    step = event.step
    if step is None or event.sent is not None or not event.is_update or len(event.makes) != 1:
        return None
    if COMPILED.of(step.record.name).form is not NodeForm.UPDATE:
        return None
    whole, part = map(stored_name, step.operands[:2])
    return part if part in event.reads and whole in event.reads and event.over[:1] == (whole,) else None


def _one(event: Event, updates: Mapping[Name, Event]) -> Event:
    """An event that makes updates itself."""
    reads, over = dict.fromkeys(event.reads), list[tuple[Name, ...]]()
    makes, updated = list[Name](), list[int]()
    for position, name in enumerate(event.makes):
        update = updates.get(name)
        if update is None:
            makes.append(name)
            over.append(event.over_at(position))
        else:
            reads |= dict.fromkeys(each for each in update.reads if each != name)
            makes += update.makes
            over.append(update.over[:1])
            updated.append(position)
    made = {"makes": (*makes,), "over_each": (*over,), "updated": (*updated,)}
    return event._replace(reads=(*reads,), is_update=True, **made)
