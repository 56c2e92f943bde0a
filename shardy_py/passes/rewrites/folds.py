"""Folds: ops whose result is known become constants, constant operands of commutative ops come last.

before  %0 = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<8xf32>) -> tensor<8xf32>
        %1 = chlo.mulhi %constant, %x
after   %0 = chlo.constant dense<1.0> : tensor<8xf32>
        %1 = chlo.mulhi %x, %constant

MLIR's drivers fold whatever patterns they are given, so these have no label and always apply.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation
from xdsl.traits import Commutative

from shardy_py.dialects.chlo import op_class
from shardy_py.dialects.traits import constant_of
from shardy_py.graph.movements import replace_op
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import build_operation, operands_of, replace_operand
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.text.dense import element_size, make_dense, store_integer
from shardy_py.text.float_formats import FORMATS
from shardy_py.text.type_tests import is_complex, is_integral


def put_constants_last(op: Operation) -> bool:
    """Swaps the operands of a binary op if only the first is a constant; returns whether it did."""
    operands = operands_of(op)
    if len(operands) != 2 or constant_of(operands[0]) is None or constant_of(operands[1]) is not None:
        return False
    replace_operand(op, 0, operands[1])
    replace_operand(op, 1, operands[0])
    return True


def _fold_constant_like(op: Operation) -> bool:
    """Makes the constant in place; it is hoisted with all others in the next round."""
    tensor = tensor_type(operands_of(op)[0].type)
    type_ = op.results[0].type
    element = cast(Any, type_).element_type
    if tensor is None or None in tensor.shape or is_complex(element):
        return False
    number: Any = op.properties["value"]
    value = make_dense(type_, _bytes(number.value.data, element))
    replace_op(op, build_operation(op_class("constant"), (), (type_,), {"value": value}, {}, op.location))
    return True


def _bytes(number: float, element: Any) -> bytes:
    if is_integral(element):
        return store_integer(int(number), element)
    return FORMATS[element.name].encode(number).to_bytes(element_size(element), "little")


FOLDS: tuple[Rewrite, ...] = (
    Rewrite(op_class("constant_like"), _fold_constant_like),
    Rewrite(Commutative, put_constants_last),
)
