"""The values that an op of a TPU reads in VMEM if they are fetched and how much of each, but what it updates.

Not here: whether there is time to fetch them (`fetched.py`), what loops read (`loops_there.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod
from typing import TYPE_CHECKING

from shardy_py.ops import TABLE, Family, Storage
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES
from shardy_py.xla.buffers.schedule import Event, is_in_loop
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.fusion import FusedStep
    from shardy_py.xla.buffers.stored import StoredBlock

_FETCHED_KINDS = ("all_gather", "collective_permute")


def note_used(block: StoredBlock, groups: Iterable[FusedStep]) -> None:
    """Notes the bytes that steps with all that is fused into them read of each value.

    groups: these steps.
    """
    sizes = block.sizes
    for group in groups:
        own = block.in_vmem.used_by[id(group.members[-1])] = dict[Name, int]()
        needs = frozenset(group.needs)
        for member in group.members:
            part = sizes.get(member.results[0], 0) if takes_slices(member) and member.results else None
            for position, operand in enumerate(member.operands):
                name = block.stored_name(operand)
                if name in needs:
                    whole = sizes.get(name, 0)
                    own[name] = own.get(name, 0) + (whole if part is None or position else min(part, whole))


def takes_slices(step: PlannedOp) -> bool:
    """Returns whether a step takes slices of its first operand."""
    row = TABLE[step.record.name]
    return (row.kind is Family.INDEXED and row.storage is not Storage.IN_PLACE) or COMPILED.of(
        step.record.name
    ).form is NodeForm.SLICE


def read_there(block: StoredBlock, event: Event, sent: Collection[Name]) -> set[Name]:
    """Returns what an event reads in VMEM if it is fetched: all that a collective or sum sends, else not all.

    sent: what collectives send for the step of the event instead.
    """
    if is_fetched_whole(block, event) or _is_copy(block, event):
        return {*event.reads}
    if computes(event) and not event.step.blocks and not is_constant(event):
        is_fetched = STORED.of(event.step.record.name).is_over_operands
        updated = tuple([name for at in event.updated for name in event.over_at(at)]) or event.over
        over = updated if event.is_update and not is_fetched else ()
        return {name for name in {*event.reads}.difference(over, sent) if not is_in_loop(name)}
    return set()


def _is_copy(block: StoredBlock, event: Event) -> bool:
    """True for a copy in another layout or type; one in the same layout reads what it copies in HBM."""
    if (
        is_plain_copy(event)
        or any(map(is_in_loop, event.makes))
        or event.sent is not None
        or event.sums
        or len(event.reads) != 1
    ):
        return False
    step = event.step
    is_copy = step is None or (TABLE[step.record.name].storage is Storage.ALIAS and not step.blocks)
    return is_copy and any(block.sizes.get(name, 0) for name in event.makes)


def is_plain_copy(event: Event) -> bool:
    """Returns whether an event copies a value that is replaced before all of its readers have run."""
    return event.step is None and any(isinstance(n, tuple) and n[:1] == ("copy",) for n in event.makes)


def is_fetched_whole(block: StoredBlock, event: Event) -> bool:
    """Returns whether an event is a sum, or a collective that sends what was fetched."""
    if block.setting.sends_apart and event.sent is not None:
        return event.sent.kind in _FETCHED_KINDS
    return bool(event.sums)


def computes(event: Event) -> bool:
    """Returns whether an event is an op that computes, which neither sends nor only gives names."""
    step = event.step
    return step is not None and event.sent is None and TABLE[step.record.name].storage is not Storage.ALIAS


def is_constant(event: Event) -> bool:
    """Returns whether an event is a constant."""
    return event.step is not None and event.sent is None and STORED.of(event.step.record.name).is_constant


def has_elements(block: StoredBlock, name: Name) -> bool:
    """True for a value of several elements that is in memory."""
    type_ = block.types.get(name)
    size = block.sizes.get(name, 0)
    return size > ELEMENT_BYTES if type_ is None else size > 0 and prod(size or 0 for size in type_.shape) > 1
