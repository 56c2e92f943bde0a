"""Which conditions of a program came out both ways in the runs of an exact proof.

A condition is what a `select`, a conditional or a loop asks. One that was always true, or always false, hides
what the other side computes. Those of constants alone cannot be otherwise. Not here: branches that no device
executed, whose ops are proven alone (`plan.py`).
"""

from __future__ import annotations

from dataclasses import field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.chlo import BroadcastSelectOp
from shardy_py.mlir.dialects.stablehlo import SelectOp
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.ops import Control
from shardy_py.ops.compute import Array
from shardy_py.ops.table import TABLE
from shardy_py.run.proof.facet import EXACT

_SELECTS = (SelectOp.name, BroadcastSelectOp.name)


@dataclass(eq=False)
class Coverage:
    """The conditions of a program. positive, negative: those that were once true, or once false."""

    conditions: frozenset[OpResult]
    positive: set[SSAValue] = field(default_factory=set[SSAValue])
    negative: set[SSAValue] = field(default_factory=set[SSAValue])

    @staticmethod
    def of(module: ModuleOp) -> Coverage:
        """Returns the conditions that ops compute, of which none came out yet."""
        found: list[SSAValue] = []
        for op in walk_pre_order(module):
            control = TABLE[op.name].control if op.name in TABLE else Control.NONE
            if op.name in _SELECTS or control is Control.BRANCHES:
                found.append(operands_of(op)[0])
            elif control is Control.LOOP and (end := terminator_of(op.regions[0])) is not None:
                found.append(operands_of(end)[0])
        return Coverage(frozenset(v for v in found if isinstance(v, OpResult) and not _is_fixed(v)))

    def see(self, value: SSAValue, array: Array) -> None:
        """Notes what came out."""
        truth = array != 0
        if value not in self.positive and truth.any():
            self.positive.add(value)
        if value not in self.negative and not truth.all():
            self.negative.add(value)

    @property
    def both(self) -> int:
        """The number of conditions that came out both ways."""
        return len(self.positive & self.negative)

    def one_sided(self) -> list[tuple[OpResult, bool]]:
        """Returns the conditions that came out one way only, and how."""
        chosen = (value for value in self.conditions if (value in self.positive) != (value in self.negative))
        return [(value, value in self.positive) for value in chosen]


def _is_fixed(value: SSAValue) -> bool:
    """True if nothing but constants decides: no argument, and no random number."""
    seen, pending = set[SSAValue](), [value]
    while pending:
        each = pending.pop()
        if isinstance(each, BlockArgument):
            return False
        assert isinstance(each, OpResult)
        if each in seen:
            continue
        seen.add(each)
        if EXACT.of(each.op.name).is_random or each.op.regions:
            return False
        pending += operands_of(each.op)
    return True
