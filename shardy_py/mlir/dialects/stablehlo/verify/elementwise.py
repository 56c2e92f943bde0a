"""Rules of ops that work element by element: one result of the operands' shape."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, i1

from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    is_complex,
    is_quantized,
    merged,
    most_specific,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View


def infer_most_specific(view: View) -> Sequence[RankedTensor]:
    """The type that all operands have."""
    return (merged(view.operands, most_specific),)


def infer_add(view: View) -> Sequence[RankedTensor]:
    """The shape that both operands have; `check_add` checks elements."""
    merged_type = merged(view.operands, most_specific)
    return (merged_type.of(None) if is_quantized(merged_type.element) else merged_type,)


def infer_real(view: View) -> Sequence[RankedTensor]:
    """The operand's type with real elements: of abs, real and imag."""
    element = view.operands[0].element
    return (view.operands[0].of(element.element_type if is_complex(element) else element),)


def infer_predicate(view: View) -> Sequence[RankedTensor]:
    """The operand's shape with i1 elements: of compare and is_finite."""
    return (view.operands[0].of(i1),)


def infer_complex(view: View) -> Sequence[RankedTensor]:
    """Complex numbers of the operands' elements."""
    element = view.operands[0].element
    return (view.operands[0].of(ComplexType(element) if element is not None else None),)  # pyright: ignore[reportArgumentType]


def check_add(view: View) -> None:
    """Operands and result have one element type; quantized ones only quantized."""
    types = (*view.operands, *view.results)
    if any(is_quantized(type_.element) for type_ in types):
        if not all(is_quantized(type_.element) for type_ in types):
            fail("expects  all operands and results to be either quantized or non-quantized")
        return
    if len({type_.element for type_ in types}) != 1:
        fail("op requires the same element type for all operands and results")


def check_accuracy(view: View) -> None:
    """Tolerances are not negative, and nothing but zero unless the mode is one of tolerance."""
    accuracy = view.value("result_accuracy")
    if accuracy is None:
        return
    require(accuracy.atol >= 0 and accuracy.rtol >= 0 and accuracy.ulps >= 0, "Negative tolerance")
    mode = getattr(accuracy.mode, "data", accuracy.mode)
    is_zero = accuracy.atol == accuracy.rtol == accuracy.ulps == 0
    if not is_zero and mode in ("DEFAULT", "HIGHEST"):
        fail(f"Invalid tolerances for ResultAccuracyAttr with mode {mode}, must be all zero.")


def infer_clamp(view: View) -> Sequence[RankedTensor]:
    """Limits are scalars or of the operand's shape; the result is of the operand's type."""
    minimum, operand, maximum = view.operands
    for name, limit in (("min", minimum), ("max", maximum)):
        if limit.rank != 0 and not limit.is_shaped_as(operand):
            fail(
                f"{name} shape [{listed(limit.sizes)}] is not scalar and is not compatible to operand shape "
                f"[{listed(operand.sizes)}]"
            )
    return (operand,)


def infer_select(view: View) -> Sequence[RankedTensor]:
    """Both choices are of one type; the predicate is a scalar or of their shape."""
    predicate_type, on_true, on_false = view.operands
    require(on_true.is_alike(on_false), "requires compatible types for non-predicate operands")
    if predicate_type.rank != 0 and not predicate_type.is_shaped_as(on_true):
        fail("requires the same shape for all operands")
    return (merged((on_true, on_false), most_specific),)
