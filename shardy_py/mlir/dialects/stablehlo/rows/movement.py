"""Ops that move elements: shapes, slices, gathers and scatters, with static or dynamic sizes."""

from __future__ import annotations

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    ASYNC,
    CONSTANT,
    NO_EFFECT,
    PAIRS,
    PURE,
    READS_CONSTANTS,
    RECURSIVE,
    OpRow,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.stablehlo import attribute_kinds as own
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
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
        "bitcast_convert",
        operands=slots(operand=t.AXES),
        results=slots(result=t.AXES),
        traits=(NO_EFFECT,),
        form=_OPERAND,
        verify=(rules.check_bitcast_convert,),
    ),
    OpRow(
        "broadcast",
        operands=slots(operand=t.TENSOR),
        attributes=slots(broadcast_sizes=k.INTEGERS),
        results=slots(result=t.AXES),
        traits=(PURE,),
        form=typed(" $operand, sizes = $broadcast_sizes"),
        verify=(SAME_ELEMENT,),
        infer=rules.infer_broadcast,
    ),
    OpRow(
        "broadcast_in_dim",
        operands=slots(operand=t.AXES),
        attributes=slots(broadcast_dimensions=k.INTEGERS),
        results=slots(result=t.STATIC_OR_BOUNDED),
        traits=(NO_EFFECT,),
        form=typed(" $operand, dims = $broadcast_dimensions"),
        verify=(COMPATIBLE_ELEMENTS, rules.check_broadcast_in_dim),
    ),
    OpRow(
        "concatenate",
        operands=slots(inputs=many(t.TENSOR)),
        attributes=slots(dimension=k.INDEX),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=typed(" $inputs*, dim = $dimension"),
        verify=(AT_LEAST_ONE, SAME_ELEMENT),
        infer=rules.infer_concatenate,
    ),
    OpRow(
        "constant",
        attributes=slots(value=k.ELEMENTS),
        results=slots(output=t.STATIC),
        traits=(
            PURE,
            CONSTANT,
        ),
        form=CONSTANT_FORM,
        infer=rules.infer_constant,
        result_names=constant_names,
    ),
    OpRow(
        "dynamic_slice",
        operands=slots(operand=t.TENSOR, start_indices=many(t.SCALAR_INT)),
        attributes=slots(slice_sizes=k.INTEGERS),
        results=slots(result=t.TENSOR),
        traits=(
            PURE,
            ASYNC,
        ),
        form=typed(" $operand, $start_indices*, sizes = $slice_sizes"),
        verify=(match("element type", "operand", "result"),),
        infer=rules.infer_dynamic_slice,
    ),
    OpRow(
        "dynamic_update_slice",
        operands=slots(operand=t.TENSOR, update=t.TENSOR, start_indices=many(t.SCALAR_INT)),
        results=slots(result=t.TENSOR),
        traits=(
            PURE,
            ASYNC,
        ),
        form=typed(" $operands"),
        verify=(match("element type", "operand", "update", "result"),),
        infer=rules.infer_dynamic_update_slice,
    ),
    OpRow(
        "gather",
        operands=slots(operand=t.TENSOR, start_indices=t.INT),
        attributes=slots(
            dimension_numbers=own.GATHER, slice_sizes=k.INTEGERS, indices_are_sorted=optional(k.BOOL, k.FALSE)
        ),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        verify=(match("element type", "operand", "result"),),
        infer=indexed.infer_gather,
    ),
    OpRow(
        "get_dimension_size",
        operands=slots(operand=t.AXES),
        attributes=slots(dimension=k.INDEX),
        results=slots(result=t.I32),
        traits=(PURE,),
        form=typed(" $operand, dim = $dimension"),
        infer=rules.infer_dimension_size,
    ),
    OpRow(
        "iota",
        attributes=slots(iota_dimension=k.INDEX),
        results=slots(output=t.STATIC_NUMBER),
        traits=(PURE,),
        form=Template(" dim = $iota_dimension", RESULT),
        verify=(rules.check_iota,),
    ),
    OpRow(
        "pad",
        operands=slots(operand=t.TENSOR, padding_value=t.SCALAR),
        attributes=slots(
            edge_padding_low=k.INTEGERS, edge_padding_high=k.INTEGERS, interior_padding=k.INTEGERS
        ),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=typed(
            " $operand, $padding_value, low = $edge_padding_low, high = $edge_padding_high,"
            " interior = $interior_padding"
        ),
        verify=(match_lengths("edge_padding_low", "edge_padding_high", "interior_padding"), SAME_ELEMENT),
        infer=rules.infer_pad,
    ),
    OpRow(
        "reshape",
        operands=slots(operand=t.AXES),
        results=slots(result=t.STATIC_OR_BOUNDED),
        traits=(NO_EFFECT,),
        form=_OPERAND,
        verify=(COMPATIBLE_ELEMENTS, rules.check_reshape),
    ),
    OpRow(
        "reverse",
        operands=slots(operand=t.TENSOR),
        attributes=slots(dimensions=k.INTEGERS),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=Template(" $operand, dims = $dimensions", SAME),
        verify=(SAME_ELEMENT, rules.check_reverse),
        infer=rules.infer_operand,
    ),
    OpRow(
        "scatter",
        operands=slots(inputs=many(t.TENSOR), scatter_indices=t.INDICES, updates=many(t.TENSOR)),
        attributes=slots(
            scatter_dimension_numbers=own.SCATTER,
            indices_are_sorted=optional(k.BOOL, k.FALSE),
            unique_indices=optional(k.BOOL, k.FALSE),
        ),
        regions=regions("update_computation"),
        results=slots(results=many(t.TENSOR)),
        traits=(
            RECURSIVE,
            PAIRS,
        ),
        verify=(indexed.check_scatter,),
        infer=indexed.infer_scatter,
    ),
    OpRow(
        "slice",
        operands=slots(operand=t.TENSOR),
        attributes=slots(start_indices=k.INTEGERS, limit_indices=k.INTEGERS, strides=k.INTEGERS),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            ASYNC,
        ),
        form=typed(" $operand $ranges"),
        verify=(match_lengths("start_indices", "limit_indices", "strides"), SAME_ELEMENT),
        infer=rules.infer_slice,
    ),
    OpRow(
        "torch_index_select",
        operands=slots(operand=t.TENSOR, index=t.TENSOR),
        attributes=slots(dim=k.I64, batch_dims=k.I64),
        results=slots(result=t.TENSOR),
        traits=(PURE,),
    ),
    OpRow(
        "transpose",
        operands=slots(operand=t.AXES),
        attributes=slots(permutation=k.INTEGERS),
        results=slots(result=t.AXES),
        traits=(NO_EFFECT,),
        form=typed(" $operand, dims = $permutation"),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_transpose,
    ),
)

