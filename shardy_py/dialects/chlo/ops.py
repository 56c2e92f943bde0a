"""CHLO's ops, one row an op; the notation is that of `dialects/definition.py` and `dialects/template.py`.

Not here: the forms of constants and scans (`forms.py`).
"""

from __future__ import annotations

from shardy_py.dialects.chlo.attributes import (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    PrecisionAttr,
    RaggedDotDimensionNumbers,
    RaggedDotDimensionNumbersAttr,
)
from shardy_py.dialects.chlo.forms import CONSTANT_FORM, SCAN_FORM, scan_names
from shardy_py.dialects.definition import OpRow, Rule, slots
from shardy_py.dialects.encoding import enum_encoding, struct_encoding
from shardy_py.dialects.kinds import KINDS, Notation, array_of, is_a, is_instance
from shardy_py.dialects.op_table import OpTable
from shardy_py.dialects.stablehlo.type_kinds import TYPE_KINDS
from shardy_py.dialects.stablehlo.verify.chlo import infer_top_k
from shardy_py.dialects.stablehlo.verify.traits import COMPATIBLE, ELEMENTWISE_TYPES, if_ranked
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import ARROW, TOP_K

_BROADCAST = "broadcast_dimensions?:integers"


def _unary(name: str, kind: str = "any_float_complex") -> OpRow:
    return _elementwise(name, f"operand:{kind}", kind, if_ranked(COMPATIBLE))


def _predicate(name: str) -> OpRow:
    return _elementwise(name, "operand:any_float", "any_pred", if_ranked(ELEMENTWISE_TYPES))


def _elementwise(name: str, operands: str, result: str, verify: Rule) -> OpRow:
    names = ", ".join(f"${slot.name}" for slot in slots(operands))
    form = Template(f" {names}", ARROW)
    return OpRow(name, operands, results=f"result:{result}", form=form, traits="pure", verify=(verify,))


def _broadcast(name: str, traits: str = "") -> OpRow:
    return OpRow(
        f"broadcast_{name}", "lhs rhs", _BROADCAST, form=typed(" $lhs, $rhs"), traits=f"pure {traits}"
    )


ROWS = (
    _unary("_asin_acos_kernel", "any_complex"),
    _unary("acos"),
    _unary("acosh"),
    _unary("asin"),
    _unary("asinh"),
    _unary("atan"),
    _unary("atanh"),
    _unary("bessel_i1e"),
    _unary("conj"),
    _unary("cosh"),
    _unary("digamma", "any_float"),
    _unary("erf", "any_float"),
    _unary("erf_inv", "any_float"),
    _unary("erfc", "any_float"),
    _predicate("is_inf"),
    _predicate("is_neg_inf"),
    _predicate("is_pos_inf"),
    _unary("lgamma", "any_float"),
    _unary("sinh"),
    _unary("square"),
    _unary("tan"),
    _broadcast("add", "commutative"),
    _broadcast("and", "commutative"),
    _broadcast("atan2"),
    _broadcast("complex"),
    _broadcast("divide"),
    _broadcast("maximum", "commutative"),
    _broadcast("minimum", "commutative"),
    _broadcast("multiply", "commutative"),
    _broadcast("next_after"),
    _broadcast("or", "commutative"),
    _broadcast("polygamma"),
    _broadcast("power"),
    _broadcast("remainder"),
    _broadcast("shift_left"),
    _broadcast("shift_right_arithmetic"),
    _broadcast("shift_right_logical"),
    _broadcast("subtract"),
    _broadcast("xor", "commutative"),
    _broadcast("zeta"),
    OpRow(
        "broadcast_compare",
        "lhs rhs",
        f"{_BROADCAST} comparison_direction:comparison_direction compare_type?:comparison_type",
        form=typed(" $lhs, $rhs"),
        traits="pure",
    ),
    OpRow(
        "broadcast_select", "pred on_true on_false", form=typed(" $pred, $on_true, $on_false"), traits="pure"
    ),
    OpRow("mulhi", "lhs rhs", form=Template(" $lhs, $rhs", ARROW), traits="pure commutative"),
    _elementwise("next_after", "x:any_float y:any_float", "any_float", if_ranked(COMPATIBLE)),
    _elementwise("polygamma", "n:any_float x:any_float", "any_float", if_ranked(COMPATIBLE)),
    _elementwise("zeta", "x:any_float q:any_float", "any_float", if_ranked(COMPATIBLE)),
    OpRow("constant", "", "value:elements", "output", form=CONSTANT_FORM, traits="pure constant"),
    OpRow("constant_like", "operand", "value:typed", traits="pure"),
    OpRow(
        "ragged_dot",
        "lhs rhs group_sizes",
        "ragged_dot_dimension_numbers:ragged_dot precision_config?:precisions",
        traits="pure",
    ),
    OpRow(
        "scan",
        "inputs* inits*",
        "dimension:index scan_dim_size?:index is_reverse?:bool=false is_associative?:bool",
        "outputs* carries*",
        "body",
        form=SCAN_FORM,
        traits="recursive isolated segments",
        argument_names=scan_names,
    ),
    OpRow(
        "top_k",
        "operand",
        "k:i64 is_stable?:bool=true",
        "values indices",
        form=Template("($operand, k = $k<, is_stable = $is_stable>)", TOP_K),
        traits="pure",
        infer=infer_top_k,
    ),
)
"""The rows."""

NOTATION = Notation(
    "chlo",
    kinds={
        **KINDS,
        "comparison_direction": is_a(
            ComparisonDirectionAttr,
            "Which comparison operation to perform.",
            enum_encoding(ComparisonDirectionAttr),
        ),
        "comparison_type": is_a(
            ComparisonTypeAttr, "Which comparison type to use.", enum_encoding(ComparisonTypeAttr)
        ),
        "ragged_dot": is_a(
            RaggedDotDimensionNumbersAttr,
            "Attribute that models the dimension information for ragged dot.",
            struct_encoding(RaggedDotDimensionNumbersAttr, RaggedDotDimensionNumbers),
        ),
        "precisions": array_of(
            "Precision Config attribute", is_instance(PrecisionAttr), enum_encoding(PrecisionAttr)
        ),
    },
    types=TYPE_KINDS,
)
"""The notation of the rows."""

OPS = OpTable(ROWS, NOTATION)
"""Every op of the dialect."""
