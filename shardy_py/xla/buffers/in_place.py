"""The operands of a fusion in whose memory XLA may make its result: those that it reads elementwise only.

A fusion that also puts a value beside others, or slices it, reads elements after it has written over them.
Source: openxla/xla, `CanShareOperandBufferWithUser` in xla/service/hlo_dataflow_analysis.cc, and 20 fusions
with pads and slices that XLA:TPU compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shardy_py.xla.buffers.storing import StoringKind
from shardy_py.xla.spmd.program import Name, PlannedOp


def in_place(
    members: Sequence[int],
    needs: Collection[Name],
    steps: Sequence[PlannedOp],
    reads: Sequence[Sequence[Name]],
    kinds: Sequence[StoringKind],
) -> Collection[Name]:
    """Returns those of the values that a fusion needs which only elementwise ops are between it and.

    members: its steps, each behind those that it reads. reads: for each step the stored names.
    """
    if not kinds[members[-1]].is_elementwise or all(kinds[each].is_elementwise for each in members):
        return needs
    moved = set[Name]()
    for number in reversed(members):
        made = steps[number].results
        if not kinds[number].is_elementwise or not moved.isdisjoint(made):
            moved.update(reads[number])
    return [name for name in needs if name not in moved]
