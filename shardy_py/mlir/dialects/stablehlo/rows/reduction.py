"""Reductions, windows, sorting, and normalization, which reduces over a batch."""

from __future__ import annotations

from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo.reduce_form import REDUCE_FORM
from shardy_py.mlir.dialects.stablehlo.verify import reduction as rules
from shardy_py.mlir.dialects.stablehlo.verify.traits import AT_LEAST_ONE, COMPATIBLE_ELEMENTS, SAME_SHAPE

_BATCH_NORM = "epsilon:f32 feature_index:index"

REDUCTION = (
    OpRow(
        "no_effect batch_norm_grad(operand:float_quant scale:vector mean:vector variance:vector"
        f" grad_output:float_quant) <{_BATCH_NORM}>"
        " -> grad_operand:float_quant grad_scale:vector grad_offset:vector",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_gradient,
    ),
    OpRow(
        "no_effect batch_norm_inference(operand:float_quant scale:vector offset:vector mean:vector"
        f" variance:vector) <{_BATCH_NORM}> -> result:float_quant",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_inference,
    ),
    OpRow(
        f"no_effect batch_norm_training(operand:float_quant scale:vector offset:vector) <{_BATCH_NORM}>"
        " -> output:float_quant batch_mean:vector batch_var:vector",
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_training,
    ),
    OpRow(
        "recursive map(inputs*:tensor) <dimensions:integers> [computation] -> result:tensor",
        verify=(AT_LEAST_ONE, SAME_SHAPE),
        infer=rules.infer_map,
    ),
    OpRow(
        "recursive pairs reduce(inputs*:tensor init_values*:tensor) <dimensions:integers> [body]"
        " -> results*:tensor",
        form=REDUCE_FORM,
        verify=(rules.check_reduce,),
        infer=rules.infer_reduce,
    ),
    OpRow(
        "recursive pairs reduce_window(inputs*:tensor init_values*:tensor) <window_dimensions:integers"
        " window_strides?:integers base_dilations?:integers window_dilations?:integers padding?:table>"
        " [body] -> results*:tensor",
        verify=(rules.check_reduce_window,),
        infer=rules.infer_reduce_window,
    ),
    OpRow(
        "recursive select_and_scatter(operand:tensor source:tensor init_value:tensor)"
        " <window_dimensions?:integers window_strides?:integers padding?:table> [select scatter]"
        " -> result:tensor",
        verify=(rules.check_select_and_scatter,),
        infer=rules.infer_select_and_scatter,
    ),
    OpRow(
        "recursive sort(inputs*:tensor) <dimension?:i64=-1 is_stable?:bool=false> [comparator]"
        " -> results*:tensor",
        verify=(AT_LEAST_ONE, SAME_SHAPE, rules.check_sort),
        infer=rules.infer_operands,
    ),
)
"""The rows."""
