"""One example for each row of the op table, by the row's name."""

from __future__ import annotations

from typing import Any

from shardy_py.indexing import IndexMap, dim
from shardy_py.ops import OpRecord, TensorType, collective, custom_calls, passing, row_name
from shardy_py.ops.reads import names


def t(*sizes: int, element: str = "f32") -> TensorType:
    return TensorType(sizes, element)


SCALAR, FLAG = t(), t(element="i1")


def op(name: str, operands: Any = (), results: Any = (), **attributes: Any) -> OpRecord:
    return OpRecord(name, tuple(operands), tuple(results), attributes)


UNARY = names(
    """abs cbrt ceil convert count_leading_zeros cosine exponential exponential_minus_one floor imag
    is_finite log log_plus_one logistic not negate popcnt real round_nearest_afz round_nearest_even
    rsqrt sign sine sqrt tan tanh uniform_quantize uniform_dequantize reduce_precision all_reduce
    collective_broadcast collective_permute collective_reduce cross-replica-sum map"""
)
BINARY = names(
    """add atan2 complex divide maximum minimum multiply power remainder shift_left
    shift_right_arithmetic shift_right_logical subtract and or xor compare"""
)
CHLO_UNARY = names(
    """_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj constant_like cosh digamma erf
    erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma sinh square tan"""
)
CHLO_BINARY = ("next_after", "polygamma", "zeta", "mulhi")
CHLO_BROADCASTING = names(
    """add atan2 divide maximum minimum multiply next_after polygamma power remainder shift_left
    shift_right_arithmetic shift_right_logical subtract zeta and or xor complex compare select"""
)
WITHOUT_MAPS = names(
    """check.expect_almost_eq check.expect_almost_eq_const check.expect_close check.expect_eq
    check.expect_eq_const check.expect_serialized_eq interpreter.print interpreter.run_parallel
    builtin.module func.call func.func func.return chlo.ragged_dot chlo.scan sdy.all_gather
    sdy.all_reduce sdy.all_slice sdy.all_to_all sdy.collective_permute sdy.data_flow_edge
    sdy.func_data_flow_edge sdy.manual_computation sdy.mesh sdy.named_computation sdy.reduce_scatter
    sdy.replicated_to_unreduced sdy.return sdy.sharded_to_unreduced sdy.sharding_group
    stablehlo.after_all stablehlo.async_done stablehlo.async_start stablehlo.case stablehlo.composite
    stablehlo.create_token stablehlo.dynamic_broadcast_in_dim stablehlo.dynamic_conv
    stablehlo.dynamic_gather stablehlo.dynamic_iota stablehlo.dynamic_pad stablehlo.dynamic_reshape
    stablehlo.einsum stablehlo.get_dimension_size stablehlo.get_tuple_element stablehlo.if
    stablehlo.infeed stablehlo.optimization_barrier stablehlo.outfeed stablehlo.partition_id
    stablehlo.real_dynamic_slice stablehlo.recv stablehlo.replica_id stablehlo.return stablehlo.send
    stablehlo.torch_index_select stablehlo.tuple stablehlo.unary_einsum stablehlo.while
    stablehlo.custom_call"""
)
POINTWISE_CALLS = names(
    """annotate_device_placement InspectSharding LayoutConstraint mhlo.erf MoveToDevice MoveToHost
    X64SplitHigh X64SplitLow xla.megascale.provide_metadata Cholesky CompactWyHelper
    InvertDiagBlocksLowerTriangular InvertDiagBlocksUpperTriangular _SPMDInternalOp_MultiPad
    _SPMDInternalOp_RotateRight _SPMDInternalOp_MultiRotate _SPMDInternalOp_MultiSlice
    _SPMDInternalOp_Wrap"""
)
A, B = t(4, 8), t(2, 4, 4)
I32 = t(element="i32")
DOT = {
    "lhs_batching_dimensions": (0,),
    "rhs_batching_dimensions": (0,),
    "lhs_contracting_dimensions": (2,),
    "rhs_contracting_dimensions": (1,),
}
GATHER = {
    "offset_dims": (1, 2, 3),
    "collapsed_slice_dims": (),
    "start_index_map": (0, 1),
    "index_vector_dim": 1,
}
SCATTER = {
    "update_window_dims": (1,),
    "inserted_window_dims": (0,),
    "scatter_dims_to_operand_dims": (0,),
    "index_vector_dim": 1,
}
CONVOLUTION = {
    "input_batch_dimension": 0,
    "input_spatial_dimensions": (1,),
    "input_feature_dimension": 2,
    "kernel_spatial_dimensions": (0,),
    "kernel_input_feature_dimension": 1,
    "kernel_output_feature_dimension": 2,
    "output_batch_dimension": 0,
    "output_spatial_dimensions": (1,),
    "output_feature_dimension": 2,
}
CONSTANTS = ("stablehlo.constant", "stablehlo.iota", "sdy.constant", "chlo.constant")
POINTWISE_SDY = ("sharding_constraint", "reshard", "propagation_barrier")
PRODUCT = (IndexMap((dim(0), dim(2))), IndexMap((dim(2), dim(1))), IndexMap((dim(0), dim(1))))


