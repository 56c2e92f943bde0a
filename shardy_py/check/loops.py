"""What a loop repeats: values that are the same in each iteration, and sums that are only added up.

Not here: the findings (`communication_rules.py`).
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.ir import operands_of
from shardy_py.ops import TABLE, Control

_LINEAR = frozenset(
    f"stablehlo.{name}"
    for name in ("convert", "negate", "reshape", "transpose", "broadcast_in_dim", "slice", "reverse")
)
_WIRES = frozenset(
    ("sdy.sharding_constraint", "sdy.reshard", "sdy.all_reduce", "stablehlo.optimization_barrier")
)
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
    if op.regions or depth > _DEEPEST or op.name.startswith("stablehlo.rng"):
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
        if op.name == "stablehlo.add":
            other = operands_of(op)[1 - uses[0].index]
            return isinstance(other, BlockArgument) and _is_carried_sum(op, other, body)
        scales = op.name in ("stablehlo.multiply", "stablehlo.divide") and uses[0].index == 0
        if scales and not is_invariant(operands_of(op)[1], body):
            return False
        if not scales and op.name not in _LINEAR | _WIRES:
            return False
        current = op.results[0]
    return False


def _is_carried_sum(add: Operation, sum_: BlockArgument, body: Block) -> bool:
    end = body.last_op
    if sum_.block is not body or end is None:
        return False
    returned = operands_of(end)[sum_.index]
    while isinstance(returned, OpResult) and returned.op.name in _WIRES:
        returned = operands_of(returned.op)[0]
    return returned is add.results[0]


def _is_inside(block: Block | None, body: Block) -> bool:
    while block is not None and block is not body:
        parent = block.parent_op()
        block = None if parent is None else parent.parent_block()
    return block is body
