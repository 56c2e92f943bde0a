"""Walks over the operations in an op: no recursion, and the visited op may be erased or moved."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from xdsl.ir import Operation

from shardy_py.mlir.ir.reading import blocks_of


def walk_pre_order(root: Operation, *, include_root: bool = True) -> Iterator[Operation]:
    """Operations in program order, each before its nested operations."""
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
    if _limited is not None and wanted.isdisjoint(_limited[1]) and _outermost(root) is _limited[0]:
        return []
    return find_ops_where(root, lambda op: op.name in wanted)


_limited: tuple[Operation, frozenset[str]] | None = None
"""An outermost operation, and names among which are those of all operations in it; None: nothing is known."""


@contextmanager
def limited_to(root: Operation, names: frozenset[str] | None) -> Generator[None]:
    """While entered, `find_ops` finds ops in `root` of other names than these without a walk: none.

    names: of all operations that are or will be in `root` meanwhile; None: they are not known.
    """
    global _limited
    before = _limited
    _limited = None if names is None else (root, names)
    try:
        yield
    finally:
        _limited = before


def _outermost(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def find_ops_where(root: Operation, is_wanted: Callable[[Operation], object]) -> list[Operation]:
    """The operations in `root` that are wanted, in program order, each before its nested operations.

    is_wanted: called for one op of each class, so it must only depend on the class of the op.

    A list, so that the caller may change any op; cheaper than a walk with a test.
    """
    wanted: dict[type[Operation], bool] = {}
    found: list[Operation] = []
    stack = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            try:
                matches = wanted[op.__class__]
            except KeyError:
                matches = wanted[op.__class__] = bool(is_wanted(op))
            if matches:
                found.append(op)
            following = op._next_op
            if op.regions and (inner := _first_ops(op)):
                if following is not None:
                    stack.append(following)
                stack.extend(inner)
                break
            op = following
    return found


def ops_with_regions(root: Operation) -> list[Operation]:
    """`root` and the operations in it that have regions, in program order, each before its nested ones."""
    found = [root]
    stack = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            following = op._next_op
            if op.regions:
                found.append(op)
                stack.append(following)
                stack.extend(_first_ops(op))
                break
            op = following
    return found


def op_names(root: Operation) -> frozenset[str]:
    """The names of the operations in `root`."""
    names: list[str] = []
    find_ops_where(root, lambda op: names.append(op.__class__.name))  # asked once a class; none is wanted
    return frozenset(names)


def _children(op: Operation) -> Iterator[Operation]:
    for block in blocks_of(op):
        child = block._first_op
        while child is not None:
            following = child._next_op
            yield child
            child = following


def _first_ops(op: Operation) -> list[Operation | None]:
    """The first operations of the blocks of `op`, last block first, to be pushed on a stack."""
    firsts: list[Operation | None] = [b._first_op for b in blocks_of(op) if b._first_op is not None]
    firsts.reverse()
    return firsts
