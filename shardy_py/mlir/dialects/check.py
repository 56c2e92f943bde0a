"""The dialect `check` of StableHLO's tests: ops that compare values while a program runs.

    check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>
    check.expect_close %0, %1, max_ulp_difference = 3 : tensor<f32>, tensor<f32>

Not here: the comparisons (`run/interpret/`).

>>> op_class("expect_eq").name
'check.expect_eq'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    f64,
)
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects import encoding as encodings
from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import OpRow, filled, optional, slots
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify.tensors import is_complex, is_float
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.template import Template
from shardy_py.mlir.dialects.type_tails import read_types
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.assembly import OPERAND_TYPE, Draft, Element
from shardy_py.mlir.text.builtin_attributes import is_any_tensor
from shardy_py.mlir.text.op_writer import OpWriter
from shardy_py.mlir.text.reader import OpReader
from shardy_py.mlir.typed import of_kind


def _is_float_or_complex(type_: Attribute) -> bool:
    return is_any_tensor(type_) and (is_float(type_.element_type) or is_complex(type_.element_type))


def _check_one_type(view: View) -> None:
    if len(set(view.operand_types)) > 1:
        raise Fault("requires all operands to have the same type")


def _check_actual_type(view: View) -> None:
    shapes = {tensor.sizes for tensor in view.operands}
    for what, different in (("type", set(view.operand_types)), ("shape", shapes)):
        if len(different) > 1:
            raise Fault(f"failed to verify that all of {{actual, expected}} have same {what}")


def _type_of_value(properties: Mapping[str, Attribute]) -> Attribute:
    return of_kind(properties["value"], DenseIntOrFPElementsAttr).type


def _check_type_of_value(view: View) -> None:
    if _type_of_value(view.op.properties) != view.operand_types[0]:
        raise Fault("failed to verify that all of {lhs, value} have same type")


def _read_value_type(reader: OpReader, draft: Draft) -> None:
    draft.operand_types = [_type_of_value(draft.properties)]


_VALUE_TYPE = Element(_read_value_type, lambda writer, op: None)
"""Nothing: the operand has the type of the constant `value`."""


def _read_operand_types(reader: OpReader, draft: Draft) -> None:
    draft.operand_types = read_types(reader)


def _write_operand_types(writer: OpWriter, op: Operation) -> None:
    writer.write(" ")
    writer.types(op.operands)


_OPERAND_TYPES = Element(_read_operand_types, _write_operand_types)
"""` type, type` behind a colon of the form."""


_UI64, _UI32 = (IntegerType(bits, Signedness.UNSIGNED) for bits in (64, 32))


def _unsigned(type_: IntegerType) -> k.AttributeKind:
    return k.held_kind(
        f"{type_.width.data}-bit unsigned integer attribute",
        lambda attribute: k.is_of(attribute, IntegerAttr, type=type_),
        IntegerAttr,
        encodings.integer_encoding(type_),
        k.typed_spelling(IntegerAttr, type_),
    )


_F64 = k.held_kind(
    "64-bit float attribute",
    lambda attribute: k.is_of(attribute, FloatAttr, type=f64),
    FloatAttr,
    encodings.FLOAT64,
    k.typed_spelling(FloatAttr, f64),
)
_UI64_KIND, _UI32_KIND = map(_unsigned, (_UI64, _UI32))
_FLOAT_COMPLEX = k.TypeKind("tensor of floating-point or complex-type values", _is_float_or_complex)
_TOLERANCE = {"tolerance": optional(_F64, 1e-4)}
_ALMOST = "<, tolerance = $tolerance>"

ROWS = (
    OpRow(
        "expect_almost_eq",
        operands=slots(lhs=_FLOAT_COMPLEX, rhs=_FLOAT_COMPLEX),
        attributes=slots(**_TOLERANCE),
        form=Template(f" $lhs, $rhs{_ALMOST}", OPERAND_TYPE),
        verify=(_check_one_type,),
    ),
    OpRow(
        "expect_almost_eq_const",
        operands=slots(lhs=_FLOAT_COMPLEX),
        attributes=slots(value=k.ELEMENTS, **_TOLERANCE),
        form=Template(f" $lhs, $value{_ALMOST}", _VALUE_TYPE),
        verify=(_check_type_of_value,),
    ),
    OpRow(
        "expect_close",
        operands=slots(actual=_FLOAT_COMPLEX, expected=_FLOAT_COMPLEX),
        attributes=slots(
            max_ulp_difference=filled(_UI64_KIND, 1), min_ulp_difference=optional(_UI64_KIND, 0)
        ),
        form=Template(
            " $actual, $expected, max_ulp_difference = $max_ulp_difference"
            "<, min_ulp_difference = $min_ulp_difference> :",
            _OPERAND_TYPES,
        ),
        verify=(_check_actual_type,),
    ),
    OpRow(
        "expect_eq",
        operands=slots(lhs=t.TENSOR, rhs=t.TENSOR),
        form=Template(" $lhs, $rhs", OPERAND_TYPE),
        verify=(_check_one_type,),
    ),
    OpRow(
        "expect_eq_const",
        operands=slots(lhs=t.TENSOR),
        attributes=slots(value=k.ELEMENTS),
        form=Template(" $lhs, $value", _VALUE_TYPE),
        verify=(_check_type_of_value,),
    ),
    OpRow(
        "expect_serialized_eq",
        operands=slots(expected=t.TENSOR),
        attributes=slots(probe_id=k.STRING, iteration=optional(_UI32_KIND, 0)),
        form=Template(" $expected, probe_id = $probe_id<, iter = $iteration>", OPERAND_TYPE),
    ),
)
"""The rows."""

OPS = OpTable("check", ROWS)
"""Every op of the dialect."""

CHECK = DialectSyntax("check", OPS.syntax)
"""The dialect's syntax."""

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.check_op_classes import *  # noqa: F403  (every class of a row)
else:
    __getattr__ = OPS.class_named
op_class = OPS.op_class
xdsl_dialect = OPS.xdsl_dialect
"""Returns the dialect for xDSL, with the classes of all ops."""


__all__ = ["CHECK", "OPS", "op_class", "xdsl_dialect"]
