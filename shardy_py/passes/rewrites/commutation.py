"""Moves constant operands of commutative ops to the end, as MLIR's folder does.

Commutative ops of chlo have the trait `Commutative`; those of StableHLO do not, because it has no folds.

    chlo.mulhi %constant, %x    becomes    chlo.mulhi %x, %constant
"""

from __future__ import annotations

from xdsl.ir import Operation

from shardy_py.dialects.chlo import OPS
from shardy_py.dialects.traits import constant_of
from shardy_py.ir import operands_of, replace_operand

COMMUTATIVE = frozenset(
    f"chlo.{name}" for name, row in OPS.rows.items() if "commutative" in row.traits.split()
)
"""The commutative ops of two operands."""


def put_constants_last(op: Operation) -> bool:
    """Swap the operands of a commutative op if only the first is a constant; returns whether it did."""
    first, second = operands_of(op)
    if constant_of(first) is None or constant_of(second) is not None:
        return False
    replace_operand(op, 0, second)
    replace_operand(op, 1, first)
    return True
