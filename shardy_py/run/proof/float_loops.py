"""Loops that go on as floats decide, which a field does not order as numbers are.

Whether such a loop has another iteration is a function of its floats in an exact proof, which may never end
it; so it ends after a few iterations in both programs. Not here: the function (`field/elementwise.py`).
"""

from __future__ import annotations

from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.ops import Control
from shardy_py.ops.table import row_of
from shardy_py.run.proof.field.arithmetic import is_float


def ends_by_floats(op: Operation, symbols: Symbols) -> bool:
    """Returns whether an op is a loop whose condition depends on floats of its iterations."""
    if row_of(record_of(op)).control is not Control.LOOP:
        return False
    ends = [terminator_of(region) for region in op.regions]
    blocks = [region.blocks[0] for region in op.regions]
    seen: set[SSAValue] = set()
    pending = [] if ends[0] is None else [*operands_of(ends[0])]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.block in blocks and ends[1] is not None:
                pending.append(operands_of(ends[1])[value.index])
            continue
        maker = value.owner
        assert isinstance(maker, Operation)
        if not _is_inside(maker, blocks):
            continue
        inner = [*walk_pre_order(maker)]
        if isinstance(maker, CallOp):
            inner += walk_pre_order(symbols.callee(maker))
        if any(map(_makes_no_floats_of_floats, inner)):
            return True
        pending += (operand for each in inner for operand in operands_of(each))
    return False


def _is_inside(op: Operation, blocks: list[Block]) -> bool:
    around: Operation | None = op
    while around is not None:
        if around.parent in blocks:
            return True
        around = around.parent_op()
    return False


def _makes_no_floats_of_floats(op: Operation) -> bool:
    record = record_of(op)
    has_others = any(type_ is not None and not is_float(type_) for type_ in record.results)
    return has_others and any(map(is_float, record.operands))
