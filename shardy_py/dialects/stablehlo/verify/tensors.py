"""Tensor types in StableHLO's rules: compatibility, and the merge of several types.

A size is None where it is dynamic; a dynamic size may have a bound (`#stablehlo.bounds<?, 8>`).

>>> from xdsl.dialects.builtin import f32
>>> str(Tensor((2, None), f32, (None, 8)))
"'tensor<2x?xf32, #stablehlo.bounds<?, 8>>'"

Not here: what an op requires of its types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn, TypeGuard

from typing_extensions import override
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float64Type,
    IntegerType,
    NoneAttr,
    TensorType,
)
from xdsl.ir import Attribute

from shardy_py.dialects.faults import Fault
from shardy_py.session import SESSION
from shardy_py.text.attribute_writer import attribute_text

Size = int | None
Sizes = tuple[Size, ...]


class RuleViolation(Fault):
    """An op violates a rule.

    follows_name: whether the message goes on from `'dialect.op' op `; otherwise it stands alone.
    """

    def __init__(self, message: str, *, follows_name: bool = False) -> None:
        super().__init__(message, is_plain=not follows_name)


def fail(message: str, *, follows_name: bool = False) -> NoReturn:
    """Raises `RuleViolation`."""
    raise RuleViolation(message, follows_name=follows_name)


def require(holds: bool, message: str) -> None:
    """Raises `RuleViolation` with `message` unless the rule `holds`; for messages that cost nothing."""
    if not holds:
        fail(message)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A ranked tensor type.

    element: None where a rule does not constrain it.
    bounds: one a dimension; empty for a type without any.
    encoding: an encoding that holds no bounds.
    """

    sizes: Sizes
    element: Attribute | None = None
    bounds: Sizes = ()
    encoding: Attribute | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    @property
    def is_static(self) -> bool:
        """Whether no size is dynamic."""
        return None not in self.sizes

    @property
    def count(self) -> int:
        """The number of elements of a static tensor."""
        return prod(size for size in self.sizes if size is not None)

    def bound(self, index: int) -> Size:
        """The bound of a dimension, None if it has none."""
        return self.bounds[index] if self.bounds else None

    def of(self, element: Attribute | None) -> Tensor:
        """The same shape with another element type."""
        return replace(self, element=element)

    @override
    def __str__(self) -> str:
        parts = [
            *map(size_text, self.sizes),
            attribute_text(self.element) if self.element is not None else "*",
        ]
        if any(bound is not None for bound in self.bounds):
            extra = f", #stablehlo.bounds<{', '.join(map(size_text, self.bounds))}>"
        else:
            extra = f", {attribute_text(self.encoding)}" if self.encoding is not None else ""
        return f"'tensor<{'x'.join(parts)}{extra}>'"


_read: dict[int, tuple[Attribute, Tensor | None]] = SESSION.table("tensor types of verifiers")


def read_tensor(type_: Attribute) -> Tensor | None:
    """A ranked tensor type; None for any other attribute."""
    known = _read.get(id(type_))
    if known is None:
        known = _read[id(type_)] = (type_, _convert(type_))
    return known[1]


def _convert(type_: Attribute) -> Tensor | None:
    if not isinstance(type_, TensorType):
        return None
    shape: tuple[int, ...] = type_.get_shape()
    encoding: Any = type_.encoding
    bounds: Sizes = ()
    if isinstance(encoding, NoneAttr):
        encoding = None
    elif getattr(encoding, "name", "") == "stablehlo.bounds":
        bounds = tuple(_size(bound) for bound in encoding.data)
        encoding = None
    return Tensor(tuple(map(_size, shape)), type_.element_type, bounds, encoding)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _size(size: int) -> Size:
    return None if size == DYNAMIC_INDEX or size < 0 else size


def size_text(size: Size) -> str:
    """`8` or `?`."""
    return "?" if size is None else str(size)


def raw(size: Size) -> int:
    """A size in MLIR's encoding, which has a number for dynamic sizes."""
    return DYNAMIC_INDEX if size is None else size


def listed(values: Iterable[Size | bool]) -> str:
    """`2, 3`, with MLIR's number for dynamic sizes."""
    return ", ".join(str(int(value)) if isinstance(value, bool) else str(raw(value)) for value in values)


# ---------------------------------------------------------------------- elements


def is_float(element: Attribute | None) -> bool:
    """Whether an element type is a floating-point number."""
    return type(element).__name__.startswith(("Float", "BFloat")) or isinstance(
        element, BFloat16Type | Float64Type
    )


def is_complex(element: Attribute | None) -> TypeGuard[ComplexType]:
    """Whether an element type is a complex number."""
    return isinstance(element, ComplexType)


