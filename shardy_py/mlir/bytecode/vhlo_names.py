"""The names of the attributes that VHLO's ops have: bytecode has the values alone, in the order of names.

>>> property_names("vhlo.compare_v1")
['compare_type', 'comparison_direction']
"""

from __future__ import annotations

ACCURATE = "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh"
"""Ops with the accuracy of their result, since their second version."""
SECOND_VERSIONS = frozenset(
    (
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "composite", "custom_call"),
        *("dot_general", "dynamic_conv", "dynamic_gather", "gather", "recv", "scatter", "send"),
        *ACCURATE.split(),
    )
)
"""Ops that have had two versions; all others have had one."""
_CONV_NAMES = (
    "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
    "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
    "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
    "output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides"
)
_GATHER_NAMES = "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"
_SCATTER_NAMES = (
    "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices "
    "update_window_dims"
)
_CALL_NAMES = (
    "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
    "output_operand_aliases result_layouts"
)
_DOT_NAMES = (
    "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
    "rhs_contracting_dimensions"
)
_ALGORITHM_NAMES = (
    "accumulation_type allow_imprecise_accumulation lhs_component_count lhs_precision_type "
    "num_primitive_operations rhs_component_count rhs_precision_type"
)
_GROUPS = "channel_id replica_groups"
_NAMES = {
    "all_gather": f"all_gather_dim {_GROUPS} use_global_device_ids",
    "all_reduce": f"{_GROUPS} use_global_device_ids",
    "all_to_all": f"{_GROUPS} concat_dimension split_count split_dimension",
    **dict.fromkeys(
        ("batch_norm_grad", "batch_norm_inference", "batch_norm_training"), "epsilon feature_index"
    ),
    "broadcast_in_dim": "broadcast_dimensions",
    "broadcast": "broadcast_sizes",
    "call": "callee",
    "cholesky": "lower",
    "collective_broadcast": f"{_GROUPS} has_dynamic_root",
    "collective_broadcast_v1": _GROUPS,
    "collective_reduce": f"{_GROUPS} has_dynamic_root use_global_device_ids",
    "collective_permute": "channel_id source_target_pairs",
    "compare": "compare_type comparison_direction",
    "composite": "composite_attributes decomposition name version",
    "concatenate": "dimension",
    "constant": "value",
    "convolution": f"{_CONV_NAMES} padding",
    "cross-replica-sum": "replica_groups",
    "custom_call": f"{_CALL_NAMES} result_tilings",
    "custom_call_v1": _CALL_NAMES,
    "dot_general": f"{_DOT_NAMES} {_ALGORITHM_NAMES}",
    "dot_general_v1": _DOT_NAMES,
    "dot": "precision_config",
    "dynamic_broadcast_in_dim": (
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"
    ),
    "dynamic_conv": _CONV_NAMES,
    "dynamic_conv_v1": f"{_CONV_NAMES} padding",
    "dynamic_gather": f"{_GATHER_NAMES} operand_batching_dims start_indices_batching_dims",
    "dynamic_gather_v1": _GATHER_NAMES,
    "dynamic_iota": "iota_dimension",
    "dynamic_slice": "slice_sizes",
    "einsum": "einsum_config",
    "fft": "fft_length fft_type",
    "func": "arg_attrs function_type res_attrs sym_name sym_visibility",
    "gather": f"{_GATHER_NAMES} operand_batching_dims slice_sizes start_indices_batching_dims",
    "gather_v1": f"{_GATHER_NAMES} slice_sizes",
    "get_dimension_size": "dimension",
    "get_tuple_element": "index",
    "infeed": "infeed_config layout",
    "iota": "iota_dimension",
    "map": "dimensions",
    "outfeed": "outfeed_config",
    "pad": "edge_padding_high edge_padding_low interior_padding",
    "recv": "channel_id channel_type is_host_transfer source_target_pairs",
    "recv_v1": "channel_id channel_type is_host_transfer",
    "reduce": "dimensions",
    "reduce_precision": "exponent_bits mantissa_bits",
    "reduce_scatter": f"{_GROUPS} scatter_dimension use_global_device_ids",
    "reduce_window": "base_dilations padding window_dilations window_dimensions window_strides",
    "reverse": "dimensions",
    "rng_bit_generator": "rng_algorithm",
    "rng": "rng_distribution",
    "scatter": f"{_SCATTER_NAMES} input_batching_dims scatter_indices_batching_dims",
    "scatter_v1": _SCATTER_NAMES,
    "select_and_scatter": "padding window_dimensions window_strides",
    "send": "channel_id channel_type is_host_transfer source_target_pairs",
    "send_v1": "channel_id channel_type is_host_transfer",
    "set_dimension_size": "dimension",
    "slice": "limit_indices start_indices strides",
    "sort": "dimension is_stable",
    "torch_index_select": "batch_dims dim",
    "transpose": "permutation",
    "triangular_solve": "left_side lower transpose_a unit_diagonal",
    "unary_einsum": "einsum_config",
    **dict.fromkeys(ACCURATE.split(), "result_accuracy"),
}
"""The properties of ops of the newest version, and of older versions that have others."""


def property_names(name: str) -> list[str] | None:
    """Returns the properties of an op of VHLO, sorted by name as in bytecode; None if unknown."""
    versioned = name.partition(".")[2]
    found = _NAMES.get(versioned, _NAMES.get(versioned.rpartition("_v")[0]))
    return None if found is None else sorted(found.split())
