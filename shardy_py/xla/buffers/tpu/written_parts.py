"""Concatenations of many values, into whose memory XLA:TPU writes each one where it is made.

    p = dot(...); q = dot(...); ...; concatenate(p, q, r, s, t)
    ->  (p, c0) = fusion(...); (q, c1) = fusion(c0, ...); ...; c4 = fusion(c3, ...)

Up to four values are padded, and combined where they are read. More are written one after another into new
memory, if each starts at a tile, and that by the fusion with the product that makes it, if the one before is
there by then. So all the memory of a concatenation is needed from when its first value is made, as it is by
the solutions of a triangular system that are found block by block. Its pass (`concat-decomposer`) is not
public; from what it makes of 60 concatenations. Not here: which values are stored (`fusion.py`), the updates
of what loops carry (`updates_inside.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.ops import OpRecord
from shardy_py.xla.buffers.local_sizes import TILED, least_padded
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.storing import PADDED
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


class _Update(NamedTuple):
    """Memory that an event writes besides its own results: that of another value, or new."""

    part: Name
    before: Name | None
    made: Name


def is_written_by_parts(record: OpRecord) -> bool:
    """Returns whether the operands of a concatenation are written into its memory one after another.

    >>> from shardy_py.ops import TensorType
    >>> rows, whole = TensorType((128, 256)), TensorType((640, 256))
    >>> is_written_by_parts(OpRecord("stablehlo.concatenate", (rows,) * 5, (whole,), {"dimension": 0}))
    True
    """
    if COMPILED.of(record.name).form is not NodeForm.JOIN or len(record.operands) <= PADDED:
        return False
    first = record.operands[0]
    if first is None:
        return False
    dimension: int = record.attributes["dimension"]
    sizes = [0 if each is None else each.shape[dimension] or 0 for each in record.operands[:-1]]
    inner = least_padded(first)[::-1].index(dimension)
    tile = (LANES, SUBLANES)[inner] if inner < TILED else 1
    return all(start % tile == 0 for start in accumulate(sizes))


def with_parts_written(block: StoredBlock, events: Sequence[Event], kept: Collection[Name]) -> list[Event]:
    """Returns events in program order, of which products write what they make into concatenations.

    kept: the values that are needed in any case. Notes the sizes of what is written so far.
    """
    if not any(map(_is_written, events)):
        return [*events]
    makers: dict[Name, int] = {}
    readers: dict[Name, set[int]] = {}
    for number, event in enumerate(events):
        makers |= dict.fromkeys(event.makes, number)
        for name in event.reads:
            readers.setdefault(name, set()).add(number)
    updates: dict[int, list[_Update]] = {}
    rest: dict[int, Event | None] = {}
    for number, event in enumerate(events):
        if _is_written(event):
            found = [*_early_parts(block, event, events, makers)]
            for maker, update in found:
                updates.setdefault(maker, []).append(update)
                readers[update.part].discard(number)
            if found:
                rest[number] = _last(block, event, [update for _, update in found])
                block.in_vmem.made.difference_update(event.makes)
    needed = {name for name, own in readers.items() if own} | {*kept}
    changed = [
        _writing(event, updates[number], needed) if number in updates else rest.get(number, event)
        for number, event in enumerate(events)
    ]
    return [event for event in changed if event is not None]


def _is_written(event: Event) -> bool:
    return event.step is not None and event.sent is None and is_written_by_parts(event.step.record)


def _early_parts(
    block: StoredBlock, event: Event, events: Sequence[Event], makers: dict[Name, int]
) -> Sequence[tuple[int, _Update]]:
    """The first values of a concatenation that products make one after another, by these."""
    (result,) = event.makes
    parts = [block.stored_name(name) for name in event.step.operands]
    found: list[tuple[int, _Update]] = []
    before: Name | None = None
    for position, part in enumerate(parts):
        maker = makers.get(part, -1)
        is_next = not found or found[-1][0] < maker
        if maker < 0 or not is_next or part not in event.reads or not _is_of_product(block, events[maker]):
            break
        made: Name = result if position == len(parts) - 1 else (result, "written", position)
        block.sizes[made] = block.sizes[result]
        if result in block.types:
            block.types[made] = block.types[result]
        found.append((maker, _Update(part, before, made)))
        before = made
    return found


def _is_of_product(block: StoredBlock, event: Event) -> bool:
    return event.sent is None and not event.is_update and id(event.step) in block.in_vmem.products


def _last(block: StoredBlock, event: Event, found: Sequence[_Update]) -> Event | None:
    """The event that writes the other values, if there are any."""
    before = found[-1].made
    if before in event.makes:
        return None
    done = {update.part for update in found}
    left = {block.stored_name(name) for name in event.step.operands[len(found) :]}
    reads = [name for name in event.reads if name in left or name not in done]
    return event._replace(reads=(before, *reads), over=(before,), is_update=True)


def _writing(event: Event, updates: Sequence[_Update], needed: Collection[Name]) -> Event:
    """An event that writes what it makes into other memory, too."""
    written = {update.part for update in updates}
    makes = [
        (name, event.over_at(position))
        for position, name in enumerate(event.makes)
        if name in needed or name not in written
    ]
    own = len(makes)
    makes += [(update.made, () if update.before is None else (update.before,)) for update in updates]
    reads = dict.fromkeys((*event.reads, *(u.before for u in updates if u.before is not None)))
    updated = tuple([own + i for i, update in enumerate(updates) if update.before is not None])
    return event._replace(
        reads=(*reads,),
        makes=tuple([name for name, _ in makes]),
        over=(),
        over_each=tuple([over for _, over in makes]),
        is_update=bool(updated),
        updated=updated,
    )
