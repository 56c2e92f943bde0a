"""Operands of ops that commute: those that are constants stand last.

MLIR's drivers see to that on their way, for ops with the trait `Commutative`. StableHLO's ops do not have it,
because that dialect has no folds; those of chlo do.

    chlo.mulhi %constant, %x    becomes    chlo.mulhi %x, %constant
"""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.chlo import OPS
from shardy_py.ir import operands_of, replace_operand

COMMUTATIVE = frozenset(
    f"chlo.{name}" for name, row in OPS.rows.items() if "commutative" in row.traits.split()
)
"""The ops of two operands that commute."""

_CONSTANTS = frozenset({"stablehlo.constant", "chlo.constant", "sdy.constant"})


def put_constants_last(op: Operation) -> bool:
    """Swap the operands of a commutative op if only the first is a constant; whether they were."""
    first, second = operands_of(op)
    if not _is_constant(first) or _is_constant(second):
        return False
    replace_operand(op, 0, second)
    replace_operand(op, 1, first)
    return True


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and value.op.name in _CONSTANTS
