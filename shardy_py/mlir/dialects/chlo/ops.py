"""CHLO's ops, one row an op; the notation is that of `definition.py` and `template.py` in `mlir/dialects/`.

Not here: the forms of constants and scans (`forms.py`).
"""

from __future__ import annotations

from shardy_py.mlir.dialects.chlo.attributes import ATTRIBUTES, ENCLOSED, PrecisionAttr
from shardy_py.mlir.dialects.chlo.broadcasting import (
    check_compatible_elements,
    check_constant_like,
    check_same_elements,
    infer_broadcast,
    infer_broadcast_compare,
    infer_broadcast_complex,
    infer_broadcast_select,
    infer_constant,
)
from shardy_py.mlir.dialects.chlo.forms import CONSTANT_FORM, SCAN_FORM, scan_names
from shardy_py.mlir.dialects.definition import Infer, OpRow, Rule, slots
from shardy_py.mlir.dialects.encoding import enum_encoding
from shardy_py.mlir.dialects.kinds import KINDS, Notation, array_of, is_instance, own_kinds
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo.type_kinds import TYPE_KINDS
from shardy_py.mlir.dialects.stablehlo.verify.reduction import infer_top_k
from shardy_py.mlir.dialects.stablehlo.verify.traits import (
    COMPATIBLE,
    ELEMENTWISE_TYPES,
    SAME_SHAPE,
    if_ranked,
)
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import ARROW, TOP_K

_BROADCAST = "broadcast_dimensions?:integers"


def _elementwise(name: str, operands: str, result: str, rule: Rule = COMPATIBLE) -> OpRow:
    names = ", ".join(f"${slot.name}" for slot in slots(operands))
    signature = f"pure {name}({operands}) -> result:{result}"
    return OpRow(signature, Template(f" {names}", ARROW), verify=(if_ranked(rule),))


def _unary(names: str, kind: str) -> list[OpRow]:
    return [_elementwise(name, f"operand:{kind}", kind) for name in names.split()]


def _broadcast(
    names: str,
    operand: str = "any",
    result: str = "any",
    *,
    traits: str = "pure",
    rules: tuple[Rule, ...] = (check_same_elements,),
    infer: Infer = infer_broadcast,
) -> list[OpRow]:
    form = typed(" $lhs, $rhs")
    signature = f"(lhs:{operand} rhs:{operand}) <{_BROADCAST}> -> result:{result}"
    return [
        OpRow(f"{traits} broadcast_{name}{signature}", form, verify=rules, infer=infer)
        for name in names.split()
    ]


ROWS = (
    *_unary("_asin_acos_kernel", "any_complex"),
    *_unary("acos acosh asin asinh atan atanh bessel_i1e conj cosh sinh square tan", "any_float_complex"),
    *_unary("digamma erf erf_inv erfc lgamma", "any_float"),
    _elementwise("is_inf", "operand:any_float", "any_pred", ELEMENTWISE_TYPES),
    _elementwise("is_neg_inf", "operand:any_float", "any_pred", ELEMENTWISE_TYPES),
    _elementwise("is_pos_inf", "operand:any_float", "any_pred", ELEMENTWISE_TYPES),
    _elementwise("next_after", "x:any_float y:any_float", "any_float"),
    _elementwise("polygamma", "n:any_float x:any_float", "any_float"),
    _elementwise("zeta", "x:any_float q:any_float", "any_float"),
    *_broadcast("add maximum minimum", traits="pure commutative", rules=(check_compatible_elements,)),
    *_broadcast("and or xor", "any_pred_int", traits="pure commutative", rules=()),
    *_broadcast("multiply", traits="pure commutative"),
    *_broadcast("atan2 divide next_after polygamma power remainder subtract"),
    *_broadcast("shift_left shift_right_arithmetic shift_right_logical"),
    *_broadcast("zeta", "any_float", "any_float"),
    *_broadcast("complex", "any_float", "any_complex", rules=(), infer=infer_broadcast_complex),
    OpRow(
        "pure broadcast_compare(lhs:any rhs:any)"
        f" <{_BROADCAST} comparison_direction:comparison_direction compare_type?:comparison_type>"
        " -> result:any_pred",
        form=typed(" $lhs, $rhs"),
        infer=infer_broadcast_compare,
    ),
    OpRow(
        "pure broadcast_select(pred:pred on_true:any on_false:any) -> result:any",
        form=typed(" $pred, $on_true, $on_false"),
        infer=infer_broadcast_select,
    ),
    OpRow(
        "pure commutative mulhi(lhs:int rhs:int) -> result:int",
        form=Template(" $lhs, $rhs", ARROW),
        verify=(COMPATIBLE,),
    ),
    OpRow(
        "pure constant constant() <value:elements> -> output:static_tensor",
        form=CONSTANT_FORM,
        infer=infer_constant,
    ),
    OpRow(
        "pure constant_like(operand:any) <value:typed> -> result:any",
        verify=(if_ranked(SAME_SHAPE), check_constant_like),
    ),
    OpRow(
        "pure ragged_dot(lhs:any rhs:any group_sizes:int)"
        " <ragged_dot_dimension_numbers:ragged_dot precision_config?:precisions> -> result:any"
    ),
    OpRow(
        "recursive isolated segments scan(inputs* inits*)"
        " <dimension:index scan_dim_size?:index is_reverse?:bool=false is_associative?:bool> [body]"
        " -> outputs* carries*",
        form=SCAN_FORM,
        argument_names=scan_names,
    ),
    OpRow(
        "pure top_k(operand:any) <k:i64 is_stable?:bool=true> -> values indices",
        form=Template("($operand, k = $k<, is_stable = $is_stable>)", TOP_K),
        infer=infer_top_k,
    ),
)
"""The rows."""

NOTATION = Notation(
    "chlo",
    kinds={
        **KINDS,
        **own_kinds(
            {**ATTRIBUTES, **ENCLOSED},
            {
                "comparison_direction": "Which comparison operation to perform.",
                "comparison_type": "Which comparison type to use.",
                "ragged_dot": "Attribute that models the dimension information for ragged dot.",
            },
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
