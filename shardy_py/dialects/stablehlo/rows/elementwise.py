"""Ops that work element by element."""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.stablehlo.verify import elementwise as rules
from shardy_py.dialects.stablehlo.verify.traits import (
    COMPATIBLE,
    COMPATIBLE_ELEMENTS,
    COMPATIBLE_OPERAND_ELEMENTS,
    ELEMENTWISE_TYPES,
    SAME_OPERAND_ELEMENT,
    SAME_SHAPE,
)
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import COMPLEX, SAME, SELECT

_UNARY = Template(" $operand", SAME)
_BINARY = Template(" $lhs, $rhs", SAME)


def _unary(name: str, kind: str = "float_complex_quant", *, has_accuracy: bool = False) -> OpRow:
    return OpRow(
        name,
        f"operand:{kind}",
        "result_accuracy?:accuracy=default_accuracy" if has_accuracy else "",
        f"result:{kind}",
        form=_UNARY,
        traits="no_effect",
        verify=(COMPATIBLE, rules.check_accuracy),
        infer=rules.infer_most_specific,
    )


def _converting(name: str, operand: str, result: str) -> OpRow:
    """The element type of the result does not follow from the operand's."""
    types = f"operand:{operand}", "", f"result:{result}"
    return OpRow(name, *types, form=_UNARY, traits="no_effect", verify=(SAME_SHAPE,))


def _real(name: str, operand: str, result: str) -> OpRow:
    types = f"operand:{operand}", "", f"result:{result}"
    return OpRow(
        name, *types, form=_UNARY, traits="no_effect", verify=(ELEMENTWISE_TYPES,), infer=rules.infer_real
    )


def _binary(name: str, kind: str = "number", traits: str = "") -> OpRow:
    return OpRow(
        name,
        f"lhs:{kind} rhs:{kind}",
        results=f"result:{kind}",
        form=_BINARY,
        traits=f"no_effect {traits}",
        verify=(COMPATIBLE,),
        infer=rules.infer_most_specific,
    )


ELEMENTWISE = (
    _real("abs", "signed", "signed_real"),
    _unary("cbrt", has_accuracy=True),
    _unary("ceil", "float_quant"),
    _converting("convert", "plain", "plain"),
    _unary("cosine", has_accuracy=True),
    _unary("count_leading_zeros", "int"),
    _unary("exponential", has_accuracy=True),
    _unary("exponential_minus_one", has_accuracy=True),
    _unary("floor", "float_quant"),
    _real("imag", "float_complex", "float"),
    OpRow(
        "is_finite",
        "x:float_quant",
        results="y:pred",
        form=typed(" $x"),
        traits="no_effect",
        verify=(ELEMENTWISE_TYPES,),
        infer=rules.infer_predicate,
    ),
    _unary("log", has_accuracy=True),
    _unary("log_plus_one", has_accuracy=True),
    _unary("logistic", has_accuracy=True),
    _unary("negate", "number"),
    _unary("not", "pred_int"),
    _unary("popcnt", "int"),
    _real("real", "float_complex", "float"),
    _unary("round_nearest_afz", "float_quant"),
    _unary("round_nearest_even", "float_quant"),
    _unary("rsqrt", has_accuracy=True),
    _unary("sign", "signed"),
    _unary("sine", has_accuracy=True),
    _unary("sqrt", has_accuracy=True),
    _unary("tan", has_accuracy=True),
    _unary("tanh", has_accuracy=True),
    _converting("uniform_dequantize", "quant_axes", "float"),
    _converting("uniform_quantize", "float_quant_axes", "quant_axes"),
    OpRow(
        "add",
        "lhs:axes rhs:axes",
        results="result:axes",
        form=_BINARY,
        traits="no_effect hlo_commutative",
        verify=(SAME_SHAPE, rules.check_add),
        infer=rules.infer_add,
    ),
    _binary("and", "pred_int", "hlo_commutative"),
    _binary("atan2", "float_complex_quant"),
    OpRow(
        "complex",
        "lhs:float32 rhs:float32",
        results="result:complex",
        form=Template(" $lhs, $rhs", COMPLEX),
        traits="no_effect",
        verify=(SAME_OPERAND_ELEMENT, SAME_SHAPE),
        infer=rules.infer_complex,
    ),
    _binary("divide"),
    _binary("maximum", "tensor", "hlo_commutative"),
    _binary("minimum", "tensor", "hlo_commutative"),
    _binary("multiply", "tensor", "hlo_commutative"),
    _binary("or", "pred_int", "hlo_commutative"),
    _binary("power"),
    _binary("remainder"),
    _binary("shift_left", "int"),
    _binary("shift_right_arithmetic", "int"),
    _binary("shift_right_logical", "int"),
    _binary("subtract"),
    _binary("xor", "pred_int", "hlo_commutative"),
    OpRow(
        "clamp",
        "min:tensor operand:tensor max:tensor",
        results="result:tensor",
        form=Template(" $min, $operand, $max", SAME),
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_clamp,
    ),
    OpRow(
        "compare",
        "lhs:tensor rhs:tensor",
        "comparison_direction:comparison_direction compare_type?:comparison_type",
        "result:pred",
        form=typed(" $comparison_direction, $lhs, $rhs<, $compare_type>"),
        traits="no_effect",
        verify=(ELEMENTWISE_TYPES, COMPATIBLE_OPERAND_ELEMENTS),
        infer=rules.infer_predicate,
    ),
    OpRow(
        "reduce_precision",
        "operand:float_quant",
        "exponent_bits:count32 mantissa_bits:index32",
        "output:float_quant",
        form=Template(" $operand, format = $format", SAME),
        traits="no_effect",
        verify=(ELEMENTWISE_TYPES, COMPATIBLE),
        infer=rules.infer_most_specific,
    ),
    OpRow(
        "select",
        "pred:pred on_true:tensor on_false:tensor",
        results="result:tensor",
        form=Template(" $pred, $on_true, $on_false", SELECT),
        traits="no_effect",
        infer=rules.infer_select,
    ),
)
"""The rows."""
