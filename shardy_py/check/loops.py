"""The repeated work of a loop: values that are the same in each iteration, and sums that are only added up.

Not here: the findings (`communication_rules.py`).
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.dialects.stablehlo import RngBitGeneratorOp, RngOp
from shardy_py.mlir.ir import operands_of
from shardy_py.ops import TABLE, Control, Linear, Storage
from shardy_py.ops.combiners import ADD

_DEEPEST = 200


def body_around(op: Operation) -> Block | None:
    """Returns the body of the innermost loop around an op, if the op is in it; None if there is none."""
    block = op.parent_block()
    while block is not None and (parent := block.parent_op()) is not None:
        if TABLE[parent.name].control is Control.LOOP:
            return block if parent.regions[-1].blocks.first is block else None
        block = parent.parent_block()
    return None


def is_invariant(value: SSAValue, body: Block, depth: int = 0) -> bool:
    """Returns whether a value is the same in each iteration of the loop with this body."""
    if isinstance(value, BlockArgument):
        if value.block is not body:
            return not _is_inside(value.block, body)
        end = body.last_op
        return end is not None and operands_of(end)[value.index] is value
    op = value.owner
    assert isinstance(op, Operation)
    if not _is_inside(op.parent_block(), body):
        return True
    if op.regions or depth > _DEEPEST or isinstance(op, (RngOp, RngBitGeneratorOp)):
        return False
    return all(is_invariant(operand, body, depth + 1) for operand in operands_of(op))


def is_only_accumulated(value: OpResult, body: Block) -> bool:
    """Returns whether a loop only adds a value, or a linear function of it, to a sum that it carries."""
    current: SSAValue = value
    for _ in range(_DEEPEST):
        uses = [*current.uses]
        if len(uses) != 1:
            return False
        op = uses[0].operation
        if TABLE[op.name].combiner is ADD:
            other = operands_of(op)[1 - uses[0].index]
            return isinstance(other, BlockArgument) and _is_carried_sum(op, other, body)
        if is_wire(op):
            current = op.results[uses[0].index]
        elif _is_linear_in(op, uses[0].index, body):
            current = op.results[0]
        else:
            return False
    return False


def is_wire(op: Operation) -> bool:
    """Returns whether result k of an op is operand k, wherever its parts are, or the sum of its parts."""
    row = TABLE[op.name]
    reduces = row.collective is not None and row.collective.reduces and not row.collective.names_devices
    return len(op.results) == len(op.operands) and (row.storage is Storage.ALIAS or reduces)


def _is_linear_in(op: Operation, operand: int, body: Block) -> bool:
    """True if an op is linear in an operand, in each iteration the same function; roundings do not matter."""
    linear, count = TABLE[op.name].linearity, len(op.operands)
    if linear is Linear.NO or (linear is Linear.FIRST and operand) or (linear is Linear.ALL and count > 1):
        return False
    others = (value for index, value in enumerate(operands_of(op)) if index != operand)
    return all(is_invariant(value, body) for value in others)


def _is_carried_sum(add: Operation, sum_: BlockArgument, body: Block) -> bool:
    end = body.last_op
    if sum_.block is not body or end is None:
        return False
    returned = operands_of(end)[sum_.index]
    while isinstance(returned, OpResult) and is_wire(returned.op):
        returned = operands_of(returned.op)[returned.index]
    return returned is add.results[0]


def _is_inside(block: Block | None, body: Block) -> bool:
    while block is not None and block is not body:
        parent = block.parent_op()
        block = None if parent is None else parent.parent_block()
    return block is body
