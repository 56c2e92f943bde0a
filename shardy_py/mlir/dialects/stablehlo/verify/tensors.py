"""Tensor types in StableHLO's rules: kinds of elements, compatibility, and the merge of several types.

A size is None where it is dynamic; a dynamic size may have a bound (`#stablehlo.bounds<?, 8>`).

>>> from xdsl.dialects.builtin import f32
>>> str(RankedTensor((2, None), f32, (None, 8)))
"'tensor<2x?xf32, #stablehlo.bounds<?, 8>>'"

Not here: what an op requires of its types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeGuard

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX, ComplexType, IntegerType, NoneAttr
from xdsl.ir import Attribute

from shardy_py.base.patterns import on_use
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, Identities
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, require, size_text
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_tensor

_STORAGE = on_use(r"!quant\.\w+<[a-zA-Z]+(\d{1,9})")


def is_float(element: Attribute | None) -> bool:
    """Returns whether an element type is a floating-point number."""
    return type(element).__name__.startswith(("Float", "BFloat"))


def is_complex(element: Attribute | None) -> TypeGuard[ComplexType]:
    """Returns whether an element type is a complex number."""
    return isinstance(element, ComplexType)


def is_integer(element: Attribute | None) -> TypeGuard[IntegerType]:
    """Returns whether an element type is an integer or i1."""
    return isinstance(element, IntegerType)


def is_quantized(element: Attribute | None) -> bool:
    """Returns whether an element type is a quantized number."""
    if element is None:
        return False
    return element.name.startswith("quant.") or attribute_text(element).startswith("!quant.")


def bit_width(element: Attribute | None) -> int:
    """The bits of an element, of the storage of a quantized one; 0 if unknown."""
    if is_complex(element):
        return 2 * bit_width(element.element_type)
    if is_integer(element):
        return element.width.data
    if is_quantized(element) and element is not None:
        storage = _STORAGE.match(attribute_text(element))
        return int(storage[1]) if storage else 0
    width: object = getattr(element, "bitwidth", 0)
    return width if isinstance(width, int) else 0


Size = int | None
Sizes = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class RankedTensor:
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
        """Returns whether no size is dynamic."""
        return None not in self.sizes

    @property
    def count(self) -> int:
        """The number of elements of a static tensor."""
        return prod(size for size in self.sizes if size is not None)

    def bound(self, index: int) -> Size:
        """The bound of a dimension, None if it has none."""
        return self.bounds[index] if self.bounds else None

    def of(self, element: Attribute | None) -> RankedTensor:
        """The same shape with another element type."""
        return replace(self, element=element)

    def take(self, dimensions: Iterable[int]) -> RankedTensor:
        """Some of the dimensions, in the given order, without the encoding."""
        pairs = [(self.sizes[index], self.bound(index)) for index in dimensions]
        return self.resized(pairs, has_bounds=bool(self.bounds))

    def resized(self, pairs: Sequence[tuple[Size, Size]], *, has_bounds: bool) -> RankedTensor:
        """The same element type with a size and a bound a dimension, without the encoding."""
        bounds = tuple(bound for _, bound in pairs) if has_bounds else ()
        return RankedTensor(tuple(size for size, _ in pairs), self.element, bounds)

    def is_shaped_as(self, other: RankedTensor) -> bool:
        """Returns whether the shapes can be the same at run time."""
        return same_shape(self.sizes, other.sizes)

    def is_within(self, other: RankedTensor) -> bool:
        """Returns whether no size exceeds a bound of `other`."""
        pairs = zip(self.sizes, other.bounds, strict=False)
        return all(size is None or bound is None or size <= bound for size, bound in pairs)

    def is_compatible(self, other: RankedTensor) -> bool:
        """Returns whether the types can be the same at run time, bounds and elements included."""
        is_shaped = self.is_shaped_as(other) and self.is_within(other) and other.is_within(self)
        return is_shaped and same_element(self.element, other.element)

    def is_alike(self, other: RankedTensor, *, any_precision: bool = False) -> bool:
        """Returns whether shapes are compatible and elements equal, or floats of `any_precision`."""
        if any_precision and is_float(self.element) and is_float(other.element):
            return self.is_shaped_as(other)
        return self.is_shaped_as(other) and self.element == other.element

    def is_promotable(self, other: RankedTensor) -> bool:
        """Returns whether the elements may be turned into those of `other`: of one kind and not wider."""
        a, b = self.element, other.element
        if is_float(a) and is_float(b):
            return True
        same_kind = (is_integer(a) and is_integer(b)) or (is_complex(a) and is_complex(b))
        return (same_kind and bit_width(a) <= bit_width(b)) or (is_quantized(a) and is_quantized(b))

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


_READ: Identities[RankedTensor | None] = SESSION.identities("tensor types of verifiers")


def read_tensor(type_: Attribute) -> RankedTensor | None:
    """A ranked tensor type; None for any other attribute."""
    known = _READ.get(id(type_))
    return known[0] if known is not None else _READ.remember(type_, _convert(type_))


def _convert(type_: Attribute) -> RankedTensor | None:
    if not is_tensor(type_):
        return None
    encoding: Attribute | None = type_.encoding
    bounds: Sizes = ()
    if isinstance(encoding, NoneAttr):
        encoding = None
    elif encoding.name == "stablehlo.bounds":
        given: tuple[int, ...] = getattr(encoding, "data", ())
        bounds, encoding = tuple(map(_size, given)), None
    return RankedTensor(tuple(map(_size, type_.get_shape())), type_.element_type, bounds, encoding)


def _size(size: int) -> Size:
    return None if size == DYNAMIC_INDEX or size < 0 else size


# ---------------------------------------------------------------------- compatibility


def same_size(first: Size, second: Size) -> bool:
    """Returns whether two sizes can be the same at run time."""
    return first is None or second is None or first == second


def same_shape(first: Sequence[Size], second: Sequence[Size]) -> bool:
    """Returns whether two shapes can be the same at run time."""
    return len(first) == len(second) and all(map(same_size, first, second))


def same_element(first: Attribute | None, second: Attribute | None) -> bool:
    """Returns whether two element types count as the same; all quantized ones do."""
    return None in (first, second) or first == second or (is_quantized(first) and is_quantized(second))


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


def merged(tensors: Sequence[RankedTensor], merge: Merge) -> RankedTensor:
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
    whole = first.resized(pairs, has_bounds=any(tensor.bounds for tensor in tensors))
    return replace(whole, encoding=first.encoding)


# ---------------------------------------------------------------------- lists of dimensions


def is_unique(values: Sequence[int]) -> bool:
    """Returns whether no value occurs twice."""
    return len(set(values)) == len(values)


def require_shape(expected: Sizes, given: RankedTensor) -> None:
    """The inferred shape is that of the result."""
    if not same_shape(expected, given.sizes):
        fail(
            f"inferred shape '[{', '.join(map(size_text, expected))}]' is incompatible with return type of "
            f"operation {given}"
        )
