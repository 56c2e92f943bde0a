"""StableHLO's ops, one row an op, but those whose forms are written out (`irregular.py`).

Columns: name, operands, attributes, results, regions, form, traits; the notation is that of
`dialects/definition.py` and `dialects/template.py`. An op without a form prints generically, as in C++.

Not here: what the words mean (`words.py`), ops between devices and around others (`system.py`).
"""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import COMPLEX, RESULT, SAME, SELECT

_UNARY = Template(" $operand", SAME)
_BINARY = Template(" $lhs, $rhs", SAME)
_OPERAND = typed(" $operand")
_ACCURACY = "result_accuracy?:accuracy=default_accuracy"


def _unary(name: str, attributes: str = "") -> OpRow:
    return OpRow(name, "operand", attributes, form=_UNARY, traits="no_effect")


def _binary(name: str, traits: str = "") -> OpRow:
    return OpRow(name, "lhs rhs", form=_BINARY, traits=f"no_effect {traits}")


_ELEMENTWISE = (
    _unary("abs"),
    _unary("cbrt", _ACCURACY),
    _unary("ceil"),
    _unary("convert"),
    _unary("cosine", _ACCURACY),
    _unary("count_leading_zeros"),
    _unary("exponential", _ACCURACY),
    _unary("exponential_minus_one", _ACCURACY),
    _unary("floor"),
    _unary("imag"),
    OpRow("is_finite", "x", results="y", form=typed(" $x"), traits="no_effect"),
    _unary("log", _ACCURACY),
    _unary("log_plus_one", _ACCURACY),
    _unary("logistic", _ACCURACY),
    _unary("negate"),
    _unary("not"),
    _unary("popcnt"),
    _unary("real"),
    _unary("round_nearest_afz"),
    _unary("round_nearest_even"),
    _unary("rsqrt", _ACCURACY),
    _unary("sign"),
    _unary("sine", _ACCURACY),
    _unary("sqrt", _ACCURACY),
    _unary("tan", _ACCURACY),
    _unary("tanh", _ACCURACY),
    _unary("uniform_dequantize"),
    _unary("uniform_quantize"),
    _binary("add", "hlo_commutative"),
    _binary("and", "hlo_commutative"),
    _binary("atan2"),
    OpRow("complex", "lhs rhs", form=Template(" $lhs, $rhs", COMPLEX), traits="no_effect"),
    _binary("divide"),
    _binary("maximum", "hlo_commutative"),
    _binary("minimum", "hlo_commutative"),
    _binary("multiply", "hlo_commutative"),
    _binary("or", "hlo_commutative"),
    _binary("power"),
    _binary("remainder"),
    _binary("shift_left"),
    _binary("shift_right_arithmetic"),
    _binary("shift_right_logical"),
    _binary("subtract"),
    _binary("xor", "hlo_commutative"),
    OpRow("clamp", "min operand max", form=Template(" $min, $operand, $max", SAME), traits="no_effect"),
    OpRow(
        "compare",
        "lhs rhs",
        "comparison_direction:comparison_direction compare_type?:comparison_type",
        form=typed(" $comparison_direction, $lhs, $rhs<, $compare_type>"),
        traits="no_effect",
    ),
    OpRow(
        "reduce_precision",
        "operand",
        "exponent_bits:count32 mantissa_bits:index32",
        "output",
        form=Template(" $operand, format = $format", SAME),
        traits="no_effect",
    ),
    OpRow(
        "select",
        "pred on_true on_false",
        form=Template(" $pred, $on_true, $on_false", SELECT),
        traits="no_effect",
    ),
)

