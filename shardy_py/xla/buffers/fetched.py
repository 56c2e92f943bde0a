"""The values that XLA:TPU fetches into VMEM before ops read them there, where values are in HBM.

An op reads from VMEM what was there, in HBM, before the op ahead of it ran: each value is fetched once. Not
fetched are what an op reads a part of or writes over, what is sent instead, and single elements. Source: the
buffer assignments of XLA:TPU for about 60 programs.

Not here: which values are in VMEM in the first place (`vmem.py`), the addresses that copies have
(`beside_vmem.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import prod

from shardy_py.ops import TABLE, Family, Storage
from shardy_py.xla.buffers.assignment import Assignment
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Name


def fetches(block: StoredBlock, assignment: Assignment, room: int) -> int:
    """Returns how many values are fetched, with those of loops and branches; room: the bytes of VMEM."""
    return sum(len({*_fetched(inner, each, room)}) for inner, each in _computations(block, assignment))


def computes(event: Event) -> bool:
    """Returns whether an event is an op that computes, which neither sends nor only gives names."""
    step = event.step
    return step is not None and event.sent is None and TABLE[step.record.name].storage is not Storage.ALIAS


def _computations(block: StoredBlock, assignment: Assignment) -> Iterator[tuple[StoredBlock, Assignment]]:
    """A computation, and those that loops and branches run in it."""
    yield block, assignment
    for event, regions in zip(assignment.events, assignment.regions, strict=True):
        if regions:
            for inner, region in zip(event.step.blocks, regions, strict=True):
                yield from _computations(block.inside(inner), region)


def _fetched(block: StoredBlock, assignment: Assignment, room: int) -> Iterator[Name]:
    """The values that the ops of a computation fetch, each perhaps several times."""
    made: dict[Name, int] = {}
    sent: dict[int, set[Name]] = defaultdict(set)
    count = 0
    for event in assignment.events:
        if event.sent is not None and event.sent.kind == "all_gather":
            sent[id(event.step)].update(event.reads)
        elif computes(event) and not event.step.blocks and not _is_constant(event):
            left = _left_in_hbm(block, event) | sent[id(event.step)]
            for name in event.reads:
                is_there = name not in left and made.get(name, -1) < count
                if is_there and assignment.sizes.get(name, 0) <= room and _has_elements(block, name):
                    yield name
            count += 1
        for name in event.makes:
            made[name] = len(assignment.events) if _is_constant(event) else count


def _is_constant(event: Event) -> bool:
    return event.step is not None and event.sent is None and STORED.of(event.step.record.name).is_constant


def _left_in_hbm(block: StoredBlock, event: Event) -> set[Name]:
    """The values of which an op reads a part, as a slice does, or that it writes over."""
    left = {*event.over} if event.is_update else set[Name]()
    row = TABLE[event.step.record.name]
    if row.kind is Family.INDEXED and row.storage is not Storage.IN_PLACE:
        left.add(block.stored_name(event.step.operands[0]))
    return left


_ELEMENT = 512
"""The bytes of a tile with one element."""


def _has_elements(block: StoredBlock, name: Name) -> bool:
    """True for a value of several elements that is in memory."""
    type_ = block.types.get(name)
    size = block.sizes.get(name, 0)
    return size > _ELEMENT if type_ is None else size > 0 and prod(size or 0 for size in type_.shape) > 1
