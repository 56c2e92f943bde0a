"""xDSL's IR as this package reads, walks, builds and changes it; only this module uses its private fields.

xDSL's public properties and methods check and copy at each call; a pass over 20,000 ops makes millions of
calls. Ops built here equal those that xDSL builds: tests compare all fields, for the pinned version.

- reading: `operands_of`, `type_of`, `next_use`, `terminator_of`, `owning_op`, `blocks_of`, `written_name`
- walking: `walk_pre_order`, `walk_post_order`, `find_ops`; no recursion
- building: `build_operation`, `attach_operands`, `append_arguments`; nothing is verified. Fields are set one
  by one, so that CPython stores them in the object: as a dictionary they take twice the memory and time
- changing: `set_type`, `replace_uses`, `place_before`, `take_out`, `erase`

Uses of a value stay in MLIR's order (newest use first), because passes and propagation visit users in it. A
walk reads the next operation before it yields, so the caller may erase or move the yielded operation, and no
other.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""Returns the operands of an op as a tuple, without xDSL's mutable view."""

type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
user_of: Callable[[Use], Operation] = attrgetter("_operation")
next_use: Callable[[Use], Use | None] = attrgetter("_next_use")
next_op: Callable[[Operation], Operation | None] = attrgetter("_next_op")
"""Fields of values, uses and ops; the properties of xDSL with the same results take twice the time."""

# ---------------------------------------------------------------------- walking


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
    classes: set[type[Operation]] = set()
    stack = _first_ops(root)
    while stack:
        op = stack.pop()
        while op is not None:
            classes.add(op.__class__)
            following = op._next_op
            if op.regions and (inner := _first_ops(op)):
                if following is not None:
                    stack.append(following)
                stack.extend(inner)
                break
            op = following
    return frozenset(op_class.name for op_class in classes)


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
    if type(value) is OpResult:  # faster than isinstance: an ABC
        return value.op
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
    """The first operations of the blocks of `op`, last block first, to be pushed on a stack."""
    firsts: list[Operation | None] = [b._first_op for b in blocks_of(op) if b._first_op is not None]
    firsts.reverse()
    return firsts


# ---------------------------------------------------------------------- building

_new = object.__new__
_NO_VALUES: SSAValues[Any] = SSAValues()


