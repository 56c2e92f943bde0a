"""The operands of a fusion in whose memory XLA may make its result: those that it reads elementwise only.

A fusion that also puts a value beside others, or slices it, reads elements after it has written over them.
Source: openxla/xla, `CanShareOperandBufferWithUser` in xla/service/hlo_dataflow_analysis.cc, and 20 fusions
with pads and slices that XLA:TPU compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shardy_py.xla.buffers.storing import StoringKind
from shardy_py.xla.spmd.program import Name, PlannedOp


def beside_product(
    members: Sequence[int],
    needs: Collection[Name],
    steps: Sequence[PlannedOp],
    reads: Sequence[Sequence[Name]],
    kinds: Sequence[StoringKind],
    *,
    on_tpu: bool,
) -> Collection[Name]:
    """Returns the values that fused steps need and no product among them does; see `in_place`."""
    products = [number for number in members if kinds[number].row.is_product]
    if not products:
        return needs if not on_tpu else in_place(members, needs, steps, reads, kinds)
    makers = {step.results[0]: each for each in members if (step := steps[each]).results}
    needed: set[Name] = set()
    left = [name for number in products for name in reads[number]]
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += reads[makers[name]] if name in makers else ()
    return [name for name in needs if name not in needed]


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
