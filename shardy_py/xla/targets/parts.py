"""Shapes and bytes of what a device has of a tensor.

>>> is_part((8, 4), (2, 4)), is_part((8, 4), (4, 8))
(True, False)
"""

from __future__ import annotations

from math import prod
from typing import TypeGuard

from shardy_py.indexing.layout import element_type
from shardy_py.ops import TensorType
from shardy_py.xla.spmd.tiling import Shape, Tiling


def is_piece(part: Shape, shape: Shape) -> bool:
    """True if a part has all of a shape but along one dimension."""
    return len(part) == len(shape) and sum(size != own for size, own in zip(part, shape, strict=True)) <= 1


def is_part(held: Shape, shape: Shape) -> bool:
    """True if one shape has fewer elements than the other along some dimensions, and as many along others."""
    if len(held) != len(shape) or prod(shape) >= prod(held):
        return False
    return all(size <= whole for size, whole in zip(shape, held, strict=True))


def shape_of(type_: TensorType) -> Shape:
    """The shape of a type; sizes that are not known are 0."""
    shape = type_.shape
    return shape if _is_static(shape) else tuple([size or 0 for size in shape])


def _is_static(shape: tuple[int | None, ...]) -> TypeGuard[Shape]:
    return None not in shape


def elements_of(type_: TensorType | None) -> int:
    """The number of elements of a type."""
    return 0 if type_ is None else prod(shape_of(type_))


def bits(type_: TensorType) -> int:
    """The bits of an element."""
    return element_type(type_.element).bits


def bytes_of(type_: TensorType) -> int:
    """The bytes of a tensor, without padding."""
    return -(-elements_of(type_) * bits(type_) // 8)


def local_type(type_: TensorType | None, tiling: Tiling | None) -> TensorType | None:
    """The type of what a device has of a value in a tiling."""
    if type_ is None or tiling is None or len(tiling.dimensions) != len(type_.shape):
        return type_
    return TensorType(tiling.local_shape(shape_of(type_)), type_.element)