def call(target: str, operands: Any, results: Any) -> OpRecord:
    return op("stablehlo.custom_call", operands, results, call_target_name=target)


_ALL = (
    *(op(f"stablehlo.{name}", (A,), (A,)) for name in UNARY),
    *(op(f"stablehlo.{name}", (A, A), (A,)) for name in BINARY),
    *(op(f"chlo.{name}", (A,), (A,)) for name in CHLO_UNARY),
    *(op(f"chlo.{name}", (A, A), (A,)) for name in CHLO_BINARY),
    *(op(f"chlo.broadcast_{name}", (A, t(8)), (A,)) for name in CHLO_BROADCASTING),
    *(op(f"sdy.{name}", (A,), (A,)) for name in POINTWISE_SDY),
    *(op(name, (), (A,)) for name in CONSTANTS),
    *(op(name, (), ()) for name in WITHOUT_MAPS[:-1]),
    *(call(name, (A,), (A,)) for name in POINTWISE_CALLS),
    op("stablehlo.select", (FLAG, A, A), (A,)),
    op("stablehlo.clamp", (SCALAR, A, SCALAR), (A,)),
    op("stablehlo.transpose", (A,), (t(8, 4),), permutation=(1, 0)),
    op("stablehlo.broadcast_in_dim", (t(8, 1),), (t(3, 8, 5),), broadcast_dimensions=(1, 2)),
    op("stablehlo.broadcast", (A,), (t(3, 4, 8),)),
    op("stablehlo.reshape", (A,), (B,)),
    op("stablehlo.slice", (A,), (t(2, 3),), start_indices=(1, 2), limit_indices=(3, 8), strides=(1, 2)),
    op("stablehlo.reverse", (A,), (A,), dimensions=(1,)),
    op(
        "stablehlo.pad",
        (A, SCALAR),
        (t(6, 15),),
        edge_padding_low=(1, 0),
        edge_padding_high=(1, 0),
        interior_padding=(0, 1),
    ),
    op("stablehlo.concatenate", (A, t(4, 3)), (t(4, 11),), dimension=1),
    op("stablehlo.bitcast_convert", (A,), (t(4, 8, 4, element="i8"),)),
    op("stablehlo.set_dimension_size", (A, I32), (A,), dimension=0),
    op("stablehlo.dot_general", (B, B), (B,), dot_dimension_numbers=DOT),
    op("stablehlo.dot", (A, t(8, 3)), (t(4, 3),)),
    op("linalg.generic", (A, t(8, 3), t(4, 3)), (t(4, 3),), indexing_maps=PRODUCT),
    op("stablehlo.reduce", (A, SCALAR), (t(8),), dimensions=(0,)),
    op("stablehlo.sort", (A, A), (A, A), dimension=1),
    op("interpreter.probe", (A,), (A,), probe_id="p"),
    op("chlo.top_k", (A,), (t(4, 2), t(4, 2)), k=2),
    op("stablehlo.cholesky", (B,), (B,), lower=True),
    op("stablehlo.triangular_solve", (B, B), (B,), left_side=True, transpose_a="NO_TRANSPOSE"),
    op("stablehlo.fft", (A,), (t(4, 5),), fft_type="RFFT", fft_length=(8,)),
    op("stablehlo.batch_norm_inference", (A, *[t(8)] * 4), (A,), feature_index=1),
    op("stablehlo.batch_norm_training", (A, t(8), t(8)), (A, t(8), t(8)), feature_index=1),
    op("stablehlo.batch_norm_grad", (A, t(8), t(8), t(8), A), (A, t(8), t(8)), feature_index=1),
    op("stablehlo.reduce_window", (A, SCALAR), (t(2, 7),), window_dimensions=(2, 2), window_strides=(2, 1)),
    op(
        "stablehlo.select_and_scatter",
        (A, t(2, 8), SCALAR),
        (A,),
        window_dimensions=(2, 1),
        window_strides=(2, 1),
    ),
    op("stablehlo.convolution", (t(2, 9, 3), t(3, 3, 5)), (t(2, 7, 5),), dimension_numbers=CONVOLUTION),
    op("stablehlo.dynamic_slice", (A, I32, I32), (t(4, 3),), slice_sizes=(4, 3)),
    op("stablehlo.dynamic_update_slice", (A, t(4, 3), I32, I32), (A,)),
    op(
        "stablehlo.gather",
        (t(33, 76, 70), t(1806, 2, element="i32")),
        (t(1806, 7, 8, 4),),
        dimension_numbers=GATHER,
        slice_sizes=(7, 8, 4),
    ),
    op(
        "stablehlo.scatter",
        (A, t(5, 1, element="i32"), t(5, 8)),
        (A,),
        scatter_dimension_numbers=SCATTER,
        **{"context.combiner": "stablehlo.add"},
    ),
    op("stablehlo.all_gather", (A,), (t(8, 8),), all_gather_dim=0),
    op("stablehlo.all_to_all", (A,), (t(2, 16),), split_dimension=0, concat_dimension=1, split_count=2),
    op("stablehlo.reduce_scatter", (A,), (t(2, 8),), scatter_dimension=0),
    op("stablehlo.rng", (SCALAR, SCALAR, t(2, element="i64")), (A,)),
    op("stablehlo.rng_bit_generator", (t(2, element="ui64"),), (t(2, element="ui64"), A)),
    call("X64Combine", (A, A), (A,)),
    call("Eigh", (B,), (B, t(2, 4))),
    call("Qr", (B,), (B, t(2, 4))),
    call("QrDecompositionBlock", (B,), (B, t(2, 4))),
    call("ProductOfElementaryHouseholderReflectors", (B, t(2, 4)), (B,)),
    call("mhlo.topk", (A,), (t(4, 2), t(4, 2))),
    call("ApproxTopK", (A, A, SCALAR, I32), (t(4, 2), t(4, 2))),
    call("PartialReduce", (A, A, SCALAR, I32), (t(4, 2), t(4, 2))),
)
_HLO = {
    "hlo.bitcast": op("hlo.bitcast", (A,), (t(8, 4),), operand_layout=(1, 0), result_layout=(0, 1)),
    "hlo.add-dependency": op("hlo.add-dependency", (A, None), (A,)),
    "hlo.table": op("hlo.table", (), (A,)),
    "hlo.domain": op("hlo.domain", (A,), (A,)),
    "hlo.opt-barrier": op("hlo.opt-barrier", (A, B), (A, B)),
    **{f"hlo.{name}": op(f"hlo.{name}", (A,), (A,)) for name in ("copy", "stochastic-convert")},
    **{f"hlo.{name}": op(f"hlo.{name}", (), (A,)) for name in passing.HLO_SOURCES},
    **{f"hlo.{name}": op(f"hlo.{name}", (A,), (B,)) for name in (*passing.HLO_UNSTATED, "async", "fusion")},
}
EXAMPLES: dict[str, OpRecord] = {row_name(record): record for record in _ALL}
EXAMPLES |= _HLO
EXAMPLES |= {row_name(c): c for c in (call(target, (A,), (A,)) for target in custom_calls.WITHOUT_RULE)}
_PLACES = t(2, element="i64")
_RAGGED = call(collective.RAGGED, (A, A, *(_PLACES,) * 4), (A,))
EXAMPLES[row_name(_RAGGED)] = _RAGGED
EXAMPLES["stablehlo.custom_call"] = call("nobody.knows", (A,), (A,))
