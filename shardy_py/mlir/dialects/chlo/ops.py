"""CHLO's ops, one row an op; `definition.py` and `template.py` in `mlir/dialects/` describe rows.

Not here: the forms of constants and scans (`forms.py`).
"""

from __future__ import annotations

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.chlo import attributes as a
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
from shardy_py.mlir.dialects.chlo.verify import check_ragged_dot, check_scan, infer_scan
from shardy_py.mlir.dialects.definition import (
    COMMUTATIVE,
    CONSTANT,
    ISOLATED,
    PURE,
    RECURSIVE,
    SEGMENTS,
    Infer,
    OpRow,
    Rule,
    Trait,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.encoding import enum_encoding
from shardy_py.mlir.dialects.kinds import TypeKind
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify.reduction import infer_top_k
from shardy_py.mlir.dialects.stablehlo.verify.traits import (
    COMPATIBLE,
    ELEMENTWISE_TYPES,
    SAME_SHAPE,
    if_ranked,
)
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import ARROW, TOP_K

_COMPARISON_DIRECTION = k.own_kind(a.ComparisonDirectionAttr, "Which comparison operation to perform.")
_COMPARISON_TYPE = k.own_kind(a.ComparisonTypeAttr, "Which comparison type to use.")
_RAGGED_DOT = k.own_kind(
    a.RaggedDotDimensionNumbersAttr, "Attribute that models the dimension information for ragged dot."
)
_PRECISIONS = k.array_of(
    "Precision Config attribute", k.is_instance(a.PrecisionAttr), enum_encoding(a.PrecisionAttr)
)
_BROADCAST = {"broadcast_dimensions": optional(k.INTEGERS)}


def _elementwise(name: str, result: TypeKind, *verify: Rule, **operands: TypeKind) -> OpRow:
    return OpRow(
        name,
        operands=slots(**operands),
        results=slots(result=result),
        traits=(PURE,),
        form=Template(f" {', '.join(f'${name}' for name in operands)}", ARROW),
        verify=tuple(map(if_ranked, verify or (COMPATIBLE,))),
    )


def _unary(names: str, kind: TypeKind) -> list[OpRow]:
    return [_elementwise(name, kind, operand=kind) for name in names.split()]


def _broadcast(
    names: str,
    operand: TypeKind = t.ANY,
    result: TypeKind = t.ANY,
    *,
    traits: tuple[Trait, ...] = (PURE,),
    rules: tuple[Rule, ...] = (check_same_elements,),
    infer: Infer = infer_broadcast,
) -> list[OpRow]:
    return [
        OpRow(
            f"broadcast_{name}",
            operands=slots(lhs=operand, rhs=operand),
            attributes=slots(**_BROADCAST),
            results=slots(result=result),
            traits=traits,
            form=typed(" $lhs, $rhs"),
            verify=rules,
            infer=infer,
        )
        for name in names.split()
    ]


ROWS = (
    *_unary("_asin_acos_kernel", t.ANY_COMPLEX),
    *_unary("acos acosh asin asinh atan atanh bessel_i1e conj cosh sinh square tan", t.ANY_FLOAT_COMPLEX),
    *_unary("digamma erf erf_inv erfc lgamma", t.ANY_FLOAT),
    _elementwise("is_inf", t.ANY_PRED, ELEMENTWISE_TYPES, operand=t.ANY_FLOAT),
    _elementwise("is_neg_inf", t.ANY_PRED, ELEMENTWISE_TYPES, operand=t.ANY_FLOAT),
    _elementwise("is_pos_inf", t.ANY_PRED, ELEMENTWISE_TYPES, operand=t.ANY_FLOAT),
    _elementwise("next_after", t.ANY_FLOAT, x=t.ANY_FLOAT, y=t.ANY_FLOAT),
    _elementwise("polygamma", t.ANY_FLOAT, n=t.ANY_FLOAT, x=t.ANY_FLOAT),
    _elementwise("zeta", t.ANY_FLOAT, x=t.ANY_FLOAT, q=t.ANY_FLOAT),
    *_broadcast("add maximum minimum", traits=(PURE, COMMUTATIVE), rules=(check_compatible_elements,)),
    *_broadcast("and or xor", t.ANY_PRED_INT, traits=(PURE, COMMUTATIVE), rules=()),
    *_broadcast("multiply", traits=(PURE, COMMUTATIVE)),
    *_broadcast("atan2 divide next_after polygamma power remainder subtract"),
    *_broadcast("shift_left shift_right_arithmetic shift_right_logical"),
    *_broadcast("zeta", t.ANY_FLOAT, t.ANY_FLOAT),
    *_broadcast("complex", t.ANY_FLOAT, t.ANY_COMPLEX, rules=(), infer=infer_broadcast_complex),
    OpRow(
        "broadcast_compare",
        operands=slots(lhs=t.ANY, rhs=t.ANY),
        attributes=slots(
            **_BROADCAST, comparison_direction=_COMPARISON_DIRECTION, compare_type=optional(_COMPARISON_TYPE)
        ),
        results=slots(result=t.ANY_PRED),
        traits=(PURE,),
        form=typed(" $lhs, $rhs"),
        infer=infer_broadcast_compare,
    ),
    OpRow(
        "broadcast_select",
        operands=slots(pred=t.PRED, on_true=t.ANY, on_false=t.ANY),
        results=slots(result=t.ANY),
        traits=(PURE,),
        form=typed(" $pred, $on_true, $on_false"),
        infer=infer_broadcast_select,
    ),
    OpRow(
        "mulhi",
        operands=slots(lhs=t.INT, rhs=t.INT),
        results=slots(result=t.INT),
        traits=(
            PURE,
            COMMUTATIVE,
        ),
        form=Template(" $lhs, $rhs", ARROW),
        verify=(COMPATIBLE,),
    ),
    OpRow(
        "constant",
        attributes=slots(value=k.ELEMENTS),
        results=slots(output=t.STATIC_TENSOR),
        traits=(
            PURE,
            CONSTANT,
        ),
        form=CONSTANT_FORM,
        infer=infer_constant,
    ),
    OpRow(
        "constant_like",
        operands=slots(operand=t.ANY),
        attributes=slots(value=k.TYPED),
        results=slots(result=t.ANY),
        traits=(PURE,),
        verify=(if_ranked(SAME_SHAPE), check_constant_like),
    ),
    OpRow(
        "ragged_dot",
        operands=slots(lhs=t.ANY, rhs=t.ANY, group_sizes=t.INT),
        attributes=slots(ragged_dot_dimension_numbers=_RAGGED_DOT, precision_config=optional(_PRECISIONS)),
        results=slots(result=t.ANY),
        traits=(PURE,),
        verify=(check_ragged_dot,),
    ),
    OpRow(
        "scan",
        operands=slots(inputs=many(t.ANY), inits=many(t.ANY)),
        attributes=slots(
            dimension=k.INDEX,
            scan_dim_size=optional(k.INDEX),
            is_reverse=optional(k.BOOL, k.FALSE),
            is_associative=optional(k.BOOL),
        ),
        regions=regions("body"),
        results=slots(outputs=many(t.ANY), carries=many(t.ANY)),
        traits=(
            RECURSIVE,
            ISOLATED,
            SEGMENTS,
        ),
        form=SCAN_FORM,
        argument_names=scan_names,
        verify=(check_scan,),
        infer=infer_scan,
    ),
    OpRow(
        "top_k",
        operands=slots(operand=t.ANY),
        attributes=slots(k=k.I64, is_stable=optional(k.BOOL, k.TRUE)),
        results=slots(values=t.ANY, indices=t.ANY),
        traits=(PURE,),
        form=Template("($operand, k = $k<, is_stable = $is_stable>)", TOP_K),
        infer=infer_top_k,
    ),
)
"""The rows."""

OPS = OpTable("chlo", ROWS)
"""Every op of the dialect."""
