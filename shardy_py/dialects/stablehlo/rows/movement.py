"""Ops that move elements: shapes, slices, gathers and scatters, with static or dynamic sizes."""

from __future__ import annotations

from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.stablehlo.forms import CONSTANT_FORM, constant_names
from shardy_py.dialects.stablehlo.verify import dynamic, indexed
from shardy_py.dialects.stablehlo.verify import movement as rules
from shardy_py.dialects.stablehlo.verify.traits import (
    AT_LEAST_ONE,
    COMPATIBLE_ELEMENTS,
    SAME_ELEMENT,
    match_elements,
    match_lengths,
    match_ranks,
    match_types,
)
from shardy_py.dialects.template import Template, typed
from shardy_py.dialects.type_tails import RESULT, SAME

_OPERAND = typed(" $operand")

_STATIC = (
    OpRow(
        "bitcast_convert",
        "operand:axes",
        results="result:axes",
        form=_OPERAND,
        traits="no_effect",
        verify=(rules.check_bitcast_convert,),
    ),
    OpRow(
        "broadcast",
        "operand:tensor",
        "broadcast_sizes:integers",
        "result:axes",
        form=typed(" $operand, sizes = $broadcast_sizes"),
        traits="pure",
        verify=(SAME_ELEMENT,),
        infer=rules.infer_broadcast,
    ),
    OpRow(
        "broadcast_in_dim",
        "operand:axes",
        "broadcast_dimensions:integers",
        "result:static_or_bounded",
        form=typed(" $operand, dims = $broadcast_dimensions"),
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS, rules.check_broadcast_in_dim),
    ),
    OpRow(
        "concatenate",
        "inputs*:tensor",
        "dimension:index",
        "result:tensor",
        form=typed(" $inputs*, dim = $dimension"),
        traits="no_effect",
        verify=(AT_LEAST_ONE, SAME_ELEMENT),
        infer=rules.infer_concatenate,
    ),
    OpRow(
        "constant",
        "",
        "value:elements",
        "output:static",
        form=CONSTANT_FORM,
        traits="pure constant",
        infer=rules.infer_constant,
        result_names=constant_names,
    ),
    OpRow(
        "dynamic_slice",
        "operand:tensor start_indices*:scalar_int",
        "slice_sizes:integers",
        "result:tensor",
        form=typed(" $operand, $start_indices*, sizes = $slice_sizes"),
        traits="pure",
        verify=(match_elements("operand", "result"),),
        infer=rules.infer_dynamic_slice,
    ),
    OpRow(
        "dynamic_update_slice",
        "operand:tensor update:tensor start_indices*:scalar_int",
        results="result:tensor",
        form=typed(" $operands"),
        traits="pure",
        verify=(match_elements("operand", "update", "result"),),
        infer=rules.infer_dynamic_update_slice,
    ),
    OpRow(
        "gather",
        "operand:tensor start_indices:int",
        "dimension_numbers:gather slice_sizes:integers indices_are_sorted?:bool=false",
        "result:tensor",
        traits="no_effect",
        verify=(match_elements("operand", "result"),),
        infer=indexed.infer_gather,
    ),
    OpRow(
        "get_dimension_size",
        "operand:axes",
        "dimension:index",
        "result:i32",
        form=typed(" $operand, dim = $dimension"),
        traits="pure",
        infer=rules.infer_dimension_size,
    ),
    OpRow(
        "iota",
        "",
        "iota_dimension:index",
        "output:static_number",
        form=Template(" dim = $iota_dimension", RESULT),
        traits="pure",
        verify=(rules.check_iota,),
    ),
    OpRow(
        "pad",
        "operand:tensor padding_value:scalar",
        "edge_padding_low:integers edge_padding_high:integers interior_padding:integers",
        "result:tensor",
        form=typed(
            " $operand, $padding_value, low = $edge_padding_low, high = $edge_padding_high,"
            " interior = $interior_padding"
        ),
        traits="no_effect",
        verify=(match_lengths("edge_padding_low", "edge_padding_high", "interior_padding"), SAME_ELEMENT),
        infer=rules.infer_pad,
    ),
    OpRow(
        "reshape",
        "operand:axes",
        results="result:static_or_bounded",
        form=_OPERAND,
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS, rules.check_reshape),
    ),
    OpRow(
        "reverse",
        "operand:tensor",
        "dimensions:integers",
        "result:tensor",
        form=Template(" $operand, dims = $dimensions", SAME),
        traits="no_effect",
        verify=(SAME_ELEMENT, rules.check_reverse),
        infer=rules.infer_operand,
    ),
    OpRow(
        "scatter",
        "inputs*:tensor scatter_indices:indices updates*:tensor",
        "scatter_dimension_numbers:scatter indices_are_sorted?:bool=false unique_indices?:bool=false",
        "results*:tensor",
        "update_computation",
        traits="recursive pairs",
        verify=(indexed.check_scatter,),
        infer=indexed.infer_scatter,
    ),
    OpRow(
        "slice",
        "operand:tensor",
        "start_indices:integers limit_indices:integers strides:integers",
        "result:tensor",
        form=typed(" $operand $ranges"),
        traits="no_effect",
        verify=(match_lengths("start_indices", "limit_indices", "strides"), SAME_ELEMENT),
        infer=rules.infer_slice,
    ),
    OpRow(
        "torch_index_select",
        "operand:tensor index:tensor",
        "dim:i64 batch_dims:i64",
        "result:tensor",
        traits="pure",
    ),
    OpRow(
        "transpose",
        "operand:axes",
        "permutation:integers",
        "result:axes",
        form=typed(" $operand, dims = $permutation"),
        traits="no_effect",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_transpose,
    ),
)

