"""Ops that work element by element."""

from __future__ import annotations

from shardy_py.mlir.dialects.definition import OpRow
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


def _unary(names: str, kind: str, attributes: str = "") -> list[OpRow]:
    return [
        OpRow(
            f"no_effect {name}(operand:{kind}){attributes} -> result:{kind}",
            form=_UNARY,
            verify=(COMPATIBLE, rules.check_accuracy),
            infer=rules.infer_most_specific,
        )
        for name in names.split()
    ]


def _binary(names: str, kind: str, traits: str = "no_effect") -> list[OpRow]:
    return [
        OpRow(
            f"{traits} {name}(lhs:{kind} rhs:{kind}) -> result:{kind}",
            form=_BINARY,
            verify=(COMPATIBLE,),
            infer=rules.infer_most_specific,
        )
        for name in names.split()
    ]


def _converting(name: str, operand: str, result: str) -> OpRow:
    """The element type of the result does not follow from the operand's."""
    signature = f"no_effect {name}(operand:{operand}) -> result:{result}"
    return OpRow(signature, form=_UNARY, verify=(SAME_SHAPE,))


def _real(name: str, operand: str, result: str) -> OpRow:
    signature = f"no_effect {name}(operand:{operand}) -> result:{result}"
    return OpRow(signature, form=_UNARY, verify=(ELEMENTWISE_TYPES,), infer=rules.infer_real)


ELEMENTWISE = (
    *_unary(
        "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh",
        "float_complex_quant",
        " <result_accuracy?:result_accuracy=default_accuracy>",
    ),
    *_unary("ceil floor round_nearest_afz round_nearest_even", "float_quant"),
    *_unary("count_leading_zeros popcnt", "int"),
    *_unary("negate", "number"),
    *_unary("not", "pred_int"),
    *_unary("sign", "signed"),
    _real("abs", "signed", "signed_real"),
    _real("imag", "float_complex", "float"),
    _real("real", "float_complex", "float"),
    _converting("convert", "plain", "plain"),
    _converting("uniform_dequantize", "quant_axes", "float"),
    _converting("uniform_quantize", "float_quant_axes", "quant_axes"),
    *_binary("and or xor", "pred_int", "no_effect hlo_commutative"),
    *_binary("maximum minimum multiply", "tensor", "no_effect hlo_commutative"),
    *_binary("divide power remainder subtract", "number"),
    *_binary("shift_left shift_right_arithmetic shift_right_logical", "int"),
    *_binary("atan2", "float_complex_quant"),
    OpRow(
        "no_effect is_finite(x:float_quant) -> y:pred",
        form=typed(" $x"),
        verify=(ELEMENTWISE_TYPES,),
        infer=rules.infer_predicate,
    ),
    OpRow(
        "no_effect hlo_commutative add(lhs:axes rhs:axes) -> result:axes",
        form=_BINARY,
        verify=(SAME_SHAPE, rules.check_add),
        infer=rules.infer_add,
    ),
    OpRow(
        "no_effect complex(lhs:float32 rhs:float32) -> result:complex",
        form=Template(" $lhs, $rhs", COMPLEX),
        verify=(SAME_OPERAND_ELEMENT, SAME_SHAPE),
        infer=rules.infer_complex,
    ),
    OpRow(
        "no_effect clamp(min:tensor operand:tensor max:tensor) -> result:tensor",
        form=Template(" $min, $operand, $max", SAME),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_clamp,
    ),
    OpRow(
        "no_effect compare(lhs:tensor rhs:tensor)"
        " <comparison_direction:comparison_direction compare_type?:comparison_type> -> result:pred",
        form=typed(" $comparison_direction, $lhs, $rhs<, $compare_type>"),
        verify=(ELEMENTWISE_TYPES, COMPATIBLE_OPERAND_ELEMENTS),
        infer=rules.infer_predicate,
    ),
    OpRow(
        "no_effect reduce_precision(operand:float_quant) <exponent_bits:count32 mantissa_bits:index32>"
        " -> output:float_quant",
        form=Template(" $operand, format = $format", SAME),
        verify=(ELEMENTWISE_TYPES, COMPATIBLE),
        infer=rules.infer_most_specific,
    ),
    OpRow(
        "no_effect select(pred:pred on_true:tensor on_false:tensor) -> result:tensor",
        form=Template(" $pred, $on_true, $on_false", SELECT),
        infer=rules.infer_select,
    ),
)
"""The rows."""
