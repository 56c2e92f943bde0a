"""Element types of ATen ops: conversion of torch's types, promotion of operands.

Not here: the ops (the other files of this folder).

>>> common_element("i64", "bf16"), common_element("f16", "bf16"), common_element("ui8", "i8")
('bf16', 'f32', 'i16')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops
from shardy_py.frontends.builder.tensor import Operand
from shardy_py.frontends.builder.types import dtype_of, element_of

Outputs = Sequence[RankedTensorType]
"""The types of an op's results in torch."""
Results = Tensor | Sequence[Tensor | None] | None
"""The results of an op: a tensor, several, or none; None among several where torch computes none."""
Row = Callable[..., Results]
"""Builds an op of ATen: from the types of its results, and its arguments as its schema names them."""
Number = bool | int | float | complex
"""A scalar argument."""
Maybe = Tensor | None
Bound = int | None
"""The start or end of a slice; None: that of the dimension."""

_ORDER = (
    "i1", "ui8", "i8", "ui16", "i16", "ui32", "i32", "ui64", "i64",
    "f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>",
)  # fmt: skip
_PROMOTED_HIGHER = {frozenset({"f16", "bf16"}): "f32", frozenset({"ui8", "i8"}): "i16"}
_HALF = ("f16", "bf16")
DEFAULT_FLOAT = "f32"


_INSTEAD = {"complex32": "compute in torch.complex64"}


def element_of_torch(dtype: Operand) -> str:
    """The element type of a `torch.dtype`. Raises `ShardyError` if there is none."""
    name = str(dtype).removeprefix("torch.")
    element = element_of(name)
    if element == name:
        raise ShardyError.unsupported(f"element type {dtype}", remedy=_INSTEAD.get(name, ""))
    return element


_OF_SEVERAL = {
    "is_nested": ("a nested tensor", "pass it padded (x.to_padded_tensor(0.0))"),
    "is_quantized": ("a quantized tensor", "pass its integers (x.int_repr()) and scale, or x.dequantize()"),
}
"""Attributes of tensors of torch whose elements are not those of one array, with what helps."""


def check_dense(tensor: Operand, name: str = "") -> None:
    """Raises `ShardyError` for a tensor of torch that is sparse, opaque, nested or quantized."""
    layout = str(getattr(tensor, "layout", "torch.strided"))
    found = next((each for key, each in _OF_SEVERAL.items() if getattr(tensor, key, False)), None)
    if found is None and layout == "torch._mkldnn":
        kind = "an opaque tensor of oneDNN (torch._mkldnn)"
        found = kind, "pass x.to_dense(), and models as they are before to_mkldnn(model)"
    if found is None and layout != "torch.strided":
        found = f"a sparse tensor ({layout})", "pass x.to_dense()"
    if found is not None:
        kind, remedy = found
        raise ShardyError.unsupported(f"{name}: {kind}" if name else kind, remedy=remedy)


def is_float(element_type: str) -> bool:
    """Returns whether elements are floating-point numbers."""
    return element_type.startswith(("f", "bf"))


def common_element(lhs: str, rhs: str) -> str:
    """The element type to which two operands are promoted (PyTorch, "Type Promotion")."""
    if lhs == rhs:
        return lhs
    return _PROMOTED_HIGHER.get(frozenset({lhs, rhs})) or max(lhs, rhs, key=_ORDER.index)


def promoted(*operands: Any) -> tuple[Any, ...]:
    """Operands promoted to their common element type; numbers stay numbers."""
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    # Tensors without dimensions do not raise the type of those with dimensions, within a category.
    leading = [t.element_type for t in tensors if t.rank] or [t.element_type for t in tensors]
    element = leading[0]
    for other in leading[1:]:
        element = common_element(element, other)
    numbers = [operand for operand in operands if not isinstance(operand, Tensor)]
    if any(isinstance(number, float) for number in numbers) and not is_float(element):
        element = DEFAULT_FLOAT
    return converted(element, *operands)


def converted(element_type: str, *operands: Operand) -> tuple[Any, ...]:
    """Tensors converted to an element type; numbers stay numbers."""
    return tuple(convert(o, element_type) if isinstance(o, Tensor) else o for o in operands)


def convert(operand: Tensor, element_type: str) -> Tensor:
    """The tensor with elements of that type; the same tensor if it has them."""
    if operand.element_type == element_type:
        return operand
    if element_type == "i1":
        return ops.compare(operand, 0, "NE")
    return ops.convert(operand, element_type)


def widened(*operands: Tensor | None) -> tuple[Any, ...]:
    """Tensors with those of half precision in f32, as torch computes norms and softmax."""
    return tuple(convert(o, "f32") if o is not None and o.element_type in _HALF else o for o in operands)


def filled(type_: RankedTensorType, number: Operand) -> Tensor:
    """A constant of that type, filled with one number."""
    return ops.constant(np.asarray(number).astype(dtype_of(type_.element_type)), None, sizes(type_))


def sizes(type_: RankedTensorType) -> tuple[int, ...]:
    """The sizes of a static type."""
    return tuple(size for size in type_.shape if size is not None)


def dimension(number: int, rank: int) -> int:
    """A dimension counted from 0, for one that may be counted from the end."""
    return number + rank if number < 0 else number


def dimensions(numbers: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions counted from 0; all of them for None or none, and of a tensor without dimensions."""
    if numbers is None or not rank or (not isinstance(numbers, int) and not numbers):
        return tuple(range(rank))
    listed = (numbers,) if isinstance(numbers, int) else numbers
    return tuple(sorted(dimension(number, rank) for number in listed))
