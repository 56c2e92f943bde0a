"""Appends ops to a block: attributes are plain values, encoded as the row of the op says.

Not here: which ops an instruction becomes (`rows.py`, `special.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import chlo, stablehlo
from shardy_py.mlir.dialects.kinds import AttributeKind
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.ir import append_arguments, build_operation, set_location
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.text.dense import make_dense
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import element_type_of

Entries = dict[str, Attribute]
"""Discardable attributes by name."""
_TABLES: dict[str, OpTable] = {"stablehlo": stablehlo.OPS, "chlo": chlo.OPS}
_FUNC: dict[str, type[Operation]] = {"func.call": func.CallOp, "func.return": func.ReturnOp}


@lru_cache(maxsize=256)
def _kinds(name: str) -> Mapping[str, AttributeKind]:
    dialect, _, base = name.partition(".")
    table = _TABLES.get(dialect)
    return {slot.name: slot.kind for slot in table.rows[base].attributes} if table else {}


@lru_cache(maxsize=256)
def _class_of(name: str) -> type[Operation]:
    dialect, _, base = name.partition(".")
    return _FUNC.get(name) or _TABLES[dialect].op_class(base)


class Emitter:
    """Appends ops to one block.

    location: of ops, until another is set. entries: the discardable attributes of ops, likewise.
    made: the ops that were appended since `made` was emptied.
    """

    def __init__(self, block: Block, location: Attribute) -> None:
        self.block = block
        self.location = location
        self.made: list[Operation] = []

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue],
        types: Sequence[Attribute],
        attributes: Mapping[str, object] | None = None,
        regions: Sequence[Region] = (),
        entries: Entries | None = None,
    ) -> list[SSAValue]:
        """Appends an op; returns its results. Attributes that it has no kind for are left out.

        Raises:
            ShardyError: a value does not fit the kind of its attribute.
        """
        kinds = _kinds(name)
        properties: dict[str, Attribute] = {}
        for key, value in (attributes or {}).items():
            kind = kinds.get(key)
            if isinstance(value, Attribute):
                properties[key] = value
            elif kind is not None and value is not None:
                try:
                    properties[key] = kind.encode(value)
                except ShardyError as error:
                    raise ShardyError(f"attribute '{key}': {error.first.message}") from None
        op = build_operation(
            _class_of(name), operands, types, properties, entries or {}, self.location, self.block, regions
        )
        self.made.append(op)
        return list(op.results)

    def one(
        self, name: str, operands: Sequence[SSAValue], type_: Attribute, **attributes: object
    ) -> SSAValue:
        """Appends an op with one result, and returns that."""
        return self.emit(name, operands, (type_,), attributes)[0]

    def dense(self, type_: Attribute, data: bytes) -> SSAValue:
        """A constant of those bytes: of one element, or of all."""
        return self.one("stablehlo.constant", (), type_, value=make_dense(type_, data))

    def integers(self, values: Sequence[int]) -> SSAValue:
        """A constant vector of i64."""
        return self.dense(ranked_tensor((len(values),), i64), np.array(values, np.int64).tobytes())

    def reshape(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        """The value with another shape; itself if it has that."""
        if shape_of(value) == tuple(sizes):
            return value
        return self.one("stablehlo.reshape", (value,), resized(value, sizes))

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """The value with its dimensions in another order; itself if that is theirs."""
        if list(order) == sorted(order):
            return value
        sizes = shape_of(value)
        type_ = resized(value, [sizes[dimension] for dimension in order])
        return self.one("stablehlo.transpose", (value,), type_, permutation=tuple(order))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor.

    Raises:
        ShardyError: it is not a tensor, or has an unknown size.
    """
    tensor = tensor_type(value.type)
    sizes = () if tensor is None else tensor.shape
    known = tuple(size for size in sizes if size is not None)
    if tensor is None or len(known) < len(sizes):
        raise ShardyError.unexpected("operand", expected="a tensor of known sizes", got=str(value.type))
    return known


def resized(value: SSAValue, sizes: Sequence[int]) -> Attribute:
    """The type of a tensor with other sizes."""
    return ranked_tensor(tuple(sizes), element_type_of(value.type))


def block_of(types: Sequence[Attribute], locations: Sequence[Attribute]) -> tuple[Block, list[SSAValue]]:
    """A block with arguments of those types, and these."""
    block = Block()
    arguments = append_arguments(block, list(zip(types, locations, strict=True)))
    for argument, location in zip(arguments, locations, strict=True):
        set_location(argument, location)
    return block, list(arguments)


def text_attribute(text: str) -> Attribute:
    """A string."""
    return StringAttr(text)