_MOVEMENT = (
    OpRow("bitcast_convert", "operand", form=_OPERAND, traits="no_effect"),
    OpRow(
        "broadcast",
        "operand",
        "broadcast_sizes:integers",
        form=typed(" $operand, sizes = $broadcast_sizes"),
        traits="pure",
    ),
    OpRow(
        "broadcast_in_dim",
        "operand",
        "broadcast_dimensions:integers",
        form=typed(" $operand, dims = $broadcast_dimensions"),
        traits="no_effect",
    ),
    OpRow(
        "concatenate",
        "inputs*",
        "dimension:index",
        form=typed(" $inputs*, dim = $dimension"),
        traits="no_effect",
    ),
    OpRow(
        "dynamic_broadcast_in_dim",
        "operand output_dimensions",
        "broadcast_dimensions:integers known_expanding_dimensions?:integers"
        " known_nonexpanding_dimensions?:integers",
        form=typed(" $operand, $output_dimensions, dims = $broadcast_dimensions"),
        traits="no_effect",
    ),
    OpRow(
        "dynamic_gather",
        "operand start_indices slice_sizes",
        "dimension_numbers:gather indices_are_sorted?:bool=false",
        traits="no_effect",
    ),
    OpRow(
        "dynamic_iota",
        "output_shape",
        "iota_dimension:index",
        form=typed(" $output_shape, dim = $iota_dimension"),
        traits="no_effect",
    ),
    OpRow(
        "dynamic_pad",
        "operand padding_value edge_padding_low edge_padding_high interior_padding",
        form=typed(" $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding"),
        traits="no_effect",
    ),
    OpRow(
        "dynamic_reshape", "operand output_shape", form=typed(" $operand, $output_shape"), traits="no_effect"
    ),
    OpRow(
        "dynamic_slice",
        "operand start_indices*",
        "slice_sizes:integers",
        form=typed(" $operand, $start_indices*, sizes = $slice_sizes"),
        traits="pure",
    ),
    OpRow(
        "dynamic_update_slice",
        "operand update start_indices*",
        form=typed(" $operands"),
        traits="pure",
    ),
    OpRow(
        "gather",
        "operand start_indices",
        "dimension_numbers:gather slice_sizes:integers indices_are_sorted?:bool=false",
        traits="no_effect",
    ),
    OpRow(
        "get_dimension_size",
        "operand",
        "dimension:index",
        form=typed(" $operand, dim = $dimension"),
        traits="pure",
    ),
    OpRow(
        "iota",
        "",
        "iota_dimension:index",
        "output",
        form=Template(" dim = $iota_dimension", RESULT),
        traits="pure",
    ),
    OpRow(
        "pad",
        "operand padding_value",
        "edge_padding_low:integers edge_padding_high:integers interior_padding:integers",
        form=typed(
            " $operand, $padding_value, low = $edge_padding_low, high = $edge_padding_high,"
            " interior = $interior_padding"
        ),
        traits="no_effect",
    ),
    OpRow(
        "real_dynamic_slice",
        "operand start_indices limit_indices strides",
        form=typed(" $operand, $start_indices, $limit_indices, $strides"),
        traits="no_effect",
    ),
    OpRow("reshape", "operand", form=_OPERAND, traits="no_effect"),
    OpRow(
        "reverse",
        "operand",
        "dimensions:integers",
        form=Template(" $operand, dims = $dimensions", SAME),
        traits="no_effect",
    ),
    OpRow(
        "scatter",
        "inputs* scatter_indices updates*",
        "scatter_dimension_numbers:scatter indices_are_sorted?:bool=false unique_indices?:bool=false",
        "results*",
        "update_computation",
        traits="recursive pairs",
    ),
    OpRow(
        "set_dimension_size",
        "operand size",
        "dimension:index",
        form=typed(" $operand, $size, dim = $dimension"),
        traits="no_effect",
    ),
    OpRow(
        "slice",
        "operand",
        "start_indices:integers limit_indices:integers strides:integers",
        form=typed(" $operand $ranges"),
        traits="no_effect",
    ),
    OpRow("torch_index_select", "operand index", "dim:i64 batch_dims:i64", traits="pure"),
    OpRow(
        "transpose",
        "operand",
        "permutation:integers",
        form=typed(" $operand, dims = $permutation"),
        traits="no_effect",
    ),
)

_PADDING = "padding?:table"
_WINDOW = "window_strides?:integers lhs_dilation?:integers rhs_dilation?:integers window_reversal?:booleans"
_CONVOLUTION = (
    "dimension_numbers:conv feature_group_count:count batch_group_count:count precision_config?:precisions"
)

