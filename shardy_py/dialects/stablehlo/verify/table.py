"""The verifier of every op of StableHLO: kinds of operands and results, then the steps that look at them.

Kinds are words of `kinds.py`, in the order of the op's definition; steps run in the order of C++, whose first
fault is the one to report.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardy_py.dialects.stablehlo.verify import (
    collectives,
    contraction,
    control,
    dynamic,
    elementwise,
    host,
    indexed,
    movement,
    normalization,
    reduction,
    windows,
)
from shardy_py.dialects.stablehlo.verify.steps import (
    AT_LEAST_ONE,
    COMPATIBLE,
    COMPATIBLE_ELEMENTS,
    COMPATIBLE_OPERAND_ELEMENTS,
    ELEMENTWISE,
    PAIRWISE,
    PAIRWISE_ELEMENT,
    SAME_ELEMENT,
    SAME_OPERAND_ELEMENT,
    SAME_SHAPE,
    Infer,
    Step,
    check,
    check_op,
    match_elements,
    match_lengths,
    match_ranks,
    match_types,
)


@dataclass(frozen=True, slots=True)
class Row:
    """The verifier of one op.

    steps: traits and rules, run before what stands in the op's regions is verified.
    infer: the results that follow from the operands, compared when the regions are known to be sound.
    needs_constants: whether it looks at constants among the operands, so that a signature does not decide.
    """

    operands: str
    results: str
    steps: tuple[Step, ...] = ()
    infer: Infer | None = None
    needs_constants: bool = False


_FP = "float_complex_quant"
_ACCURATE = (
    *("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic"),
    *("rsqrt", "sine", "sqrt", "tan", "tanh"),
)
_ROUNDING = ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
_UNARY_KINDS = {
    **dict.fromkeys(_ACCURATE, _FP),
    **dict.fromkeys(_ROUNDING, "float_quant"),
    "count_leading_zeros": "int",
    "popcnt": "int",
    "not": "pred_int",
    "negate": "number",
    "sign": "signed",
}
_BINARY_KINDS = {
    **dict.fromkeys(("divide", "power", "remainder", "subtract"), "number"),
    **dict.fromkeys(("maximum", "minimum", "multiply"), "tensor"),
    **dict.fromkeys(("shift_left", "shift_right_arithmetic", "shift_right_logical"), "int"),
    **dict.fromkeys(("and", "or", "xor"), "pred_int"),
    "atan2": _FP,
}
_UNARY_STEPS = (COMPATIBLE, check(elementwise.check_accuracy))

_ELEMENTWISE = {
    **{
        name: Row(kind, kind, _UNARY_STEPS, elementwise.most_specific_type)
        for name, kind in _UNARY_KINDS.items()
    },
    **{
        name: Row(f"{kind} {kind}", kind, (COMPATIBLE,), elementwise.most_specific_type)
        for name, kind in _BINARY_KINDS.items()
    },
    "abs": Row("signed", "signed_real", (ELEMENTWISE,), infer=elementwise.real_part),
    "real": Row("float_complex", "float", (ELEMENTWISE,), infer=elementwise.real_part),
    "imag": Row("float_complex", "float", (ELEMENTWISE,), infer=elementwise.real_part),
    "is_finite": Row("float_quant", "pred", (ELEMENTWISE,), infer=elementwise.predicate),
    "convert": Row("plain", "plain", (SAME_SHAPE,)),
    "uniform_quantize": Row("float_quant_axes", "quant_axes", (SAME_SHAPE,)),
    "uniform_dequantize": Row("quant_axes", "float", (SAME_SHAPE,)),
    "reduce_precision": Row(
        "float_quant", "float_quant", (ELEMENTWISE, COMPATIBLE), elementwise.most_specific_type
    ),
    "add": Row("axes axes", "axes", (SAME_SHAPE, check(elementwise.check_add)), elementwise.infer_add),
    "complex": Row(
        "float32 float32", "complex", (SAME_OPERAND_ELEMENT, SAME_SHAPE), infer=elementwise.complex_pair
    ),
    "compare": Row(
        "tensor tensor", "pred", (ELEMENTWISE, COMPATIBLE_OPERAND_ELEMENTS), infer=elementwise.predicate
    ),
    "clamp": Row("tensor tensor tensor", "tensor", (COMPATIBLE_ELEMENTS,), infer=elementwise.infer_clamp),
    "select": Row("pred tensor tensor", "tensor", infer=elementwise.infer_select),
    "cross-replica-sum": Row("tensor", "tensor", (COMPATIBLE,), elementwise.most_specific_type),
}

_MOVEMENT = {
    "constant": Row("", "static", infer=movement.infer_constant),
    "iota": Row("", "static_number", (check(movement.check_iota),)),
    "reshape": Row("axes", "static_or_bounded", (COMPATIBLE_ELEMENTS, check(movement.check_reshape))),
    "transpose": Row("axes", "axes", (COMPATIBLE_ELEMENTS,), infer=movement.infer_transpose),
    "broadcast": Row("tensor", "axes", (SAME_ELEMENT,), infer=movement.infer_broadcast),
    "broadcast_in_dim": Row(
        "axes", "static_or_bounded", (COMPATIBLE_ELEMENTS, check(movement.check_broadcast_in_dim))
    ),
    "slice": Row(
        "tensor",
        "tensor",
        (
            match_lengths("start_indices", "limit_indices", "strides"),
            SAME_ELEMENT,
        ),
        infer=movement.infer_slice,
    ),
    "dynamic_slice": Row(
        "tensor scalar_int*",
        "tensor",
        (match_elements("operand", "result"),),
        infer=movement.infer_dynamic_slice,
    ),
    "dynamic_update_slice": Row(
        "tensor tensor scalar_int*",
        "tensor",
        (match_elements("operand", "update", "result"),),
        infer=movement.infer_dynamic_update_slice,
    ),
    "concatenate": Row("tensor*", "tensor", (AT_LEAST_ONE, SAME_ELEMENT), infer=movement.infer_concatenate),
    "pad": Row(
        "tensor scalar",
        "tensor",
        (
            match_lengths("edge_padding_low", "edge_padding_high", "interior_padding"),
            SAME_ELEMENT,
        ),
        infer=movement.infer_pad,
    ),
    "reverse": Row(
        "tensor", "tensor", (SAME_ELEMENT, check(movement.check_reverse)), infer=movement.infer_operand
    ),
    "bitcast_convert": Row("axes", "axes", (check(movement.check_bitcast_convert),)),
    "get_dimension_size": Row("axes", "i32", infer=movement.infer_dimension_size),
    "set_dimension_size": Row(
        "tensor i32", "tensor", infer=movement.infer_set_dimension_size, needs_constants=True
    ),
}

_CONTRACTION = {
    "dot": Row("tensor axes", "axes", (check(contraction.check_dot),)),
    "dot_general": Row("tensor axes", "axes", (check(contraction.check_dot_general),)),
    "convolution": Row("tensor axes", "axes", (check(windows.check_convolution),)),
    "cholesky": Row(_FP, _FP, (COMPATIBLE_ELEMENTS,), infer=contraction.infer_cholesky),
    "triangular_solve": Row(
        "float_complex float_complex",
        "float_complex",
        (COMPATIBLE_ELEMENTS,),
        infer=contraction.infer_triangular_solve,
    ),
    "fft": Row("float_complex", "float_complex", infer=contraction.infer_fft),
    "einsum": Row("tensor tensor", "tensor"),
    "unary_einsum": Row("tensor", "tensor"),
    "torch_index_select": Row("tensor tensor", "tensor"),
}

_REDUCTION = {
    "reduce": Row(
        "tensor* tensor*", "tensor*", (check(reduction.check_reduce),), infer=reduction.infer_reduce
    ),
    "reduce_window": Row(
        "tensor* tensor*",
        "tensor*",
        (check(reduction.check_reduce_window),),
        infer=reduction.infer_reduce_window,
    ),
    "select_and_scatter": Row(
        "tensor tensor tensor",
        "tensor",
        (check(reduction.check_select_and_scatter),),
        infer=reduction.infer_select_and_scatter,
    ),
    "map": Row("tensor*", "tensor", (AT_LEAST_ONE, SAME_SHAPE), infer=reduction.infer_map),
    "sort": Row(
        "tensor*",
        "tensor*",
        (AT_LEAST_ONE, SAME_SHAPE, check(reduction.check_sort)),
        infer=reduction.infer_operands,
    ),
    "gather": Row("tensor int", "tensor", (match_elements("operand", "result"),), infer=indexed.infer_gather),
    "scatter": Row(
        "tensor* indices tensor*", "tensor*", (check(indexed.check_scatter),), infer=indexed.infer_scatter
    ),
    "batch_norm_training": Row(
        "float_quant vector vector",
        "float_quant vector",
        (COMPATIBLE_ELEMENTS,),
        infer=normalization.infer_training,
    ),
    "batch_norm_inference": Row(
        "float_quant vector vector vector vector",
        "float_quant",
        (COMPATIBLE_ELEMENTS,),
        infer=normalization.infer_inference,
    ),
    "batch_norm_grad": Row(
        "float_quant vector vector vector float_quant",
        "float_quant vector",
        (COMPATIBLE_ELEMENTS,),
        infer=normalization.infer_gradient,
    ),
}

_COLLECTIVES = {
    "all_gather": Row("tensor*", "tensor*", (PAIRWISE_ELEMENT, check(collectives.check_all_gather))),
    "all_reduce": Row(
        "tensor*", "tensor*", (check(collectives.check_all_reduce),), infer=collectives.infer_all_reduce
    ),
    "reduce_scatter": Row("tensor", "tensor", (check(collectives.check_reduce_scatter),)),
    "all_to_all": Row("tensor*", "tensor*", (PAIRWISE_ELEMENT,), infer=collectives.infer_all_to_all),
    "collective_permute": Row(
        "tensor",
        "tensor",
        (SAME_ELEMENT, check(collectives.check_collective_permute)),
        infer=movement.infer_operand,
    ),
    "collective_broadcast": Row(
        "tensor*",
        "tensor*",
        (check(collectives.check_collective_broadcast),),
        infer=collectives.infer_collective_broadcast,
    ),
    "collective_reduce": Row(
        "tensor*",
        "tensor*",
        (check(collectives.check_collective_reduce),),
        infer=collectives.infer_collective_reduce,
    ),
    "replica_id": Row("", "ui32"),
    "partition_id": Row("", "ui32"),
}

_CONTROL = {
    "if": Row("pred", "value*", infer=control.infer_branches),
    "case": Row("i32", "value*", infer=control.infer_branches),
    "while": Row(
        "value_or_buffer*",
        "value_or_buffer*",
        (check(control.check_while),),
        infer=control.infer_operand_types,
    ),
    "return": Row("value_or_buffer*", ""),
    "tuple": Row("anything*", "tuple", infer=control.infer_tuple),
    "get_tuple_element": Row("tuple", "anything", infer=control.infer_tuple_element),
    "optimization_barrier": Row("tensor_or_token*", "tensor_or_token*", (PAIRWISE,)),
    "async_start": Row("tensor*", "future", infer=control.infer_async_start),
    "async_done": Row("future", "tensor", infer=control.infer_async_done),
    "after_all": Row("token*", "token"),
    "create_token": Row("", "token"),
}

_HOST = {
    "infeed": Row("token", "static_or_token*", (check(host.check_infeed),)),
    "outfeed": Row("axes* token", "token"),
    "send": Row("axes* token", "token", infer=host.infer_send),
    "recv": Row("token", "static_or_token*", (check(host.check_recv),)),
    "custom_call": Row("custom*", "custom*", (check_op(host.check_custom_call),)),
    "composite": Row("value_or_tuple*", "value_or_tuple*"),
    "rng_bit_generator": Row(
        "int_float", "int_float static_int_float", (check(host.check_rng_bit_generator),)
    ),
}

_DYNAMIC = {
    "dynamic_reshape": Row(
        "axes shape", "axes", (check(dynamic.check_dynamic_reshape),), needs_constants=True
    ),
    "dynamic_iota": Row("shape", "tensor", (check(dynamic.check_dynamic_iota),), needs_constants=True),
    "dynamic_broadcast_in_dim": Row(
        "axes shape", "axes", (check(dynamic.check_dynamic_broadcast_in_dim),), needs_constants=True
    ),
    "dynamic_pad": Row(
        "tensor scalar shape shape shape",
        "tensor",
        (
            match_elements("operand", "padding_value", "result"),
            match_types("edge_padding_low", "edge_padding_high", "interior_padding"),
            match_ranks("operand", "result"),
            check(dynamic.check_dynamic_pad),
        ),
        needs_constants=True,
    ),
    "real_dynamic_slice": Row(
        "tensor dimensions dimensions dimensions",
        "tensor",
        (
            match_elements("operand", "result"),
            match_types("start_indices", "limit_indices", "strides"),
            check(dynamic.check_real_dynamic_slice),
        ),
    ),
    "dynamic_gather": Row(
        "tensor int static_ints", "tensor", infer=indexed.infer_dynamic_gather, needs_constants=True
    ),
    "dynamic_conv": Row(
        "tensor tensor static_pairs",
        "tensor",
        (check(windows.check_dynamic_convolution),),
        needs_constants=True,
    ),
    "rng": Row(
        "scalar_pred_int_float scalar_pred_int_float shape",
        "pred_int_float",
        (match_elements("a", "b", "result"),),
        infer=dynamic.infer_rng,
        needs_constants=True,
    ),
}

TABLE: dict[str, Row] = {
    **_ELEMENTWISE,
    **_MOVEMENT,
    **_CONTRACTION,
    **_REDUCTION,
    **_COLLECTIVES,
    **_CONTROL,
    **_HOST,
    **_DYNAMIC,
}
"""Rows by the op's name without the dialect's."""
