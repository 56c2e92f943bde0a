"""The steps of a block with constants instead of what is computed of them: XLA computes it while it compiles.

It does not where all operands are the same everywhere, nor a broadcast: a device makes that of one element.
Source: openxla/xla, xla/hlo/transforms/simplifiers/hlo_constant_folding.cc. Not here: where constants are
(`sunk.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardy_py.ops import TABLE
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.storing import has_several
from shardy_py.xla.buffers.tpu.records import OFFSETS, Records, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_MOVED = frozenset((NodeForm.SLICE, NodeForm.CONVERT))


def with_folded(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with constants instead of what is computed of constants of different elements.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    constants, tables = set[Name](), set[Name]()
    found: list[PlannedOp] = []
    for step in steps:
        is_constant = STORED.of(step.record.name).is_constant
        if is_constant:
            constants.update(step.results)
            if has_several(step.record.attributes.get("value")):
                tables.update(step.results)
        elif COMPILED.of(step.record.name).form is NodeForm.BROADCAST and constants.issuperset(step.operands):
            if tables.isdisjoint(step.operands):
                constants.update(step.results)
        elif constants.issuperset(step.operands) and _is_computed(step) and not is_fixed(step):
            constants.update(step.results)
            if not tables.isdisjoint(step.operands):
                tables.update(step.results)
                step = step_of(records.of(OFFSETS, (), step.record.results), (), step.results, step.source)
        found.append(step)
    return found


def _is_computed(step: PlannedOp) -> bool:
    """True for an op that computes each element of its result of a few others."""
    if step.blocks or not step.operands:
        return False
    return TABLE[step.record.name].elementwise(step.record) or COMPILED.of(step.record.name).form in _MOVED
