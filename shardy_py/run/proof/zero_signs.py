"""Makes values the same where StableHLO leaves them open: signs of zeros, bits of NaNs, floats as integers.

    before  %0 = stablehlo.rsqrt %a
    after   %0 = stablehlo.rsqrt (%a + 0.0)             -0.0 + 0.0 is 0.0; all other values stay

The sign of a sum of zeros depends on the order of its terms and on how often the identity is one of them,
which StableHLO leaves open: devices that add zeros turn -0.0 into 0.0. Comparisons take both for equal, but
their reciprocals are infinities of other signs.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo import BitcastConvertOp, ConvertOp
from shardy_py.mlir.ir import operands_of, replace_operand, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.typed import element_type_of
from shardy_py.ops import TABLE, row_name
from shardy_py.run.proof.facet import EXACT

_EXPONENT_BITS, _MANTISSA_BITS = 11, 23
"""The numbers of bits of f64 and of f32: integers are made of floats as exact as those of the program."""


def drop_zero_signs(module: ModuleOp) -> None:
    """Makes zeros positive before ops that tell them apart; elementwise ones on complex numbers, too."""
    for op in list(walk_pre_order(module)):
        if isinstance(op, ConvertOp) and _is_float(operands_of(op)[0].type) and _is_integer(op):
            _round_operand(op)
        if EXACT.of(row_name(record_of(op))).tells_zeros_apart or _is_on_complex(op):
            for index, value in enumerate(operands_of(op)):
                if _is_float(value.type):
                    build = StablehloBuilder(op)
                    element = element_of(value)
                    zero = build.zero(element)
                    positive = build.binary("add", value, build.broadcast(zero, shape_of(value)))
                    replace_operand(op, index, _with_one_nan(build, positive, zero, op))


def _round_operand(op: Operation) -> None:
    """Rounds what is converted to an integer, so that sums in another order do not give another integer."""
    value = operands_of(op)[0]
    bits = {"exponent_bits": _EXPONENT_BITS, "mantissa_bits": _MANTISSA_BITS}
    rounded = StablehloBuilder(op).one("reduce_precision", (value,), value.type, **bits)
    replace_operand(op, 0, rounded)


def _is_integer(op: Operation) -> bool:
    type_ = op.results[0].type
    return tensor_type(type_) is not None and not _is_float(type_) and not _is_complex(type_)


def _with_one_nan(build: StablehloBuilder, value: SSAValue, zero: SSAValue, op: Operation) -> SSAValue:
    """The value with the same bits for all NaNs before an op that shows bits: StableHLO leaves them open."""
    if not isinstance(op, BitcastConvertOp) or _is_complex(value.type):
        return value
    nan = build.broadcast(build.binary("divide", zero, zero), shape_of(value))
    return build.select(build.compare("NE", value, value), nan, value)


def _is_on_complex(op: Operation) -> bool:
    """Returns whether an op may have branch cuts, which the sign of an imaginary zero chooses between."""
    row, operands = TABLE.get(op.name), operands_of(op)
    is_elementwise = row is not None and bool(row.is_elementwise)
    return is_elementwise and len(operands) == 1 and _is_complex(operands[0].type)


def _is_complex(type_: Attribute) -> bool:
    return tensor_type(type_) is not None and isinstance(element_type_of(type_), ComplexType)


def _is_float(type_: Attribute) -> bool:
    if tensor_type(type_) is None:
        return False
    element = element_type_of(type_)
    return isinstance(element, ComplexType) or element.name in FORMATS
