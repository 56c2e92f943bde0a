"""What folds are made of: new ops in place of others, questions about values.

Not here: the folds (`xla_shapes.py`, `xla_elements.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.stablehlo import op_class
from shardy_py.frontends.xla_constants import Splats
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import build_operation, operands_of, place_before
from shardy_py.text.dense import make_dense

Fold = Callable[[Operation, Splats], SSAValue | None]
"""What stands for the result of an op, None: nothing simpler. It may put new ops before the op."""


def make(
    op: Operation,
    name: str,
    operands: Sequence[SSAValue],
    properties: dict[str, Attribute],
    type_: Attribute | None = None,
) -> SSAValue:
    """The result of a new op before `op`, of the type of its result if none is given."""
    types = [type_ or op.results[0].type]
    location = cast(Any, op).location
    made = build_operation(op_class(name), operands, types, properties, dict(op.attributes), location)
    place_before(made, op)
    return made.results[0]


def make_constant(op: Operation, data: bytes) -> SSAValue:
    """The result of a constant with these bytes, of the type of the result of `op`."""
    return make(op, "constant", (), {"value": make_dense(op.results[0].type, data)})


def reshaped(op: Operation, source: SSAValue) -> SSAValue:
    """`source` as the result of `op`: itself, or a reshape of it."""
    return source if source.type == op.results[0].type else make(op, "reshape", [source], {})


def integers(values: Sequence[int]) -> Attribute:
    """An array of `i64`."""
    return cast(Attribute, DenseArrayBase.from_list(i64, list(values)))


def maker_of(value: SSAValue, name: str) -> Operation | None:
    """The op of that name that makes `value`."""
    return value.op if isinstance(value, OpResult) and value.op.name == name else None


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; where they count, `is_static` has been asked before."""
    tensor = tensor_type(value.type)
    return () if tensor is None else cast("tuple[int, ...]", tensor.shape)


def is_static(*values: SSAValue) -> bool:
    """Whether these are tensors without dynamic sizes."""
    for value in values:
        tensor = tensor_type(value.type)
        if tensor is None or None in tensor.shape:
            return False
    return True


def same_type(op: Operation) -> bool:
    """Whether the result of `op` is of the type of its first operand."""
    return operands_of(op)[0].type == op.results[0].type