def build_operation(
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    location: Any,
    block: Block | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """An operation of that class, at the end of `block` if one is given.

    The dictionaries become the op's own; regions must be unattached. Nothing is verified.
    """
    op: Any = _new(op_class)
    results: list[OpResult] = []
    for index, type_ in enumerate(result_types):
        result = _new(OpResult)
        result._type = type_
        result.op = op
        result.index = index
        result.first_use = result._name = None
        results.append(result)
    op.results = SSAValues(results) if results else _NO_VALUES
    last = block._last_op if block is not None else None
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = _new_uses(op, operands)
    else:
        op._operands, op._operand_uses = _NO_VALUES, ()
    op._successors = op._successor_uses = ()
    op.properties = properties
    op.attributes = attributes
    op.location = location
    op.parent = block
    op._next_op = None
    op._prev_op = last
    if regions:
        op.regions = tuple(regions)
        for region in regions:
            region.parent = op
    else:
        op.regions = ()
    if block is not None:
        if last is None:
            block._first_op = op
        else:
            last._next_op = op
        block._last_op = op
    return op


def attach_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Give an op that was built without operands its operands."""
    op._operands = SSAValues(operands)
    op._operand_uses = _new_uses(op, operands)


def _new_uses(op: Operation, operands: Sequence[SSAValue]) -> tuple[Use, ...]:
    """The uses of the operands of `op`, each the newest of its value."""
    uses: list[Use] = []
    for index, value in enumerate(operands):
        use: Any = _new(Use)
        first = value.first_use
        use._operation = op
        use._index = index
        use._prev_use = None
        use._next_use = first
        if first is not None:
            first._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


def append_arguments(block: Block, arguments: Sequence[tuple[Attribute, Any]]) -> list[BlockArgument]:
    """New last arguments of `block`, with their types and locations."""
    first = len(block.args)
    made = [BlockArgument(type_, block, first + i, location) for i, (type_, location) in enumerate(arguments)]
    block._args = (*block.args, *made)
    return made


# ---------------------------------------------------------------------- changing


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Set the type of `value`; its uses stay."""
    value._type = type_


OperandChanges = dict[Operation, list[SSAValue]]
"""The new operands of ops with many, until they are set."""

_MANY = 16


@contextmanager
def operands_set_together() -> Generator[OperandChanges]:
    """Sets the operands that `replace_operand` puts into these changes, when the block ends.

    Operands are a tuple: replacing all n of an op one by one copies it n times. Uses change at once. Within
    the block, all changes of an op with 16 or more operands are among these, and no changed operand is read.
    """
    changes: OperandChanges = {}
    try:
        yield changes
    finally:
        set_operands(changes)


def set_operands(changes: OperandChanges) -> None:
    """Sets the operands of `changes`, which are then none."""
    for op, operands in changes.items():
        op._operands = SSAValues(operands)
    changes.clear()


def replace_operand(
    op: Operation, index: int, value: SSAValue, changes: OperandChanges | None = None
) -> None:
    """Set operand `index` of `op` to `value`, as the newest use of `value`; see `operands_set_together`."""
    use = op._operand_uses[index]
    operands = None if changes is None else changes.get(op)
    if operands is None:
        operands = list(op._operands)
        if changes is not None and len(operands) >= _MANY:
            changes[op] = operands
    operands[index].remove_use(use)
    operands[index] = value
    value.add_use(use)
    if changes is None or len(operands) < _MANY:
        op._operands = SSAValues(operands)


def replace_uses(
    old: SSAValue,
    new: SSAValue,
    *,
    but_not_in: Operation | None = None,
    only: Callable[[Use], bool] | None = None,
    changes: OperandChanges | None = None,
) -> None:
    """Replace the uses of `old` by `new`, except those in one op and those that `only` rejects."""
    use = old.first_use
    while use is not None:
        following = use._next_use
        user = use._operation
        if user is not but_not_in and (only is None or only(use)):
            replace_operand(user, use._index, new, changes)
        use = following


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


def place_after_value(op: Operation, value: SSAValue) -> None:
    """Place a detached op right after the definition of `value`."""
    if isinstance(value, OpResult):
        place_after(op, value.op)
    else:
        assert isinstance(value.owner, Block)
        place_at_start(op, value.owner)


def take_out(op: Operation) -> None:
    """Detach an op from its block; its operands and uses stay."""
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


def inline_region(op: Operation, region: Region, arguments: Sequence[SSAValue] = ()) -> None:
    """Replaces `op` by the ops of `region`, and its results by the values that the region returns."""
    block, end = region.blocks[0], terminator_of(region)
    assert end is not None
    for argument, value in zip(block.args, arguments, strict=True):
        replace_uses(argument, value)
    for result, value in zip(op.results, end._operands, strict=True):
        replace_uses(result, value)
    while (inner := block._first_op) is not None and inner is not end:
        take_out(inner)
        place_before(inner, op)
    erase(op)


def erase(op: Operation) -> None:
    """Erase an op without uses, with its regions, and drop its operands."""
    take_out(op)
    if op.regions:
        op.drop_all_references()
        return
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    op._operand_uses = ()


# ---------------------------------------------------------------------- xDSL's parser and printer


def resume_parser(parser: AttrParser, offset: int) -> None:
    """Makes the token at or behind `offset` the parser's current one."""
    parser._resume_from(offset)


def printed_names(printer: Printer) -> dict[SSAValue, str]:
    """Returns the names that a printer has assigned so far, without `%`."""
    return printer._ssa_values


def written_name(op: Operation) -> str:
    """The name of an op as it is written, also of an unregistered one."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
