"""Fast walks over operations, without recursion and without xDSL's property layer.

Not here: rewriting. A walk reads the next operation before it yields, so the caller may erase or move the
operation it was given, but nothing else. For the graph built from a walk see `build.py`.

    for op in walk_pre_order(module): ...
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Block, Operation, Region, SSAValue


def walk_pre_order(root: Operation, *, include_root: bool = True) -> Iterator[Operation]:
    """Operations in program order, each before what its regions hold."""
    if include_root:
        yield root
    stack: list[Operation | None] = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            following = op._next_op
            yield op
            if op.regions:
                inner = _first_ops(op)
                if inner:
                    if following is not None:
                        stack.append(following)
                    stack.extend(inner)
                    break
            op = following


def walk_post_order(root: Operation, *, include_root: bool = True) -> Iterator[Operation]:
    """Operations in program order, each after what its regions hold: the order of MLIR's default walk."""
    pending: list[tuple[Operation, Iterator[Operation]]] = [(root, _children(root))]
    while pending:
        parent, children = pending[-1]
        for op in children:
            if op.regions:
                pending.append((op, _children(op)))
                break
            yield op
        else:
            pending.pop()
            if pending or include_root:
                yield parent


def find_ops(root: Operation, *names: str) -> list[Operation]:
    """The operations in `root` of these names, in program order, each before what its regions hold.

    A list, so that the caller may change what it likes; cheaper than a walk with a test.
    """
    wanted = frozenset(names)
    found: list[Operation] = []
    stack = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            if op.name in wanted:
                found.append(op)
            following = op._next_op
            if op.regions and (inner := _first_ops(op)):
                if following is not None:
                    stack.append(following)
                stack.extend(inner)
                break
            op = following
    return found


def innermost_first(ops: Iterable[Operation]) -> list[Operation]:
    """Operations found in program order, each moved behind those of them that its regions hold."""
    ordered: list[Operation] = []
    around: list[Operation] = []
    for op in ops:
        while around and not _holds(around[-1], op):
            ordered.append(around.pop())
        around.append(op)
    return ordered + around[::-1]


def _holds(outer: Operation, op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and parent is not outer:
        parent = parent.parent_op()
    return parent is outer


def blocks_of(op: Operation) -> Iterator[Block]:
    """The blocks of all regions of `op`, in order."""
    for region in op.regions:
        block = region._first_block
        while block is not None:
            following = block._next_block
            yield block
            block = following


def terminator_of(region: Region) -> Operation | None:
    """The last operation of the first block; None for an empty region."""
    block = region._first_block
    return None if block is None else block._last_op


def owning_op(value: SSAValue) -> Operation | None:
    """The operation that defines `value`, or whose region has it as a block argument."""
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def _children(op: Operation) -> Iterator[Operation]:
    for block in blocks_of(op):
        child = block._first_op
        while child is not None:
            following = child._next_op
            yield child
            child = following


def _first_ops(op: Operation) -> list[Operation | None]:
    """The first operations of the blocks of `op`, last block first, as a stack wants them."""
    firsts: list[Operation | None] = [b._first_op for b in blocks_of(op) if b._first_op is not None]
    firsts.reverse()
    return firsts


def free_values(op: Operation) -> list[SSAValue]:
    """What the regions of an op use and do not define, use by use; what is inside of an op before the op."""
    inside = {id(op), *map(id, walk_pre_order(op, include_root=False))}
    uses = (value for inner in walk_post_order(op, include_root=False) for value in inner._operands)
    return [value for value in uses if id(owning_op(value)) not in inside]
