"""Reductions, windows, sorting, and normalization, which reduces over a batch."""

from __future__ import annotations

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import (
    NO_EFFECT,
    PAIRS,
    RECURSIVE,
    OpRow,
    many,
    optional,
    regions,
    slots,
)
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.reduce_form import REDUCE_FORM
from shardy_py.mlir.dialects.stablehlo.verify import reduction as rules
from shardy_py.mlir.dialects.stablehlo.verify.traits import (
    AT_LEAST_ONE,
    COMPATIBLE_ELEMENTS,
    RETURN,
    SAME_SHAPE,
)

_BATCH_NORM = {"epsilon": k.F32, "feature_index": k.INDEX}

REDUCTION = (
    OpRow(
        "batch_norm_grad",
        operands=slots(
            operand=t.FLOAT_QUANT, scale=t.VECTOR, mean=t.VECTOR, variance=t.VECTOR, grad_output=t.FLOAT_QUANT
        ),
        attributes=slots(**_BATCH_NORM),
        results=slots(grad_operand=t.FLOAT_QUANT, grad_scale=t.VECTOR, grad_offset=t.VECTOR),
        traits=(NO_EFFECT,),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_gradient,
    ),
    OpRow(
        "batch_norm_inference",
        operands=slots(
            operand=t.FLOAT_QUANT, scale=t.VECTOR, offset=t.VECTOR, mean=t.VECTOR, variance=t.VECTOR
        ),
        attributes=slots(**_BATCH_NORM),
        results=slots(result=t.FLOAT_QUANT),
        traits=(NO_EFFECT,),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_inference,
    ),
    OpRow(
        "batch_norm_training",
        operands=slots(operand=t.FLOAT_QUANT, scale=t.VECTOR, offset=t.VECTOR),
        attributes=slots(**_BATCH_NORM),
        results=slots(output=t.FLOAT_QUANT, batch_mean=t.VECTOR, batch_var=t.VECTOR),
        traits=(NO_EFFECT,),
        verify=(COMPATIBLE_ELEMENTS,),
        infer=rules.infer_training,
    ),
    OpRow(
        "map",
        operands=slots(inputs=many(t.TENSOR)),
        attributes=slots(dimensions=k.INTEGERS),
        regions=regions("computation"),
        results=slots(result=t.TENSOR),
        traits=(RECURSIVE,),
        verify=(AT_LEAST_ONE, SAME_SHAPE),
        infer=rules.infer_map,
        ends_with=RETURN,
    ),
    OpRow(
        "reduce",
        operands=slots(inputs=many(t.TENSOR), init_values=many(t.TENSOR)),
        attributes=slots(dimensions=k.INTEGERS),
        regions=regions("body"),
        results=slots(results=many(t.TENSOR)),
        traits=(
            RECURSIVE,
            PAIRS,
        ),
        form=REDUCE_FORM,
        verify=(rules.check_reduce,),
        infer=rules.infer_reduce,
        ends_with=RETURN,
    ),
    OpRow(
        "reduce_window",
        operands=slots(inputs=many(t.TENSOR), init_values=many(t.TENSOR)),
        attributes=slots(
            window_dimensions=k.INTEGERS,
            window_strides=optional(k.INTEGERS),
            base_dilations=optional(k.INTEGERS),
            window_dilations=optional(k.INTEGERS),
            padding=optional(k.TABLE),
        ),
        regions=regions("body"),
        results=slots(results=many(t.TENSOR)),
        traits=(
            RECURSIVE,
            PAIRS,
        ),
        verify=(rules.check_reduce_window,),
        infer=rules.infer_reduce_window,
        ends_with=RETURN,
    ),
    OpRow(
        "select_and_scatter",
        operands=slots(operand=t.TENSOR, source=t.TENSOR, init_value=t.TENSOR),
        attributes=slots(
            window_dimensions=optional(k.INTEGERS),
            window_strides=optional(k.INTEGERS),
            padding=optional(k.TABLE),
        ),
        regions=regions("select", "scatter"),
        results=slots(result=t.TENSOR),
        traits=(RECURSIVE,),
        verify=(rules.check_select_and_scatter,),
        infer=rules.infer_select_and_scatter,
    ),
    OpRow(
        "sort",
        operands=slots(inputs=many(t.TENSOR)),
        attributes=slots(dimension=optional(k.I64, -1), is_stable=optional(k.BOOL, k.FALSE)),
        regions=regions("comparator"),
        results=slots(results=many(t.TENSOR)),
        traits=(RECURSIVE,),
        verify=(AT_LEAST_ONE, SAME_SHAPE, rules.check_sort),
        infer=rules.infer_operands,
    ),
)
"""The rows."""
