"""Makes xDSL operations without xDSL's checks: a third of the cost of `Operation.create`.

The reader makes every op of a program here. What is made is what `Operation.create` would make (a test
compares them field by field for the pinned version of xDSL); verification is a stage of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues

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
    op = _new(op_class)
    uses: Any = ()
    if operands:
        uses = []
        for index, value in enumerate(operands):
            use = _new(Use)
            first = value.first_use
            use.__dict__ = {"_operation": op, "_index": index, "_prev_use": None, "_next_use": first}
            if first is not None:
                first._prev_use = use  # pyright: ignore[reportPrivateUsage]
            value.first_use = use
            uses.append(use)
        uses = tuple(uses)
    if len(result_types) == 1:
        result = _new(OpResult)
        result.__dict__ = {  # pyright: ignore[reportAttributeAccessIssue]
            "_type": result_types[0],
            "op": op,
            "index": 0,
            "first_use": None,
            "_name": None,
        }
        results: Any = SSAValues((result,))
    elif result_types:
        made: list[OpResult] = []
        for index, type_ in enumerate(result_types):
            result = _new(OpResult)
            result.__dict__ = {  # pyright: ignore[reportAttributeAccessIssue]
                "_type": type_,
                "op": op,
                "index": index,
                "first_use": None,
                "_name": None,
            }
            made.append(result)
        results = SSAValues(made)
    else:
        results = _NO_VALUES
    last = block._last_op if block is not None else None  # pyright: ignore[reportPrivateUsage]
    op.__dict__ = {  # pyright: ignore[reportAttributeAccessIssue]
        "_operands": SSAValues(operands) if operands else _NO_VALUES,
        "_operand_uses": uses,
        "results": results,
        "_successors": (),
        "_successor_uses": (),
        "properties": properties,
        "attributes": attributes,
        "location": location,
        "regions": tuple(regions),
        "parent": block,
        "_next_op": None,
        "_prev_op": last,
    }
    for region in regions:
        region.parent = op
    if block is not None:
        if last is None:
            block._first_op = op  # pyright: ignore[reportPrivateUsage]
        else:
            last._next_op = op  # pyright: ignore[reportPrivateUsage]
        block._last_op = op  # pyright: ignore[reportPrivateUsage]
    return op


def attach_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Give an op that was built without operands its operands."""
    uses: list[Use] = []
    for index, value in enumerate(operands):
        use = _new(Use)
        first = value.first_use
        use.__dict__ = {"_operation": op, "_index": index, "_prev_use": None, "_next_use": first}
        if first is not None:
            first._prev_use = use  # pyright: ignore[reportPrivateUsage]
        value.first_use = use
        uses.append(use)
    op._operands = SSAValues(operands)  # pyright: ignore[reportPrivateUsage]
    op._operand_uses = tuple(uses)  # pyright: ignore[reportPrivateUsage]


def append_arguments(block: Block, arguments: Sequence[tuple[Attribute, Any]]) -> list[BlockArgument]:
    """New last arguments of `block`, with their types and locations."""
    first = len(block.args)
    made = [BlockArgument(type_, block, first + i, location) for i, (type_, location) in enumerate(arguments)]
    block._args = (*block.args, *made)  # pyright: ignore[reportPrivateUsage]
    return made


def append_argument(block: Block, type_: Attribute, location: Any) -> BlockArgument:
    """A new last argument of `block`."""
    return append_arguments(block, [(type_, location)])[0]
