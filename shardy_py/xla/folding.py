"""The parts of folds: new ops in place of others, and properties of values.

Not here: the folds (`fold_shapes.py`, `fold_elements.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue

from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import build_operation, operands_of, place_before
from shardy_py.text.dense import make_dense
from shardy_py.xla.splats import Splats

Fold = Callable[[Operation, Splats], SSAValue | None]
"""Returns what replaces the result of an op, None if it does not fold; may put new ops before it."""


def make(
    op: Operation,
    name: str,
    operands: Sequence[SSAValue],
    properties: dict[str, Attribute],
    type_: Attribute | None = None,
) -> SSAValue:
    """The result of a new op before `op`, of the type of its result by default, with its attributes."""
    types = [type_ or op.results[0].type]
    new = build_operation(op_class(name), operands, types, properties, dict(op.attributes), op.location)
    place_before(new, op)
    return new.results[0]


def make_constant(op: Operation, data: bytes) -> SSAValue:
    """The result of a constant with these bytes, of the type of the result of `op`, with its attributes."""
    return make(op, "constant", (), {"value": make_dense(op.results[0].type, data)})


def constant_before(op: Operation, type_: Attribute, data: bytes) -> SSAValue:
    """The result of a constant of that type and these bytes before `op`."""
    value: dict[str, Attribute] = {"value": make_dense(type_, data)}
    constant = build_operation(op_class("constant"), (), (type_,), value, {}, op.location)
    place_before(constant, op)
    return constant.results[0]


def narrowed(
    op: Operation, operands: Sequence[int], results: Sequence[int], regions: Sequence[Region] = ()
) -> Operation:
    """An op like `op` with the operands and results at these indices only, and these regions; not placed."""
    return build_operation(
        type(op),
        [operands_of(op)[index] for index in operands],
        [op.results[index].type for index in results],
        dict(op.properties),
        dict(op.attributes),
        op.location,
        regions=regions,
    )


def reshaped(op: Operation, source: SSAValue) -> SSAValue:
    """`source` as the result of `op`: itself, or a reshape of it."""
    return source if source.type == op.results[0].type else make(op, "reshape", [source], {})


def integers(values: Sequence[int]) -> Attribute:
    """An array of `i64`."""
    return cast(Attribute, DenseArrayBase.from_list(i64, list(values)))


def producer(value: SSAValue, name: str) -> Operation | None:
    """The op of that name that defines `value`."""
    return value.op if isinstance(value, OpResult) and value.op.name == name else None


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor for which `is_static` holds; () for other types."""
    tensor = tensor_type(value.type)
    return () if tensor is None else cast("tuple[int, ...]", tensor.shape)


def is_static(*values: SSAValue) -> bool:
    """Returns whether these are tensors without dynamic sizes."""
    for value in values:
        tensor = tensor_type(value.type)
        if tensor is None or None in tensor.shape:
            return False
    return True


def same_type(op: Operation) -> bool:
    """Returns whether the result of `op` has the type of its first operand."""
    return operands_of(op)[0].type == op.results[0].type
