"""Rules of the ops that broadcast their operands: element types, and the shape of the result.

The rules are those of CHLO's definitions in StableHLO. Not here: the ops (`ops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Size,
    Sizes,
    read_tensor,
    same_element,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.text.builtin_attributes import complex_of
from shardy_py.mlir.typed import of_kind


def element_of(type_: Attribute) -> Attribute:
    """The element type of a tensor with or without rank; another type itself."""
    return getattr(type_, "element_type", type_)


def _elements(view: View) -> list[Attribute]:
    return [element_of(type_) for type_ in (*view.operand_types, *view.result_types)]


def check_same_elements(view: View) -> None:
    """Operands and results have one element type."""
    first, *others = _elements(view)
    if any(other != first for other in others):
        raise Fault("requires the same element type for all operands and results")


def check_compatible_elements(view: View) -> None:
    """The element types of operands and results differ in quantization only."""
    first, *others = _elements(view)
    if not all(same_element(first, other) for other in others):
        raise Fault("requires compatible element types for all operands and results")


def _broadcast_result(
    view: View, element: Callable[[Attribute], Attribute], start: int = 0
) -> Sequence[RankedTensor | Attribute]:
    """The result of operands that are broadcast together.

    element: makes the element type of the result from that of the operands.
    start: the first operand of equal element types; those in front of it are broadcast last.
    """
    elements = [element_of(type_) for type_ in view.operand_types[start:]]
    if any(other != elements[0] for other in elements):
        raise Fault("mismatched operand types")
    if not view.is_ranked:
        return view.result_types
    has_dimensions = "broadcast_dimensions" in view.op.properties
    given = view.integers("broadcast_dimensions") if has_dimensions else None
    sizes: Sizes | None = view.operands[start].sizes
    for operand in (*view.operands[start + 1 :], *view.operands[:start]):
        sizes = _broadcast(sizes, operand.sizes, given) if sizes is not None else None
    if sizes is None and not view.results:  # of an op that is being built; of others they count as unknown
        raise Fault("operands cannot be broadcast together")
    return (RankedTensor(view.results[0].sizes if sizes is None else sizes, element(elements[0])),)


def _broadcast(one: Sizes, other: Sizes, dimensions: tuple[int, ...] | None) -> Sizes | None:
    """The sizes of both broadcast together; None if they do not fit.

    dimensions: those of the shape of higher rank that the other's go along; by default the last ones.
    """
    large, small = (one, other) if len(one) > len(other) else (other, one)
    if dimensions is None or len(one) == len(other):
        dimensions = tuple(range(len(large) - len(small), len(large)))
    if len(dimensions) != len(small) or not all(0 <= d < len(large) for d in dimensions):
        return None
    sizes = list(large)
    for dimension, size in zip(dimensions, small, strict=True):
        if not _fits(large[dimension], size):
            return None
        sizes[dimension] = _merged(large[dimension], size)
    return tuple(sizes)


def _fits(one: Size, other: Size) -> bool:
    return one is None or other is None or one == other or 1 in (one, other)


def _merged(one: Size, other: Size) -> Size:
    """The size of a dimension of which both operands have one; None if it is known at run time only."""
    if 1 in (one, other):
        return other if one == 1 else one
    return other if one is None else one


def infer_broadcast(view: View) -> Sequence[RankedTensor | Attribute]:
    """The operands' shape, and their elements."""
    return _broadcast_result(view, lambda element: element)


def infer_broadcast_compare(view: View) -> Sequence[RankedTensor | Attribute]:
    """The operands' shape, of booleans."""
    return _broadcast_result(view, lambda element: i1)


def infer_broadcast_complex(view: View) -> Sequence[RankedTensor | Attribute]:
    """The operands' shape, of complex numbers."""
    return _broadcast_result(view, lambda element: complex_of(of_kind(element, Attribute)))


def infer_broadcast_select(view: View) -> Sequence[RankedTensor | Attribute]:
    """The shape of the two values, then of the predicate; the element type of a result is not checked."""
    given = view.results[0].element if view.results else None
    return _broadcast_result(view, lambda element: given or element, start=1)


def infer_constant(view: View) -> Sequence[RankedTensor | Attribute]:
    """The type of the value."""
    type_ = of_kind(view.op.properties["value"], DenseIntOrFPElementsAttr).type
    return (read_tensor(type_) or type_,)


def check_constant_like(view: View) -> None:
    """The value is an element of the result."""
    if getattr(view.op.properties["value"], "type", None) != element_of(view.result_types[0]):
        raise Fault("value's type doesn't match element return type")
