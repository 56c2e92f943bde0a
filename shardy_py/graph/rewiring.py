"""Changing which op uses which value and where ops stand, at a fraction of the cost of xDSL's methods.

The lists of uses stay in the order that MLIR gives them (the newest use first), because passes and
propagation visit users in that order. Not here: making ops (`text/construct.py`) or copying
them (`cloning.py`).

    replace_uses(old, new, but_not_in=new_op)
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues

from shardy_py.graph.movements import is_recording, note_copies


def replace_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Make `value` operand `index` of `op`; the use becomes the newest of `value`."""
    use = op._operand_uses[index]
    operands = list(op._operands)
    operands[index].remove_use(use)
    operands[index] = value
    value.add_use(use)
    op._operands = SSAValues(operands)


def replace_uses(
    old: SSAValue,
    new: SSAValue,
    *,
    but_not_in: Operation | None = None,
    only: Callable[[Use], bool] | None = None,
) -> None:
    """Let the users of `old` use `new`, but for those of one op and those that `only` rejects."""
    use = old.first_use
    while use is not None:
        following = use._next_use
        user = use._operation
        if user is not but_not_in and (only is None or only(use)):
            replace_operand(user, use._index, new)
        use = following


def place_before(op: Operation, anchor: Operation) -> None:
    """Put an op that stands nowhere right before `anchor`."""
    block, previous = anchor.parent, anchor._prev_op
    assert block is not None
    op.parent, op._prev_op, op._next_op = block, previous, anchor
    anchor._prev_op = op
    if previous is None:
        block._first_op = op
    else:
        previous._next_op = op


def place_after(op: Operation, anchor: Operation) -> None:
    """Put an op that stands nowhere right after `anchor`."""
    assert anchor.parent is not None
    if anchor._next_op is None:
        place_at_end(op, anchor.parent)
    else:
        place_before(op, anchor._next_op)


def place_at_start(op: Operation, block: Block) -> None:
    """Put an op that stands nowhere first in `block`."""
    if block._first_op is None:
        place_at_end(op, block)
    else:
        place_before(op, block._first_op)


def place_at_end(op: Operation, block: Block) -> None:
    """Put an op that stands nowhere last in `block`."""
    last = block._last_op
    op.parent, op._prev_op, op._next_op = block, last, None
    block._last_op = op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op


def place_after_value(op: Operation, value: SSAValue) -> None:
    """Put an op that stands nowhere where `value` has just become available."""
    if isinstance(value, OpResult):
        place_after(op, value.op)
    else:
        assert isinstance(value.owner, Block)
        place_at_start(op, value.owner)


def replace_op(old: Operation, new: Operation) -> None:
    """Put `new`, which stands nowhere, where `old` stands; its results replace those of `old`."""
    place_before(new, old)
    replace_by_values(old, new.results)


def replace_by_values(op: Operation, values: Sequence[SSAValue]) -> None:
    """Let the users of the results of `op` use `values`; `op` goes."""
    for before, after in zip(op.results, values, strict=True):
        replace_uses(before, after)
    if is_recording():
        note_copies(dict(zip(op.results, values, strict=True)))
    erase(op)


def take_out(op: Operation) -> None:
    """Take an op out of its block; its operands and uses stay."""
    block, previous, following = op.parent, op._prev_op, op._next_op
    assert block is not None
    if previous is None:
        block._first_op = following
    else:
        previous._next_op = following
    if following is None:
        block._last_op = previous
    else:
        following._prev_op = previous
    op.parent = op._prev_op = op._next_op = None


def erase(op: Operation) -> None:
    """Take an op whose results nobody uses out of its block and let go of its operands, and all in it."""
    take_out(op)
    if op.regions:
        op.drop_all_references()
        return
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    op._operand_uses = ()
