"""`xla-order-ops`: orders ops as XLA reads them back from HLO: operands before their users, depth first.

    before  %0 = sine %a; %1 = cosine %a; return %1, %0
    after   %0 = cosine %a; %1 = sine %a; return %0, %1

Propagation visits ops in program order, so of two that disagree the first one decides. As
HloComputation::MakeInstructionPostOrder.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, OpResult

from shardy_py.graph.nesting import free_values
from shardy_py.ir import blocks_of, operands_of, place_at_end, take_out, walk_pre_order

LATE = "shardy_py.late"
"""The attribute by which `mark_late` marks ops; this pass removes it."""


def order_ops(module: ModuleOp) -> None:
    """Orders the ops of each block as XLA reads them back from HLO."""
    for inner in walk_pre_order(module, include_root=False):
        if inner.regions:
            for block in blocks_of(inner):
                _order(block)


def mark_late(block: Block) -> None:
    """Marks the unused ops of a computation: once it is inlined, they follow the unused ops of the caller."""
    for op in block.ops:
        if op.next_op is not None and all(result.first_use is None for result in op.results):
            op.attributes[LATE] = UnitAttr()


def _order(block: Block) -> None:
    ops: list[Operation] = list(block.ops)
    ordered = _post_order(ops, block)
    if ordered != ops:
        for op in ordered:
            take_out(op)
            place_at_end(op, block)


def _roots(ops: list[Operation]) -> list[Operation]:
    """The ops without users in HLO: a single result is not in a tuple, inlined ops come last."""
    *body, end = ops
    is_alone = len(operands_of(end)) == 1
    early: list[Operation] = []
    late: list[Operation] = []
    for op in body:
        users = (use.operation for result in op.results for use in result.uses)
        if all(is_alone and user is end for user in users):
            (early if op.attributes.pop(LATE, None) is None else late).append(op)
    return [*early, end, *late]


def _post_order(ops: list[Operation], block: Block) -> list[Operation]:
    """Each root after its operands, the first operand first."""
    ordered: list[Operation] = []
    entered: set[int] = set()
    placed: set[int] = set()
    for root in _roots(ops):
        stack = [root]
        while stack:
            op = stack[-1]
            key = id(op)
            if key not in entered:
                entered.add(key)
                # In HLO, values that regions use from outside are operands after the others.
                values = (*operands_of(op), *free_values(op)) if op.regions else operands_of(op)
                for value in reversed(values):
                    if (
                        isinstance(value, OpResult)
                        and value.op.parent is block
                        and id(value.op) not in placed
                    ):
                        stack.append(value.op)
                continue
            stack.pop()
            if key not in placed:
                placed.add(key)
                if op is not ops[-1]:
                    ordered.append(op)
    return [*ordered, ops[-1]]
