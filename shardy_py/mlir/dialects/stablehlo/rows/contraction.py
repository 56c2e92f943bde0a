"""Products, convolutions, linear algebra, Fourier transforms."""

from __future__ import annotations

from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo.verify import contraction as rules
from shardy_py.mlir.dialects.stablehlo.verify import windows
from shardy_py.mlir.dialects.stablehlo.verify.traits import COMPATIBLE_ELEMENTS
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import SAME

_WINDOW = "window_strides?:integers lhs_dilation?:integers rhs_dilation?:integers window_reversal?:booleans"
_CONVOLUTION = (
    "dimension_numbers:conv feature_group_count:count batch_group_count:count precision_config?:precisions"
)

CONTRACTION = (
    OpRow(
        "no_effect cholesky(a:float_complex_quant) <lower?:bool=false> -> result:float_complex_quant",
        form=Template(" $a<, lower = $lower>", SAME),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_cholesky,
    ),
    OpRow(
        f"no_effect convolution(lhs:tensor rhs:axes) <{_WINDOW} padding?:table {_CONVOLUTION}>"
        " -> result:axes",
        form=typed("($lhs, $rhs) dim_numbers = $dimension_numbers, window = {$window}"),
        verify=(windows.check_convolution,),
    ),
    OpRow(
        "pure dot(lhs:tensor rhs:axes) <precision_config?:precisions> -> result:axes",
        form=typed(" $lhs, $rhs<, precision = $precision_config>"),
        verify=(rules.check_dot,),
    ),
    OpRow(
        "no_effect dot_general(lhs:tensor rhs:axes)"
        " <dot_dimension_numbers:dot precision_config?:precisions algorithm?:dot_algorithm> -> result:axes",
        form=typed(" $lhs, $rhs, $dot_dimensions<, precision = $precision_config><, algorithm = $algorithm>"),
        verify=(rules.check_dot_general,),
    ),
    OpRow(
        "no_effect reads_constants dynamic_conv(lhs:tensor rhs:tensor padding:static_pairs)"
        f" <{_WINDOW} {_CONVOLUTION}> -> result:tensor",
        verify=(windows.check_dynamic_convolution,),
    ),
    OpRow(
        "pure einsum(lhs:tensor rhs:tensor) <einsum_config:string> -> result:tensor",
        form=typed(" $lhs, $rhs, config = $einsum_config"),
    ),
    OpRow(
        "no_effect fft(operand:float_complex) <fft_type:fft_type fft_length:integers>"
        " -> result:float_complex",
        form=typed(" $operand, type = $fft_type, length = $fft_length"),
        infer=rules.infer_fft,
    ),
    OpRow(
        "no_effect triangular_solve(a:float_complex b:float_complex)"
        " <left_side:bool lower:bool unit_diagonal:bool transpose_a:transpose> -> result:float_complex",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_triangular_solve,
    ),
    OpRow(
        "pure unary_einsum(operand:tensor) <einsum_config:string> -> result:tensor",
        form=typed(" $operand, config = $einsum_config"),
    ),
)
"""The rows."""
