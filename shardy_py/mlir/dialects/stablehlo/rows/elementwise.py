"""Ops that work element by element."""

from __future__ import annotations

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    HLO_COMMUTATIVE,
    NO_EFFECT,
    Infer,
    OpRow,
    Rule,
    Slot,
    Trait,
    optional,
    slots,
)
from shardy_py.mlir.dialects.kinds import AttributeKind, TypeKind
from shardy_py.mlir.dialects.stablehlo import attribute_kinds as own
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify import elementwise as rules
from shardy_py.mlir.dialects.stablehlo.verify.traits import (
    COMPATIBLE,
    COMPATIBLE_ELEMENTS,
    COMPATIBLE_OPERAND_ELEMENTS,
    ELEMENTWISE_TYPES,
    SAME_OPERAND_ELEMENT,
    SAME_SHAPE,
)
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import COMPLEX, SAME, SELECT

_UNARY = Template(" $operand", SAME)
_BINARY = Template(" $lhs, $rhs", SAME)


def _unary(names: str, kind: TypeKind, attributes: tuple[Slot[AttributeKind], ...] = ()) -> list[OpRow]:
    return [
        OpRow(
            name,
            operands=slots(operand=kind),
            attributes=attributes,
            results=slots(result=kind),
            traits=(NO_EFFECT,),
            form=_UNARY,
            verify=(COMPATIBLE, rules.check_accuracy),
            infer=rules.infer_most_specific,
        )
        for name in names.split()
    ]


def _binary(names: str, kind: TypeKind, *traits: Trait) -> list[OpRow]:
    return [
        OpRow(
            name,
            operands=slots(lhs=kind, rhs=kind),
            results=slots(result=kind),
            traits=(NO_EFFECT, *traits),
            form=_BINARY,
            verify=(COMPATIBLE,),
            infer=rules.infer_most_specific,
        )
        for name in names.split()
    ]


def _with_result(
    name: str, operand: TypeKind, result: TypeKind, *verify: Rule, infer: Infer | None = None
) -> OpRow:
    """The element type of the result is another than the operand's."""
    given, made = slots(operand=operand), slots(result=result)
    return OpRow(
        name, operands=given, results=made, traits=(NO_EFFECT,), form=_UNARY, verify=verify, infer=infer
    )


ELEMENTWISE = (
    *_unary(
        "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh",
        t.FLOAT_COMPLEX_QUANT,
        slots(result_accuracy=optional(own.RESULT_ACCURACY, own.DEFAULT_ACCURACY)),
    ),
    *_unary("ceil floor round_nearest_afz round_nearest_even", t.FLOAT_QUANT),
    *_unary("count_leading_zeros popcnt", t.INT),
    *_unary("negate", t.NUMBER),
    *_unary("not", t.PRED_INT),
    *_unary("sign", t.SIGNED),
    _with_result("abs", t.SIGNED, t.SIGNED_REAL, ELEMENTWISE_TYPES, infer=rules.infer_real),
    _with_result("imag", t.FLOAT_COMPLEX, t.FLOAT, ELEMENTWISE_TYPES, infer=rules.infer_real),
    _with_result("real", t.FLOAT_COMPLEX, t.FLOAT, ELEMENTWISE_TYPES, infer=rules.infer_real),
    _with_result("convert", t.PLAIN, t.PLAIN, SAME_SHAPE),
    _with_result("uniform_dequantize", t.QUANT_AXES, t.FLOAT, SAME_SHAPE),
    _with_result("uniform_quantize", t.FLOAT_QUANT_AXES, t.QUANT_AXES, SAME_SHAPE),
    *_binary("and or xor", t.PRED_INT, HLO_COMMUTATIVE),
    *_binary("maximum minimum multiply", t.TENSOR, HLO_COMMUTATIVE),
    *_binary("divide power remainder subtract", t.NUMBER),
    *_binary("shift_left shift_right_arithmetic shift_right_logical", t.INT),
    *_binary("atan2", t.FLOAT_COMPLEX_QUANT),
    OpRow(
        "is_finite",
        operands=slots(x=t.FLOAT_QUANT),
        results=slots(y=t.PRED),
        traits=(NO_EFFECT,),
        form=typed(" $x"),
        verify=(ELEMENTWISE_TYPES,),
        infer=rules.infer_predicate,
    ),
    OpRow(
        "add",
        operands=slots(lhs=t.AXES, rhs=t.AXES),
        results=slots(result=t.AXES),
        traits=(
            NO_EFFECT,
            HLO_COMMUTATIVE,
        ),
        form=_BINARY,
        verify=(SAME_SHAPE, rules.check_add),
        infer=rules.infer_add,
    ),
    OpRow(
        "complex",
        operands=slots(lhs=t.FLOAT32, rhs=t.FLOAT32),
        results=slots(result=t.COMPLEX),
        traits=(NO_EFFECT,),
        form=Template(" $lhs, $rhs", COMPLEX),
        verify=(SAME_OPERAND_ELEMENT, SAME_SHAPE),
        infer=rules.infer_complex,
    ),
    OpRow(
        "clamp",
        operands=slots(min=t.TENSOR, operand=t.TENSOR, max=t.TENSOR),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=Template(" $min, $operand, $max", SAME),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_clamp,
    ),
    OpRow(
        "compare",
        operands=slots(lhs=t.TENSOR, rhs=t.TENSOR),
        attributes=slots(
            comparison_direction=own.COMPARISON_DIRECTION, compare_type=optional(own.COMPARISON_TYPE)
        ),
        results=slots(result=t.PRED),
        traits=(NO_EFFECT,),
        form=typed(" $comparison_direction, $lhs, $rhs<, $compare_type>"),
        verify=(ELEMENTWISE_TYPES, COMPATIBLE_OPERAND_ELEMENTS),
        infer=rules.infer_predicate,
    ),
    OpRow(
        "reduce_precision",
        operands=slots(operand=t.FLOAT_QUANT),
        attributes=slots(exponent_bits=k.COUNT32, mantissa_bits=k.INDEX32),
        results=slots(output=t.FLOAT_QUANT),
        traits=(NO_EFFECT,),
        form=Template(" $operand, format = $format", SAME),
        verify=(ELEMENTWISE_TYPES, COMPATIBLE),
        infer=rules.infer_most_specific,
    ),
    OpRow(
        "select",
        operands=slots(pred=t.PRED, on_true=t.TENSOR, on_false=t.TENSOR),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=Template(" $pred, $on_true, $on_false", SELECT),
        infer=rules.infer_select,
    ),
)
"""The rows."""
