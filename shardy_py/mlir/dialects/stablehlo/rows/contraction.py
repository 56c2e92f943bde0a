"""Products, convolutions, linear algebra, Fourier transforms."""

from __future__ import annotations

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import NO_EFFECT, PURE, READS_CONSTANTS, OpRow, optional, slots
from shardy_py.mlir.dialects.stablehlo import attribute_kinds as own
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify import contraction as rules
from shardy_py.mlir.dialects.stablehlo.verify import windows
from shardy_py.mlir.dialects.stablehlo.verify.traits import COMPATIBLE_ELEMENTS
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import SAME

_WINDOW = {
    "window_strides": optional(k.INTEGERS),
    "lhs_dilation": optional(k.INTEGERS),
    "rhs_dilation": optional(k.INTEGERS),
    "window_reversal": optional(k.BOOLEANS),
}
_CONVOLUTION = {
    "dimension_numbers": own.CONV,
    "feature_group_count": k.COUNT,
    "batch_group_count": k.COUNT,
    "precision_config": optional(own.PRECISIONS),
}

CONTRACTION = (
    OpRow(
        "cholesky",
        operands=slots(a=t.FLOAT_COMPLEX_QUANT),
        attributes=slots(lower=optional(k.BOOL, k.FALSE)),
        results=slots(result=t.FLOAT_COMPLEX_QUANT),
        traits=(NO_EFFECT,),
        form=Template(" $a<, lower = $lower>", SAME),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_cholesky,
    ),
    OpRow(
        "convolution",
        operands=slots(lhs=t.TENSOR, rhs=t.AXES),
        attributes=slots(**_WINDOW, padding=optional(k.TABLE), **_CONVOLUTION),
        results=slots(result=t.AXES),
        traits=(NO_EFFECT,),
        form=typed("($lhs, $rhs) dim_numbers = $dimension_numbers, window = {$window}"),
        verify=(windows.check_convolution,),
    ),
    OpRow(
        "dot",
        operands=slots(lhs=t.TENSOR, rhs=t.AXES),
        attributes=slots(precision_config=optional(own.PRECISIONS)),
        results=slots(result=t.AXES),
        traits=(PURE,),
        form=typed(" $lhs, $rhs<, precision = $precision_config>"),
        verify=(rules.check_dot,),
    ),
    OpRow(
        "dot_general",
        operands=slots(lhs=t.TENSOR, rhs=t.AXES),
        attributes=slots(
            dot_dimension_numbers=own.DOT,
            precision_config=optional(own.PRECISIONS),
            algorithm=optional(own.DOT_ALGORITHM),
        ),
        results=slots(result=t.AXES),
        traits=(NO_EFFECT,),
        form=typed(" $lhs, $rhs, $dot_dimensions<, precision = $precision_config><, algorithm = $algorithm>"),
        verify=(rules.check_dot_general,),
    ),
    OpRow(
        "dynamic_conv",
        operands=slots(lhs=t.TENSOR, rhs=t.TENSOR, padding=t.STATIC_PAIRS),
        attributes=slots(**_WINDOW, **_CONVOLUTION),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        verify=(windows.check_dynamic_convolution,),
    ),
    OpRow(
        "einsum",
        operands=slots(lhs=t.TENSOR, rhs=t.TENSOR),
        attributes=slots(einsum_config=k.STRING),
        results=slots(result=t.TENSOR),
        traits=(PURE,),
        form=typed(" $lhs, $rhs, config = $einsum_config"),
    ),
    OpRow(
        "fft",
        operands=slots(operand=t.FLOAT_COMPLEX),
        attributes=slots(fft_type=own.FFT_TYPE, fft_length=k.INTEGERS),
        results=slots(result=t.FLOAT_COMPLEX),
        traits=(NO_EFFECT,),
        form=typed(" $operand, type = $fft_type, length = $fft_length"),
        infer=rules.infer_fft,
    ),
    OpRow(
        "triangular_solve",
        operands=slots(a=t.FLOAT_COMPLEX, b=t.FLOAT_COMPLEX),
        attributes=slots(left_side=k.BOOL, lower=k.BOOL, unit_diagonal=k.BOOL, transpose_a=own.TRANSPOSE),
        results=slots(result=t.FLOAT_COMPLEX),
        traits=(NO_EFFECT,),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_triangular_solve,
    ),
    OpRow(
        "unary_einsum",
        operands=slots(operand=t.TENSOR),
        attributes=slots(einsum_config=k.STRING),
        results=slots(result=t.TENSOR),
        traits=(PURE,),
        form=typed(" $operand, config = $einsum_config"),
    ),
)
"""The rows."""
