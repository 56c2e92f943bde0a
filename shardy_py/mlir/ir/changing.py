"""Types, operands, uses and places of operations that exist."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

from shardy_py.mlir.ir.building import set_location
from shardy_py.mlir.ir.file_names import add_file_names
from shardy_py.mlir.ir.op_index import current_index
from shardy_py.mlir.ir.places import keeps_place
from shardy_py.mlir.ir.reading import terminator_of
from shardy_py.mlir.ir.walking import walked

_NO_RESULTS = SSAValues[OpResult]()


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Set the type of `value`; its uses stay."""
    value._type = type_


OperandChanges = dict[Operation, list[SSAValue]]
"""The new operands of ops with many, until they are set."""

_MANY = 16


_CHANGES: ContextVar[OperandChanges | None] = ContextVar("_CHANGES", default=None)


@contextmanager
def operands_set_together() -> Generator[OperandChanges]:
    """Sets the operands of ops with 16 or more that are replaced within the block when it ends.

    Operands are a tuple: replacing all n of an op one by one copies it n times. Uses change at once. Within
    the block, no changed operand is read, unless after `set_operands` of the changes that it yields.
    """
    outer = _CHANGES.get()
    if outer:
        set_operands(outer)
    changes: OperandChanges = {}
    token = _CHANGES.set(changes)
    try:
        yield changes
    finally:
        _CHANGES.reset(token)
        set_operands(changes)


def set_operands(changes: OperandChanges) -> None:
    """Sets the operands of `changes`, which are then none."""
    for op, operands in changes.items():
        op._operands = SSAValues(operands)
    changes.clear()


def replace_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Set operand `index` of `op` to `value`, as the newest use of `value`; see `operands_set_together`."""
    use = op._operand_uses[index]
    changes = None if len(op._operands) < _MANY else _CHANGES.get()
    operands = None if changes is None else changes.get(op)
    if operands is None:
        operands = list(op._operands)
    operands[index].remove_use(use)
    operands[index] = value
    value.add_use(use)
    if changes is None:
        op._operands = SSAValues(operands)
    else:
        changes[op] = operands


def replace_uses(
    old: SSAValue,
    new: SSAValue,
    *,
    but_not_in: Operation | None = None,
    only: Callable[[Use], bool] | None = None,
) -> None:
    """Replace the uses of `old` by `new`, except those in one op and those that `only` rejects.

    With all uses, `new` gets the names of `old` in the file, too.
    """
    use = old.first_use
    if but_not_in is None and only is None:  # the value that takes the place of a named one
        add_file_names(old, new)
    while use is not None:
        following = use._next_use
        user = use._operation
        if user is not but_not_in and (only is None or only(use)):
            replace_operand(user, use._index, new)
        use = following


def convert(op: Operation, op_class: type[Operation]) -> None:
    """Makes `op` one of another class with the same operands, results and attributes.

    Its uses are in reverse then, as if another op had replaced it.
    """
    if not keeps_place(op_class):
        set_location(op, op.location)
    op.__class__ = op_class
    for result in op.results:
        use = result.first_use
        if use is not None and use._next_use is not None:
            set_uses(result, [*result.uses][::-1])
    if (index := current_index()) is not None:
        index.reclassify()


def place_before(op: Operation, anchor: Operation) -> None:
    """Place a detached op right before `anchor`."""
    block, previous = anchor.parent, anchor._prev_op
    assert block is not None
    op.parent, op._prev_op, op._next_op = block, previous, anchor
    anchor._prev_op = op
    if previous is None:
        block._first_op = op
    else:
        previous._next_op = op
    if (index := current_index()) is not None:
        index.note(op, anchor)


def place_after(op: Operation, anchor: Operation) -> None:
    """Place a detached op right after `anchor`."""
    assert anchor.parent is not None
    if anchor._next_op is None:
        place_at_end(op, anchor.parent)
    else:
        place_before(op, anchor._next_op)


def place_at_start(op: Operation, block: Block) -> None:
    """Place a detached op at the start of `block`."""
    if block._first_op is None:
        place_at_end(op, block)
    else:
        place_before(op, block._first_op)


def place_at_end(op: Operation, block: Block) -> None:
    """Place a detached op at the end of `block`."""
    last = block._last_op
    op.parent, op._prev_op, op._next_op = block, last, None
    block._last_op = op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    if (index := current_index()) is not None:
        index.note(op, None)


def place_after_value(op: Operation, value: SSAValue) -> None:
    """Place a detached op right after the definition of `value`."""
    if isinstance(value, OpResult):
        place_after(op, value.op)
    else:
        assert isinstance(value.owner, Block)
        place_at_start(op, value.owner)


def take_out(op: Operation) -> None:
    """Detach an op from its block; its operands and uses stay."""
    _unlink(op)
    if (index := current_index()) is not None:
        index.has_erased = True
        if op.regions:
            index.note(op, None)


def _unlink(op: Operation) -> None:
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


def set_uses(value: SSAValue, uses: Sequence[Use]) -> None:
    """Put the uses of `value`, all of which are given, into another order."""
    previous: Use | None = None
    for use in uses:
        use._prev_use = previous
        if previous is None:
            value.first_use = use
        else:
            previous._next_use = use
        previous = use
    if previous is not None:
        previous._next_use = None


def renew_uses(root: Operation) -> None:
    """Puts the uses of all values in `root` into the order that those of a copy of it have."""
    ops = walked(root)
    for op in ops:
        for result in op.results:
            result.first_use = None
        for region in op.regions:
            for block in region.blocks:
                for argument in block._args:
                    argument.first_use = None
    for op in ops:
        for value, use in zip(op._operands, op._operand_uses, strict=True):
            first = value.first_use
            use._prev_use, use._next_use = None, first
            if first is not None:
                first._prev_use = use
            value.first_use = use


def set_order(block: Block, ops: Sequence[Operation]) -> None:
    """Put the ops of `block`, all of which are given, into another order."""
    previous: Operation | None = None
    for op in ops:
        op._prev_op = previous
        if previous is None:
            block._first_op = op
        else:
            previous._next_op = op
        previous = op
    if previous is not None:
        previous._next_op = None
    block._last_op = previous
    if (index := current_index()) is not None:
        for op in ops:
            index.note(op, None)


def inline_region(op: Operation, region: Region, arguments: Sequence[SSAValue] = ()) -> None:
    """Replaces `op` by the ops of `region`, and its results by the values that the region returns."""
    block, end = region.blocks[0], terminator_of(region)
    assert end is not None
    with operands_set_together():
        for argument, value in zip(block.args, arguments, strict=True):
            replace_uses(argument, value)
    with operands_set_together():
        for result, value in zip(op.results, end._operands, strict=True):
            replace_uses(result, value)
    while (inner := block._first_op) is not None and inner is not end:
        take_out(inner)
        place_before(inner, op)
    erase(op)


def erase(op: Operation) -> None:
    """Erase an op without uses, with its regions, and drop its operands."""
    _unlink(op)
    if (index := current_index()) is not None:
        index.has_erased = True
    if op.regions:
        op.drop_all_references()
        return
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    op._operand_uses = ()


def cut_off(op: Operation) -> None:
    """Takes its results, which refer to it, from an erased op, so that it is freed without the collector."""
    op.results = _NO_RESULTS
