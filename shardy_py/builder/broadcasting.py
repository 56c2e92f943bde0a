"""Numbers and arrays as constants, and operands brought to one shape as numpy does; on SSA values.

Not here: functions on tensors (`ops.py`).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from shardy_py.builder.emit import emit_one
from shardy_py.builder.types import Shape, TensorType, dtype_of, element_of, type_of
from shardy_py.errors import ShardyError
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.dense import make_dense

Number = bool | int | float | complex


def tensor_type(value: SSAValue) -> TensorType:
    """The type of a value. Raises `ShardyError` when it is no ranked tensor."""
    found = type_of(value.type)
    if found is None:
        raise ShardyError(f"{attribute_text(value.type)} is no ranked tensor")
    return found


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a value. Raises `ShardyError` when one is not known."""
    type_ = tensor_type(value)
    if None in type_.shape:
        raise ShardyError(f"the sizes of {type_.text} must be known here")
    return tuple(size for size in type_.shape if size is not None)


def constant_value(
    data: Any, element_type: str | None = None, shape: tuple[int, ...] | None = None
) -> SSAValue:
    """A constant: an array, or a number that fills `shape` (without storing it as often)."""
    array = np.asarray(data)
    element = element_type or element_of(array.dtype)
    array = array.astype(dtype_of(element), order="C")
    if shape is not None and array.ndim and array.shape != shape:
        raise ShardyError(f"a constant of shape {shape} cannot hold an array of shape {array.shape}")
    type_ = TensorType(array.shape if shape is None else shape, element)
    return emit_one("constant", results=type_, value=make_dense(type_.attribute, array.tobytes()))


def together(lhs: Any, rhs: Any) -> tuple[SSAValue, SSAValue]:
    """Two operands of one shape: numbers and arrays become constants of the other's element type.

    Raises `ShardyError` when both are numbers, or their shapes do not broadcast (numpy, "Broadcasting").
    """
    known = next((cast(SSAValue, operand) for operand in (lhs, rhs) if isinstance(operand, SSAValue)), None)
    if known is None:
        raise ShardyError(f"expected a tensor among the operands, got: {lhs!r} and {rhs!r}")
    first, second = _like(lhs, known), _like(rhs, known)
    shapes = tensor_type(first).shape, tensor_type(second).shape
    if shapes[0] == shapes[1]:
        return first, second
    common = _common_shape(*shapes)
    return broadcast_to(first, common), broadcast_to(second, common)


def broadcast_to(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The value with dimensions of size 1 repeated, and new ones in front."""
    type_ = tensor_type(value)
    if type_.shape == shape:
        return value
    offset = len(shape) - len(type_.shape)
    dimensions = range(offset, len(shape))
    return emit_one(
        "broadcast_in_dim",
        value,
        results=TensorType(shape, type_.element_type),
        broadcast_dimensions=dimensions,
    )


def _like(data: Any, other: SSAValue) -> SSAValue:
    """A value as it is; a number or array as a constant like `other`."""
    if isinstance(data, SSAValue):
        return cast(SSAValue, data)
    if not isinstance(data, bool | int | float | complex | np.generic | np.ndarray):
        raise ShardyError(f"expected a tensor, a number or an array, got: {data!r}")
    type_ = tensor_type(other)
    shape = static_shape(other) if np.ndim(cast(Any, data)) == 0 else None
    return constant_value(data, type_.element_type, shape)


def _common_shape(lhs: Shape, rhs: Shape) -> tuple[int, ...]:
    if None in lhs or None in rhs:
        raise ShardyError(f"shapes {lhs} and {rhs} cannot be broadcast: their sizes must be known")
    try:
        return np.broadcast_shapes(lhs, rhs)  # pyright: ignore[reportArgumentType]
    except ValueError:
        raise ShardyError(f"shapes {lhs} and {rhs} cannot be broadcast together") from None
