"""Ops that move elements: shapes, slices, gathers and scatters, with static or dynamic sizes."""

from __future__ import annotations

from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo.forms import CONSTANT_FORM, constant_names
from shardy_py.mlir.dialects.stablehlo.verify import dynamic, indexed
from shardy_py.mlir.dialects.stablehlo.verify import movement as rules
from shardy_py.mlir.dialects.stablehlo.verify.traits import (
    AT_LEAST_ONE,
    COMPATIBLE_ELEMENTS,
    SAME_ELEMENT,
    match,
    match_lengths,
)
from shardy_py.mlir.dialects.template import Template, typed
from shardy_py.mlir.dialects.type_tails import RESULT, SAME

_OPERAND = typed(" $operand")

_STATIC = (
    OpRow(
        "no_effect bitcast_convert(operand:axes) -> result:axes",
        form=_OPERAND,
        verify=(rules.check_bitcast_convert,),
    ),
    OpRow(
        "pure broadcast(operand:tensor) <broadcast_sizes:integers> -> result:axes",
        form=typed(" $operand, sizes = $broadcast_sizes"),
        verify=(SAME_ELEMENT,),
        infer=rules.infer_broadcast,
    ),
    OpRow(
        "no_effect broadcast_in_dim(operand:axes) <broadcast_dimensions:integers>"
        " -> result:static_or_bounded",
        form=typed(" $operand, dims = $broadcast_dimensions"),
        verify=(COMPATIBLE_ELEMENTS, rules.check_broadcast_in_dim),
    ),
    OpRow(
        "no_effect concatenate(inputs*:tensor) <dimension:index> -> result:tensor",
        form=typed(" $inputs*, dim = $dimension"),
        verify=(AT_LEAST_ONE, SAME_ELEMENT),
        infer=rules.infer_concatenate,
    ),
    OpRow(
        "pure constant constant() <value:elements> -> output:static",
        form=CONSTANT_FORM,
        infer=rules.infer_constant,
        result_names=constant_names,
    ),
    OpRow(
        "pure async dynamic_slice(operand:tensor start_indices*:scalar_int) <slice_sizes:integers>"
        " -> result:tensor",
        form=typed(" $operand, $start_indices*, sizes = $slice_sizes"),
        verify=(match("element type", "operand", "result"),),
        infer=rules.infer_dynamic_slice,
    ),
    OpRow(
        "pure async dynamic_update_slice(operand:tensor update:tensor start_indices*:scalar_int)"
        " -> result:tensor",
        form=typed(" $operands"),
        verify=(match("element type", "operand", "update", "result"),),
        infer=rules.infer_dynamic_update_slice,
    ),
    OpRow(
        "no_effect gather(operand:tensor start_indices:int)"
        " <dimension_numbers:gather slice_sizes:integers indices_are_sorted?:bool=false> -> result:tensor",
        verify=(match("element type", "operand", "result"),),
        infer=indexed.infer_gather,
    ),
    OpRow(
        "pure get_dimension_size(operand:axes) <dimension:index> -> result:i32",
        form=typed(" $operand, dim = $dimension"),
        infer=rules.infer_dimension_size,
    ),
    OpRow(
        "pure iota() <iota_dimension:index> -> output:static_number",
        form=Template(" dim = $iota_dimension", RESULT),
        verify=(rules.check_iota,),
    ),
    OpRow(
        "no_effect pad(operand:tensor padding_value:scalar)"
        " <edge_padding_low:integers edge_padding_high:integers interior_padding:integers> -> result:tensor",
        form=typed(
            " $operand, $padding_value, low = $edge_padding_low, high = $edge_padding_high,"
            " interior = $interior_padding"
        ),
        verify=(match_lengths("edge_padding_low", "edge_padding_high", "interior_padding"), SAME_ELEMENT),
        infer=rules.infer_pad,
    ),
    OpRow(
        "no_effect reshape(operand:axes) -> result:static_or_bounded",
        form=_OPERAND,
        verify=(COMPATIBLE_ELEMENTS, rules.check_reshape),
    ),
    OpRow(
        "no_effect reverse(operand:tensor) <dimensions:integers> -> result:tensor",
        form=Template(" $operand, dims = $dimensions", SAME),
        verify=(SAME_ELEMENT, rules.check_reverse),
        infer=rules.infer_operand,
    ),
    OpRow(
        "recursive pairs scatter(inputs*:tensor scatter_indices:indices updates*:tensor)"
        " <scatter_dimension_numbers:scatter indices_are_sorted?:bool=false unique_indices?:bool=false>"
        " [update_computation] -> results*:tensor",
        verify=(indexed.check_scatter,),
        infer=indexed.infer_scatter,
    ),
    OpRow(
        "no_effect async slice(operand:tensor)"
        " <start_indices:integers limit_indices:integers strides:integers> -> result:tensor",
        form=typed(" $operand $ranges"),
        verify=(match_lengths("start_indices", "limit_indices", "strides"), SAME_ELEMENT),
        infer=rules.infer_slice,
    ),
    OpRow("pure torch_index_select(operand:tensor index:tensor) <dim:i64 batch_dims:i64> -> result:tensor"),
    OpRow(
        "no_effect transpose(operand:axes) <permutation:integers> -> result:axes",
        form=typed(" $operand, dims = $permutation"),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_transpose,
    ),
)

