"""Constants from numbers and arrays, broadcasting and dimensions as in numpy; on SSA values.

>>> dimension(-1, 3), dimensions((0, -1), 3), dimensions(None, 2)
(2, (0, 2), (0, 1))

Not here: functions on tensors (`ops/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

import numpy as np
from xdsl.ir import SSAValue

from shardy_py.base.arrays import AnyArray
from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.emit import emit_one
from shardy_py.frontends.builder.types import RankedTensorType, Shape, dtype_of, element_of, tensor, type_of
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_value
from shardy_py.mlir.text.dense import make_dense

_NARROW = {"i2": np.int8, "i4": np.int8, "ui2": np.uint8, "ui4": np.uint8}
"""Elements narrower than a byte are stored as bytes, sign-extended."""


def tensor_type(value: SSAValue) -> RankedTensorType:
    """The type of a value. Raises `ShardyError` unless it is a ranked tensor."""
    type_ = type_of(value.type)
    if type_ is None:
        raise ShardyError.unexpected("", expected="a ranked tensor", got=attribute_text(value.type))
    return type_


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a value. Raises `ShardyError` if one is dynamic."""
    return known_sizes(tensor_type(value))


def known_sizes(type_: RankedTensorType) -> tuple[int, ...]:
    """The sizes of a type. Raises `ShardyError` if one is dynamic."""
    if None in type_.shape:
        raise ShardyError.unexpected(
            "", expected="static sizes", got=type_.text, remedy="ops.dynamic_* take sizes from tensors"
        )
    return tuple(size for size in type_.shape if size is not None)


def constant_value(
    data: object, element_type: str | None = None, shape: Sequence[int] | None = None
) -> SSAValue:
    """A constant: an array, or a number broadcast to `shape`, which is stored once."""
    array = _array(data)
    element = element_type or element_of(array.dtype)
    array = _converted(array, element)
    if shape is not None and array.ndim and array.shape != tuple(shape):
        raise ShardyError(f"a constant of shape {shape} cannot hold an array of shape {array.shape}")
    type_ = tensor(array.shape if shape is None else shape, element)
    if element in _NARROW:
        array = array.astype(_NARROW[element])
    return emit_one("constant", results=type_, value=make_dense(type_.attribute, array.tobytes()))


def _array(data: object) -> AnyArray:
    try:
        return np.asarray(data)
    except ValueError as error:
        raise ShardyError.unexpected("", expected="a number or an array", got=f"{data!r} ({error})") from None


def _converted(array: AnyArray, element: str) -> AnyArray:
    """The numbers as elements of that type. Raises `ShardyError` if the type cannot represent them."""
    dtype = dtype_of(element)
    if array.dtype == dtype:
        return np.ascontiguousarray(array).reshape(array.shape)
    is_complex = element.startswith("complex")
    try:
        with np.errstate(all="ignore"):
            if array.dtype.kind == "c" and not is_complex:
                raise ValueError("complex numbers")
            elements = array.astype(dtype, order="C")
            if element[0] in "iu" and array.dtype.kind != "b":
                back = elements.astype(array.dtype)
                if not ((back == array) & ((elements < dtype.type(0)) == (array < 0))).all():
                    raise ValueError("out of range")
    except (TypeError, ValueError, OverflowError) as error:
        shown = f"{array}" if array.size <= 8 else f"an array of {array.dtype}"
        raise ShardyError(
            f"{shown} cannot be elements of {element} ({error}); convert the tensor or the numbers first"
        ) from None
    return elements


def together(lhs: object, rhs: object) -> tuple[SSAValue, SSAValue]:
    """Two operands broadcast to one shape; numbers and arrays become constants of the other's element type.

    Raises `ShardyError` if both are numbers, their element types differ, or their shapes do not broadcast
    (numpy, "Broadcasting").
    """
    tensor_ = next((operand for operand in (lhs, rhs) if is_value(operand)), None)
    if tensor_ is None:
        raise ShardyError.unexpected(
            "operands", expected="at least one tensor", got=f"{lhs!r} and {rhs!r}", remedy="use ops.constant"
        )
    first, second = _like(lhs, tensor_), _like(rhs, tensor_)
    types = tensor_type(first), tensor_type(second)
    require_one_element(*types)
    shapes = types[0].shape, types[1].shape
    if shapes[0] == shapes[1]:
        return first, second
    common = common_shape(*shapes)
    return broadcast_to(first, common), broadcast_to(second, common)


def require_one_element(lhs: RankedTensorType, rhs: RankedTensorType, remedy: str = "") -> None:
    """Raises `ShardyError` for operands of different element types."""
    if lhs.element_type != rhs.element_type:
        raise ShardyError.unexpected(
            "operands",
            expected="one element type",
            got=f"{lhs.text} and {rhs.text}",
            remedy=f"convert one with ops.convert{remedy}",
        )


def broadcast_to(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The value broadcast to `shape` as numpy does."""
    type_ = tensor_type(value)
    if type_.shape == shape:
        return value
    if common_shape(type_.shape, shape) != shape:
        raise ShardyError(f"{type_.text} cannot be broadcast to shape {shape}")
    offset = len(shape) - len(type_.shape)
    dimensions, result = range(offset, len(shape)), RankedTensorType(shape, type_.element_type)
    return emit_one("broadcast_in_dim", value, results=result, broadcast_dimensions=dimensions)


_NUMBERS: tuple[type[object], ...] = (bool, int, float, complex, np.generic, np.ndarray)


def _like(data: object, other: SSAValue) -> SSAValue:
    """The value itself, or a number or array as a constant of the element type of `other`."""
    if is_value(data):
        return data
    if not isinstance(data, _NUMBERS):
        raise ShardyError.unexpected("", expected="a tensor, a number or an array", got=f"{data!r}")
    type_ = tensor_type(other)
    shape = None if getattr(data, "ndim", 0) else static_shape(other)
    return constant_value(data, type_.element_type, shape)


def common_shape(lhs: Shape, rhs: Shape) -> tuple[int, ...]:
    """The shape that both broadcast to. Raises `ShardyError` without one and for dynamic sizes."""
    if None in lhs or None in rhs:
        raise ShardyError(f"shapes {lhs} and {rhs} cannot be broadcast: dynamic sizes are unsupported")
    try:
        return np.broadcast_shapes(lhs, rhs)  # pyright: ignore[reportArgumentType]
    except ValueError:
        raise ShardyError(f"shapes {lhs} and {rhs} cannot be broadcast together") from None


Dimensions = int | Iterable[int] | None
"""One dimension, several, or (None) all."""


def dimension(number: int, rank: int) -> int:
    """The number from the front. Raises `ShardyError` for one that a tensor of `rank` dimensions lacks."""
    try:
        position = index(number)
    except TypeError:
        raise ShardyError.unexpected("", expected="the number of a dimension", got=f"{number!r}") from None
    if not -rank <= position < rank:
        raise ShardyError(f"a tensor of rank {rank} has no dimension {position}")
    return position + rank if position < 0 else position


def dimensions(numbers: Dimensions, rank: int) -> tuple[int, ...]:
    """The numbers from the front, in the order given."""
    if numbers is None:
        return tuple(range(rank))
    if isinstance(numbers, int):
        return (dimension(numbers, rank),)
    return tuple(dimension(number, rank) for number in numbers)
