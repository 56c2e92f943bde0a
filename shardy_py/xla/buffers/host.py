"""The events of a block on the host: its ops (`host_steps.py`), fused (`host_fusion.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from shardy_py.ops import TABLE, Control
from shardy_py.xla.buffers.host_equal import merged
from shardy_py.xla.buffers.host_fusion import FusedOps, HostFusion
from shardy_py.xla.buffers.host_program import HostOp, HostProgram, is_in_place
from shardy_py.xla.buffers.host_transposes import without_transposes
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


def host_events(program: HostProgram, returned: Sequence[Name]) -> list[Event]:
    """Returns what runs, in program order.

    returned: the values that the block returns.
    """
    listed = without_transposes(_live(program.ops, returned), returned, program.alias)
    listed = merged(_live(listed, returned), program.types, program.alias, program.apart)
    returned = [*map(program.stored, returned)]
    groups = HostFusion(listed, program.types, returned, program.by_library).groups()
    is_sorted = any(listed[group.root].kind == "sort" for group in groups)
    readers = Counter(name for group in groups for name in group.reads) if is_sorted else Counter[Name]()
    found: list[Event] = []
    for group in groups:
        op = listed[group.root]
        if op.kind == "reshape" and all(listed[member].kind == "reshape" for member in group.members):
            program.alias[op.makes[0]] = next(iter(group.reads))  # the same memory under another shape
        else:
            if op.kind == "constant":
                program.sizes[op.makes[0]] = 0  # part of the code
            found.append(_event(program, op, group, readers))
    return found


def _live(ops: Sequence[HostOp], returned: Sequence[Name]) -> Sequence[HostOp]:
    """The ops whose values are needed."""
    read = {*returned, *chain.from_iterable([op.reads for op in ops])}
    if not any(map(read.isdisjoint, filter(None, [op.makes for op in ops]))):
        return ops  # something reads what each op makes
    needed = set(returned)
    found: list[HostOp] = []
    for op in reversed(ops):
        if not op.makes or not needed.isdisjoint(op.makes):
            needed.update(op.reads)
            found.append(op)
    return found[::-1]


def _event(program: HostProgram, op: HostOp, group: FusedOps, readers: Mapping[Name, int]) -> Event:
    is_renamed = not program.alias.keys().isdisjoint(group.reads)
    reads = tuple(dict.fromkeys(map(program.stored, group.reads)) if is_renamed else group.reads)
    if op.sums:
        first = op.sums[0]
        element = "f32" if first.element_type == "bf16" else first.element_type  # the host sums up in f32
        kind = (first.kind, element, first.group, first.group_size)
        return Event(None, reads, op.makes, kind=kind, sums=op.sums)
    step = op.computed or (None if op.step is not None and op.step.blocks else op.step)
    is_loop = step is not None and bool(step.blocks) and TABLE[step.record.name].control is Control.LOOP
    is_sort, is_written = op.kind == "sort", is_in_place(op)
    if is_loop:
        over = tuple(map(program.stored, op.reads[: len(op.makes)]))
    elif is_sort:
        # What it sorts, each in the place of its own, if nothing else reads that.
        over = tuple(program.stored(name) if readers[name] == 1 else None for name in op.reads)
    else:
        over = tuple([name for name, direct in group.reads.items() if direct])
        over = tuple(map(program.stored, over)) if is_renamed else over
        if is_written and op.reads:
            over = tuple(dict.fromkeys((program.stored(op.reads[0]), *over)))
    return Event(step, reads, op.makes, op.sent, over=over, is_update=is_loop or (is_written and not is_sort))
