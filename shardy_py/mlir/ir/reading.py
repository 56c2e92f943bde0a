"""Fields of values, uses and ops, and what is next to an op, without xDSL's checks and copies."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""Returns the operands of an op as a tuple, without xDSL's mutable view."""

type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
user_of: Callable[[Use], Operation] = attrgetter("_operation")
next_use: Callable[[Use], Use | None] = attrgetter("_next_use")
next_op: Callable[[Operation], Operation | None] = attrgetter("_next_op")
"""Fields of values, uses and ops; the properties of xDSL with the same results take twice the time."""


def blocks_of(op: Operation) -> Iterator[Block]:
    """The blocks of all regions of `op`, in order."""
    for region in op.regions:
        block = region._first_block
        while block is not None:
            following = block._next_block
            yield block
            block = following


def first_ops(op: Operation) -> list[Operation | None]:
    """The first operations of the blocks of `op`, last block first, to be pushed on a stack."""
    firsts: list[Operation | None] = []
    for region in op.regions:
        block = region._first_block
        while block is not None:
            if block._first_op is not None:
                firsts.append(block._first_op)
            block = block._next_block
    firsts.reverse()
    return firsts


def terminator_of(region: Region) -> Operation | None:
    """The last operation of the first block; None for an empty region."""
    block = region._first_block
    return None if block is None else block._last_op


def owning_op(value: SSAValue) -> Operation | None:
    """The operation that defines `value`, or whose region has it as a block argument."""
    if type(value) is OpResult:  # faster than isinstance: an ABC
        return value.op
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def written_name(op: Operation) -> str:
    """The name of an op as it is written, also of an unregistered one."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
