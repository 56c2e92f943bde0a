"""Walks over the operations in an op: no recursion, and the visited op may be erased or moved."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress

from xdsl.ir import Operation

from shardy_py.mlir.ir.op_index import current_index
from shardy_py.mlir.ir.reading import blocks_of, first_ops


def walk_pre_order(root: Operation, *, include_root: bool = True) -> Iterator[Operation]:
    """Operations in program order, each before its nested operations."""
    if include_root:
        yield root
    stack: list[Operation | None] = first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            following = op._next_op
            yield op
            if op.regions:
                inner = first_ops(op)
                if inner:
                    if following is not None:
                        stack.append(following)
                    stack.extend(inner)
                    break
            op = following


def walk_post_order(root: Operation, *, include_root: bool = True) -> Iterator[Operation]:
    """Operations in program order, each after its nested operations, as in MLIR's default walk."""
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
    """The operations in `root` of these names, in program order, each before what its regions hold."""
    wanted = frozenset(names)
    return find_ops_where(root, lambda op: op.name in wanted)


def find_ops_where(root: Operation, is_wanted: Callable[[Operation], object]) -> list[Operation]:
    """The operations in `root` that are wanted, in program order, each before its nested operations.

    is_wanted: called for one op of each class, so it must only depend on the class of the op.

    A list, so that the caller may change any op; cheaper than a walk with a test.
    """
    index = current_index()
    if index is not None:
        classes = {op_class for op_class, op in index.samples if is_wanted(op)}
        if not classes and _outermost(root) is index.root:
            return []
        known = index.found(root, classes)
        if known is not None:
            return known
    ops = walked(root)
    kinds = [*map(type, ops)]
    wanted = {op_class for op_class, op in dict(zip(kinds, ops, strict=True)).items() if is_wanted(op)}
    return [*compress(ops, map(wanted.__contains__, kinds))]


def ops_in(root: Operation) -> list[Operation]:
    """The operations in `root`, in program order, each before its nested operations.

    A list, so that the caller may change any op: those that it places are not visited.
    """
    index = current_index()
    known = None if index is None else index.all_in(root)
    return walked(root) if known is None else known


def _outermost(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def walked(root: Operation) -> list[Operation]:
    """The operations in `root`, in program order, each before its nested operations, by a new walk."""
    found: list[Operation] = []
    add = found.append
    stack = first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            add(op)
            following = op._next_op
            if op.regions and (inner := first_ops(op)):
                stack.append(following)
                stack += inner
                break
            op = following
    return found


def ops_with_regions(root: Operation) -> list[Operation]:
    """`root` and the operations in it that have regions, in program order, each before its nested ones."""
    return [root, *(op for op in ops_in(root) if op.regions)]


def op_names(root: Operation) -> frozenset[str]:
    """The names of the operations in `root`."""
    kinds: set[type[Operation]] = {*map(type, ops_in(root))}
    return frozenset(op_class.name for op_class in kinds)


def _children(op: Operation) -> Iterator[Operation]:
    for block in blocks_of(op):
        child = block._first_op
        while child is not None:
            following = child._next_op
            yield child
            child = following
