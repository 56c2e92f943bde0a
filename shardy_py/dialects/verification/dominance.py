"""Uses of values that are not defined there: too late, in another region, beyond an isolated op.

Called for such values only, so nothing here needs to be fast.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from shardy_py.dialects.verification.faults import Fault, Note


def operand_faults(op: Operation, value: SSAValue, isolated: Operation) -> Iterator[Fault]:
    """The faults of the uses of `value` by `op`, which is within the isolated op `isolated`."""
    if not _is_within(value.owner, isolated):
        note = Note("required by region isolation constraints", isolated.location)
        yield Fault("using value defined outside the region", notes=(note,), op=op)
        return
    for index, operand in enumerate(op.operands):
        if operand is value:
            message = f"operand #{index} does not dominate this use"
            yield Fault(message, is_plain=True, notes=_definition(value, op), op=op)


def _is_within(owner: Operation | Block, root: Operation) -> bool:
    at: Operation | None = owner.parent_op() if isinstance(owner, Block) else owner
    if not isinstance(owner, Block) and at is root:
        return False
    while at is not None and at is not root:
        at = at.parent_op()
    return at is root


def _definition(value: SSAValue, user: Operation) -> tuple[Note, ...]:
    """The place of the definition, and its relation to the use."""
    owner = value.owner
    if isinstance(owner, Block):
        holder = owner.parent_op()
        return (Note("operand defined as a block argument", holder.location),) if holder is not None else ()
    if owner.parent is user.parent:
        where = "op in the same block"
    elif owner.parent is not None and user.parent is not None and owner.parent.parent is user.parent.parent:
        where = "op in the same region"
    else:
        where = _relation(owner, user)
    return (Note(f"operand defined here ({where})", owner.location),)


def _relation(owner: Operation, user: Operation) -> str:
    if _is_within(user, owner):
        return "op in a parent region"
    holder = user.parent_op()
    while holder is not None:
        if holder.parent is owner.parent:
            return "op in a parent region"
        holder = holder.parent_op()
    return "op in a child region"