_DYNAMIC = (
    OpRow(
        "dynamic_broadcast_in_dim",
        "operand:axes output_dimensions:shape",
        "broadcast_dimensions:integers known_expanding_dimensions?:integers"
        " known_nonexpanding_dimensions?:integers",
        "result:axes",
        form=typed(" $operand, $output_dimensions, dims = $broadcast_dimensions"),
        traits="no_effect",
        verify=(dynamic.check_dynamic_broadcast_in_dim,),
        needs_constants=True,
    ),
    OpRow(
        "dynamic_gather",
        "operand:tensor start_indices:int slice_sizes:static_ints",
        "dimension_numbers:gather indices_are_sorted?:bool=false",
        "result:tensor",
        traits="no_effect",
        infer=indexed.infer_dynamic_gather,
        needs_constants=True,
    ),
    OpRow(
        "dynamic_iota",
        "output_shape:shape",
        "iota_dimension:index",
        "result:tensor",
        form=typed(" $output_shape, dim = $iota_dimension"),
        traits="no_effect",
        verify=(dynamic.check_dynamic_iota,),
        needs_constants=True,
    ),
    OpRow(
        "dynamic_pad",
        "operand:tensor padding_value:scalar"
        " edge_padding_low:shape edge_padding_high:shape interior_padding:shape",
        results="result:tensor",
        form=typed(" $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding"),
        traits="no_effect",
        verify=(
            match_elements("operand", "padding_value", "result"),
            match_types("edge_padding_low", "edge_padding_high", "interior_padding"),
            match_ranks("operand", "result"),
            dynamic.check_dynamic_pad,
        ),
        needs_constants=True,
    ),
    OpRow(
        "dynamic_reshape",
        "operand:axes output_shape:shape",
        results="result:axes",
        form=typed(" $operand, $output_shape"),
        traits="no_effect",
        verify=(dynamic.check_dynamic_reshape,),
        needs_constants=True,
    ),
    OpRow(
        "real_dynamic_slice",
        "operand:tensor start_indices:dimensions limit_indices:dimensions strides:dimensions",
        results="result:tensor",
        form=typed(" $operand, $start_indices, $limit_indices, $strides"),
        traits="no_effect",
        verify=(
            match_elements("operand", "result"),
            match_types("start_indices", "limit_indices", "strides"),
            dynamic.check_real_dynamic_slice,
        ),
    ),
    OpRow(
        "set_dimension_size",
        "operand:tensor size:i32",
        "dimension:index",
        "result:tensor",
        form=typed(" $operand, $size, dim = $dimension"),
        traits="no_effect",
        infer=rules.infer_set_dimension_size,
        needs_constants=True,
    ),
)

MOVEMENT = (*_STATIC, *_DYNAMIC)
"""The rows."""
