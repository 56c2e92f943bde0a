"""Products, convolutions, linear algebra, Fourier transforms."""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.stablehlo.verify import contraction as rules
from shardy_py.dialects.stablehlo.verify import windows
from shardy_py.dialects.stablehlo.verify.traits import COMPATIBLE_ELEMENTS
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import SAME

_WINDOW = "window_strides?:integers lhs_dilation?:integers rhs_dilation?:integers window_reversal?:booleans"
_CONVOLUTION = (
    "dimension_numbers:conv feature_group_count:count batch_group_count:count precision_config?:precisions"
)

CONTRACTION = (
    OpRow(
        "cholesky",
        "a:float_complex_quant",
        "lower?:bool=false",
        "result:float_complex_quant",
        form=Template(" $a<, lower = $lower>", SAME),
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_cholesky,
    ),
    OpRow(
        "convolution",
        "lhs:tensor rhs:axes",
        f"{_WINDOW} padding?:table {_CONVOLUTION}",
        "result:axes",
        form=typed("($lhs, $rhs) dim_numbers = $dimension_numbers, window = {$window}"),
        traits="no_effect",
        verify=(windows.check_convolution,),
    ),
    OpRow(
        "dot",
        "lhs:tensor rhs:axes",
        "precision_config?:precisions",
        "result:axes",
        form=typed(" $lhs, $rhs<, precision = $precision_config>"),
        traits="pure",
        verify=(rules.check_dot,),
    ),
    OpRow(
        "dot_general",
        "lhs:tensor rhs:axes",
        "dot_dimension_numbers:dot precision_config?:precisions algorithm?:dot_algorithm",
        "result:axes",
        form=typed(" $lhs, $rhs, $dot_dimensions<, precision = $precision_config><, algorithm = $algorithm>"),
        traits="no_effect",
        verify=(rules.check_dot_general,),
    ),
    OpRow(
        "dynamic_conv",
        "lhs:tensor rhs:tensor padding:static_pairs",
        f"{_WINDOW} {_CONVOLUTION}",
        "result:tensor",
        traits="no_effect",
        verify=(windows.check_dynamic_convolution,),
        needs_constants=True,
    ),
    OpRow(
        "einsum",
        "lhs:tensor rhs:tensor",
        "einsum_config:string",
        "result:tensor",
        form=typed(" $lhs, $rhs, config = $einsum_config"),
        traits="pure",
    ),
    OpRow(
        "fft",
        "operand:float_complex",
        "fft_type:fft_type fft_length:integers",
        "result:float_complex",
        form=typed(" $operand, type = $fft_type, length = $fft_length"),
        traits="no_effect",
        infer=rules.infer_fft,
    ),
    OpRow(
        "triangular_solve",
        "a:float_complex b:float_complex",
        "left_side:bool lower:bool unit_diagonal:bool transpose_a:transpose",
        "result:float_complex",
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_triangular_solve,
    ),
    OpRow(
        "unary_einsum",
        "operand:tensor",
        "einsum_config:string",
        "result:tensor",
        form=typed(" $operand, config = $einsum_config"),
        traits="pure",
    ),
)
"""The rows."""