def is_integer(element: Attribute | None) -> TypeGuard[IntegerType]:
    """Whether an element type is an integer or i1."""
    return isinstance(element, IntegerType)


def is_quantized(element: Attribute | None) -> bool:
    """Whether an element type is a quantized number."""
    return element is not None and (
        element.name.startswith("quant.") or attribute_text(element).startswith("!quant.")
    )


def bit_width(element: Attribute | None) -> int:
    """The bits of an element; 0 if unknown."""
    if is_complex(element):
        return 2 * bit_width(element.element_type)
    if is_integer(element):
        return element.width.data
    width: Any = getattr(element, "bitwidth", 0)
    return width if isinstance(width, int) else 0


# ---------------------------------------------------------------------- compatibility


def same_size(first: Size, second: Size) -> bool:
    """Whether two sizes can be the same at run time."""
    return first is None or second is None or first == second


def same_shape(first: Sequence[Size], second: Sequence[Size]) -> bool:
    """Whether two shapes can be the same at run time."""
    return len(first) == len(second) and all(map(same_size, first, second))


def within(tensor: Tensor, other: Tensor) -> bool:
    """Whether no size of `tensor` exceeds a bound of `other`."""
    return all(
        size is None or bound is None or size <= bound
        for size, bound in zip(tensor.sizes, other.bounds, strict=False)
    )


def same_element(first: Attribute | None, second: Attribute | None) -> bool:
    """Whether two element types count as the same; all quantized ones do."""
    return (
        first is None or second is None or first == second or (is_quantized(first) and is_quantized(second))
    )


def compatible(first: Tensor, second: Tensor) -> bool:
    """Whether two types can be the same at run time, bounds and elements included."""
    return (
        same_shape(first.sizes, second.sizes)
        and within(first, second)
        and within(second, first)
        and same_element(first.element, second.element)
    )


def alike(first: Tensor, second: Tensor, *, any_precision: bool = False) -> bool:
    """Whether shapes are compatible and elements equal, or floats of `any_precision`."""
    if not same_shape(first.sizes, second.sizes):
        return False
    if any_precision and is_float(first.element) and is_float(second.element):
        return True
    return first.element == second.element


def promotable(first: Tensor, second: Tensor) -> bool:
    """Whether elements of `first` may be turned into those of `second`: of one kind and not wider."""
    a, b = first.element, second.element
    if is_float(a) and is_float(b):
        return True
    same_kind = (is_integer(a) and is_integer(b)) or (is_complex(a) and is_complex(b))
    return (same_kind and bit_width(a) <= bit_width(b)) or (is_quantized(a) and is_quantized(b))


# ---------------------------------------------------------------------- merging

Merge = Callable[[int, Size, Size, Size, Size], tuple[Size, Size]]


def most_specific(dimension: int, left: Size, right: Size, bound: Size, other: Size) -> tuple[Size, Size]:
    """Size and bound of values that must be equal: those that either side has."""
    if left is not None or right is not None:
        if left is not None and right is not None and left != right:
            fail(f"Mismatched dimension sizes {left} and {right} in dimension {dimension}")
        size = left if left is not None else right
        limit = bound if bound is not None else other
        if size is not None and limit is not None and size > limit:
            fail(f"Mismatched dimension size {size} and bound {limit} in dimension {dimension}")
        return size, None
    if bound is not None and other is not None:
        return None, min(bound, other)
    return None, bound if bound is not None else other


def least_specific(dimension: int, left: Size, right: Size, bound: Size, other: Size) -> tuple[Size, Size]:
    """Size and bound of a value that is one or the other: those of both."""
    if left is not None and left == right:
        return left, None
    first = left if left is not None else bound
    second = right if right is not None else other
    return None, max(first, second) if first is not None and second is not None else None


def merged(tensors: Sequence[Tensor], merge: Merge) -> Tensor:
    """Merges types of one rank, dimension by dimension."""
    first = tensors[0]
    for tensor in tensors:
        require(tensor.rank == first.rank, f"Mismatched ranks of types{first.rank} vs {tensor.rank}")
    pairs = [(size, first.bound(index)) for index, size in enumerate(first.sizes)]
    for tensor in tensors[1:]:
        pairs = [
            merge(index, size, tensor.sizes[index], bound, tensor.bound(index))
            for index, (size, bound) in enumerate(pairs)
        ]
    has_bounds = any(tensor.bounds for tensor in tensors)
    bounds = tuple(bound for _, bound in pairs) if has_bounds else ()
    return Tensor(tuple(size for size, _ in pairs), first.element, bounds, first.encoding)