_DYNAMIC = (
    OpRow(
        "dynamic_broadcast_in_dim",
        operands=slots(operand=t.AXES, output_dimensions=t.SHAPE),
        attributes=slots(
            broadcast_dimensions=k.INTEGERS,
            known_expanding_dimensions=optional(k.INTEGERS),
            known_nonexpanding_dimensions=optional(k.INTEGERS),
        ),
        results=slots(result=t.AXES),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        form=typed(" $operand, $output_dimensions, dims = $broadcast_dimensions"),
        verify=(dynamic.check_dynamic_broadcast_in_dim,),
    ),
    OpRow(
        "dynamic_gather",
        operands=slots(operand=t.TENSOR, start_indices=t.INT, slice_sizes=t.STATIC_INTS),
        attributes=slots(dimension_numbers=own.GATHER, indices_are_sorted=optional(k.BOOL, k.FALSE)),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        infer=indexed.infer_dynamic_gather,
    ),
    OpRow(
        "dynamic_iota",
        operands=slots(output_shape=t.SHAPE),
        attributes=slots(iota_dimension=k.INDEX),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        form=typed(" $output_shape, dim = $iota_dimension"),
        verify=(dynamic.check_dynamic_iota,),
    ),
    OpRow(
        "dynamic_pad",
        operands=slots(
            operand=t.TENSOR,
            padding_value=t.SCALAR,
            edge_padding_low=t.SHAPE,
            edge_padding_high=t.SHAPE,
            interior_padding=t.SHAPE,
        ),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        form=typed(" $operand, $padding_value, $edge_padding_low, $edge_padding_high, $interior_padding"),
        verify=(
            match("element type", "operand", "padding_value", "result"),
            match("type", "edge_padding_low", "edge_padding_high", "interior_padding"),
            match("rank", "operand", "result"),
            dynamic.check_dynamic_pad,
        ),
    ),
    OpRow(
        "dynamic_reshape",
        operands=slots(operand=t.AXES, output_shape=t.SHAPE),
        results=slots(result=t.AXES),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        form=typed(" $operand, $output_shape"),
        verify=(dynamic.check_dynamic_reshape,),
    ),
    OpRow(
        "real_dynamic_slice",
        operands=slots(
            operand=t.TENSOR, start_indices=t.DIMENSIONS, limit_indices=t.DIMENSIONS, strides=t.DIMENSIONS
        ),
        results=slots(result=t.TENSOR),
        traits=(NO_EFFECT,),
        form=typed(" $operand, $start_indices, $limit_indices, $strides"),
        verify=(
            match("element type", "operand", "result"),
            match("type", "start_indices", "limit_indices", "strides"),
            dynamic.check_real_dynamic_slice,
        ),
    ),
    OpRow(
        "set_dimension_size",
        operands=slots(operand=t.TENSOR, size=t.I32),
        attributes=slots(dimension=k.INDEX),
        results=slots(result=t.TENSOR),
        traits=(
            NO_EFFECT,
            READS_CONSTANTS,
        ),
        form=typed(" $operand, $size, dim = $dimension"),
        infer=rules.infer_set_dimension_size,
    ),
)

MOVEMENT = (*_STATIC, *_DYNAMIC)
"""The rows."""