_CONTRACTION = (
    OpRow(
        "convolution",
        "lhs rhs",
        f"{_WINDOW} {_PADDING} {_CONVOLUTION}",
        form=typed("($lhs, $rhs) dim_numbers = $dimension_numbers, window = {$window}"),
        traits="no_effect",
    ),
    OpRow(
        "dot",
        "lhs rhs",
        "precision_config?:precisions",
        form=typed(" $lhs, $rhs<, precision = $precision_config>"),
        traits="pure",
    ),
    OpRow(
        "dot_general",
        "lhs rhs",
        "dot_dimension_numbers:dot precision_config?:precisions algorithm?:dot_algorithm",
        form=typed(" $lhs, $rhs, $dot_dimensions<, precision = $precision_config><, algorithm = $algorithm>"),
        traits="no_effect",
    ),
    OpRow(
        "dynamic_conv",
        "lhs rhs padding",
        f"{_WINDOW} {_CONVOLUTION}",
        traits="no_effect",
    ),
    OpRow(
        "einsum",
        "lhs rhs",
        "einsum_config:string",
        form=typed(" $lhs, $rhs, config = $einsum_config"),
        traits="pure",
    ),
    OpRow(
        "unary_einsum",
        "operand",
        "einsum_config:string",
        form=typed(" $operand, config = $einsum_config"),
        traits="pure",
    ),
)

_REDUCTION = (
    OpRow(
        "reduce_window",
        "inputs* init_values*",
        "window_dimensions:integers window_strides?:integers base_dilations?:integers"
        f" window_dilations?:integers {_PADDING}",
        "results*",
        "body",
        traits="recursive pairs",
    ),
    OpRow(
        "select_and_scatter",
        "operand source init_value",
        "window_dimensions?:integers window_strides?:integers padding?:table",
        regions="select scatter",
        traits="recursive",
    ),
    OpRow("map", "inputs*", "dimensions:integers", regions="computation", traits="recursive"),
    OpRow(
        "sort",
        "inputs*",
        "dimension?:i64=-1 is_stable?:bool=false",
        "results*",
        "comparator",
        traits="recursive",
    ),
)

_BATCH_NORM = "epsilon:f32 feature_index:index"

_LIBRARY = (
    OpRow(
        "batch_norm_grad",
        "operand scale mean variance grad_output",
        _BATCH_NORM,
        "grad_operand grad_scale grad_offset",
        traits="no_effect",
    ),
    OpRow("batch_norm_inference", "operand scale offset mean variance", _BATCH_NORM, traits="no_effect"),
    OpRow(
        "batch_norm_training",
        "operand scale offset",
        _BATCH_NORM,
        "output batch_mean batch_var",
        traits="no_effect",
    ),
    OpRow(
        "cholesky", "a", "lower?:bool=false", form=Template(" $a<, lower = $lower>", SAME), traits="no_effect"
    ),
    OpRow(
        "fft",
        "operand",
        "fft_type:fft_type fft_length:integers",
        form=typed(" $operand, type = $fft_type, length = $fft_length"),
        traits="no_effect",
    ),
    OpRow(
        "rng",
        "a b shape",
        "rng_distribution:rng_distribution",
        form=typed(" $a, $b, $shape, distribution = $rng_distribution"),
    ),
    OpRow(
        "rng_bit_generator",
        "initial_state",
        "rng_algorithm:rng_algorithm",
        "output_state output",
        form=typed(" $initial_state, algorithm = $rng_algorithm"),
        traits="no_effect",
    ),
    OpRow(
        "triangular_solve",
        "a b",
        "left_side:bool lower:bool unit_diagonal:bool transpose_a:transpose",
        traits="no_effect",
    ),
    OpRow(
        "custom_call",
        "inputs*",
        "call_target_name:target has_side_effect?:bool=false backend_config?:config"
        " api_version?:api_version=1 called_computations?:symbols=[] operand_layouts?:layouts"
        " result_layouts?:layouts output_operand_aliases?:aliases=[] result_tilings?:tilings",
        "results*",
        form=typed(" $call_target_name($inputs)"),
        traits="flagged",
    ),
)

REGULAR = (
    *_ELEMENTWISE,
    *_MOVEMENT,
    *_CONTRACTION,
    *_REDUCTION,
    *_LIBRARY,
)
"""The rows."""
