"""The results of one step in the partitioner: ops by their handlers, reshards of the program themselves.

Not here: the handlers (`facet.py`), which steps are planned, and with which operands (`walk.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.ops import TABLE
from shardy_py.xla.spmd.application import Application
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.facet import partition
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.reshard import reshard


def applied(
    step: PlannedOp,
    operands: Sequence[HeldTensor],
    used: tuple[bool, ...],
    loops: EinsumLoops | None,
    shared: frozenset[int],
) -> Sequence[HeldTensor]:
    """Returns the results of a step, for operands whose reshards are known; the rest as of `Application`."""
    targets = tuple([target for target in step.targets if target is not None])
    row = TABLE.get(step.record.name)
    if row is not None and row.is_wire:
        pairs = zip(operands, targets, strict=True)
        return [replace(reshard(value, target), number=None) for value, target in pairs]
    return partition(
        Application(step.record, tuple(operands), targets, used, step.is_unreduced, loops, shared)
    )