_DYNAMIC = (
    OpRow(
        "no_effect reads_constants dynamic_broadcast_in_dim(operand:axes output_dimensions:shape)"
        " <broadcast_dimensions:integers known_expanding_dimensions?:integers"
        " known_nonexpanding_dimensions?:integers> -> result:axes",
        form=typed(" $operand, $output_dimensions, dims = $broadcast_dimensions"),
        verify=(dynamic.check_dynamic_broadcast_in_dim,),
    ),
    OpRow(
        "no_effect reads_constants dynamic_gather(operand:tensor start_indices:int slice_sizes:static_ints)"
        " <dimension_numbers:gather indices_are_sorted?:bool=false> -> result:tensor",
        infer=indexed.infer_dynamic_gather,
    ),
    OpRow(
        "no_effect reads_constants dynamic_iota(output_shape:shape) <iota_dimension:index> -> result:tensor",
        form=typed(" $output_shape, dim = $iota_dimension"),
        verify=(dynamic.check_dynamic_iota,),
    ),
    OpRow(
        "no_effect reads_constants dynamic_pad(operand:tensor padding_value:scalar edge_padding_low:shape"
        " edge_padding_high:shape interior_padding:shape) -> result:tensor",
        form=typed(" $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding"),
        verify=(
            match("element type", "operand", "padding_value", "result"),
            match("type", "edge_padding_low", "edge_padding_high", "interior_padding"),
            match("rank", "operand", "result"),
            dynamic.check_dynamic_pad,
        ),
    ),
    OpRow(
        "no_effect reads_constants dynamic_reshape(operand:axes output_shape:shape) -> result:axes",
        form=typed(" $operand, $output_shape"),
        verify=(dynamic.check_dynamic_reshape,),
    ),
    OpRow(
        "no_effect real_dynamic_slice(operand:tensor start_indices:dimensions limit_indices:dimensions"
        " strides:dimensions) -> result:tensor",
        form=typed(" $operand, $start_indices, $limit_indices, $strides"),
        verify=(
            match("element type", "operand", "result"),
            match("type", "start_indices", "limit_indices", "strides"),
            dynamic.check_real_dynamic_slice,
        ),
    ),
    OpRow(
        "no_effect reads_constants set_dimension_size(operand:tensor size:i32) <dimension:index>"
        " -> result:tensor",
        form=typed(" $operand, $size, dim = $dimension"),
        infer=rules.infer_set_dimension_size,
    ),
)

MOVEMENT = (*_STATIC, *_DYNAMIC)
"""The rows."""
