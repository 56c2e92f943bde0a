"""Ops in the body of a loop that read no value that changes: on the host they run once, before the loop.

Source: openxla/xla, xla/service/while_loop_invariant_code_motion.cc, which XLA's backend for the host runs
after the partitioner, and those for GPUs and TPUs do not. What only changes the form of a value moves with
an op that needs it; the copies of a layout, which come later, with what they are copies of. What reads a
value behind an optimization barrier stays: the barrier also holds values that change.

>>> scaled = HostOp("multiply", ("w", "s"), ("ws",))
>>> read, used = HostOp("broadcast_in_dim", ("b",), ("wide",)), HostOp("add", ("ws", "x"), ("y",))
>>> [op.kind for op in invariant((scaled, read, used), {"w", "s", "b"}, ["y"])]
['multiply']
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shardy_py.mlir.loops import iterations
from shardy_py.ops import TABLE, Control
from shardy_py.xla.buffers.facet import host_row
from shardy_py.xla.buffers.host_program import HostOp, HostProgram
from shardy_py.xla.spmd.from_program import has_effects, source_op
from shardy_py.xla.spmd.program import Block, Name, PlannedOp

_COPY = "copy"


def repeats(step: PlannedOp) -> bool:
    """True if a step is a loop, but for one that is known to have one iteration at most."""
    if TABLE[step.record.name].control is not Control.LOOP:
        return False
    op = source_op(step)
    return step.times > 1 or op is None or not iterations(op)[1]


def left_by(inside: HostProgram, block: Block) -> tuple[list[HostOp], dict[Name, bool]]:
    """Removes from the body of a loop what runs before the loop.

    inside: the ops of the body, without what is removed behind. Returns the ops, and the values that they
    make: whether the body still reads them.
    """
    moved = invariant(inside.ops, block.captured, {*block.results, *inside.apart})
    gone = set(map(id, moved))
    inside.ops[:] = [op for op in inside.ops if id(op) not in gone]
    still_read = {name for op in inside.ops for name in op.reads}
    return moved, {name: name in still_read for op in moved for name in op.makes}


def invariant(ops: Sequence[HostOp], outside: Collection[Name], kept: Collection[Name]) -> list[HostOp]:
    """Returns the ops of a loop's body that run before the loop, in their order.

    outside: the values from outside that the body reads. kept: those that it makes in each iteration in any
    case, as those that it returns.
    """
    known, moved = set(outside), set[Name]()
    needed: list[HostOp] = []
    for op in ops:
        if not _can_move(op, kept) or not known.issuperset(op.reads):
            continue
        known.update(op.makes)
        if op.kind == _COPY:
            is_moved = not moved.isdisjoint(op.reads)
        else:
            is_moved = not host_row(op.kind).stays_in_loops
        if is_moved:
            moved.update(op.makes)
            needed.append(op)
    leaving = {id(op) for op in needed}
    wanted = {name for op in needed for name in op.reads}
    for op in reversed(ops):
        if not wanted.isdisjoint(op.makes) and known.issuperset(op.makes) and id(op) not in leaving:
            leaving.add(id(op))
            wanted.update(op.reads)
    return [op for op in ops if id(op) in leaving]


def _can_move(op: HostOp, kept: Collection[Name]) -> bool:
    """True if an op has no effect but its values, of which the body keeps none, and runs no others."""
    step = op.computed
    if step is not None and (step.blocks or has_effects(step)):
        return False
    return bool(op.makes) and not any(name in kept for name in op.makes)
