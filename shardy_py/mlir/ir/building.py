"""Operations and block arguments, built as xDSL builds them; nothing is verified."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

from shardy_py.mlir.ir.op_index import current_index
from shardy_py.mlir.ir.places import Places

_new = object.__new__
_NO_RESULTS = SSAValues[OpResult]()
_NO_OPERANDS = SSAValues[SSAValue]()


def build_operation(
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    location: Attribute | None,
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
    op.results = SSAValues(results) if results else _NO_RESULTS
    last = block._last_op if block is not None else None
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = _new_uses(op, operands)
    else:
        op._operands, op._operand_uses = _NO_OPERANDS, ()
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
        if (index := current_index()) is not None:
            index.note(op, None)
    return op


def append_plain(
    op_class: type[Operation],
    operands: Sequence[SSAValue],
    result_type: Attribute,
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    location: Attribute | None,
    block: Block,
    file_name: str,
    places: Places,
    offset: int,
) -> OpResult:
    """The result of an operation with one and no regions, made by the rules of `build_operation`.

    Most ops of a text are such ops; there must be no index of ops (`current_index`).

    location: None: the op's class has `LOCATION_OF_PLACE`, which makes it from `places` and `offset`.
    """
    op: Any = _new(op_class)
    result = _new(OpResult)
    result._type = result_type
    result.op = op
    result.index = 0
    result.first_use = result._name = None
    result.file_names = file_name  # pyright: ignore[reportAttributeAccessIssue]
    op.results = SSAValues((result,))
    if operands:
        attach_operands(op, operands)
    else:
        op._operands = _NO_OPERANDS
        op._operand_uses = ()
    op._successors = op._successor_uses = op.regions = ()
    op.properties = properties
    op.attributes = attributes
    if location is None:
        op._places = places
        op._offset = offset
    else:
        op.location = location
    op.parent = block
    op._next_op = None
    op._prev_op = last = block._last_op
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op
    return result


def attach_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Give an op that was built without operands its operands."""
    op._operands = SSAValues(operands)
    op._operand_uses = _new_uses(op, operands)


def _new_uses(op: Operation, operands: Sequence[SSAValue]) -> tuple[Use, ...]:
    """The uses of the operands of `op`, each the newest of its value."""
    uses: list[Use] = []
    for index, value in enumerate(operands):
        use = _new(Use)
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


def set_location(holder: Operation | BlockArgument, location: Attribute | None) -> None:
    """Gives an op or argument a location; xDSL's declared ones lack those of several lines."""
    located: Any = holder
    located.location = location


def region_of(block: Block) -> Region:
    """A new region of that one block, which is in none."""
    region = _new(Region)
    region._first_block = region._last_block = block
    region.parent = None
    block.parent = region
    return region


def append_block(region: Region, arguments: Sequence[tuple[Attribute, Any]]) -> Block:
    """A new last block of `region`, with arguments of these types and locations.

    For the first block, xDSL looks through all that is around the region, as other blocks might hold it.
    """
    block = Block()
    append_arguments(block, arguments)
    if region._first_block is None:
        region._first_block = region._last_block = block
        block.parent = region
    else:
        region.add_block(block)
    return block


def append_arguments(block: Block, arguments: Sequence[tuple[Attribute, Any]]) -> list[BlockArgument]:
    """New last arguments of `block`, with their types and locations."""
    first = len(block.args)
    made = [BlockArgument(type_, block, first + i, location) for i, (type_, location) in enumerate(arguments)]
    block._args = (*block.args, *made)
    return made
