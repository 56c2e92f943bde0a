"""The messages of HLO: xla/service/hlo.proto and xla/xla_data.proto, as far as they are read.

Fields without a row are skipped.

>>> MESSAGES["HloProto"]
{1: Field(name='hlo_module', kind='HloModuleProto', is_repeated=False)}
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message; kind: int, bool, string, bytes, float, raw, or a message."""

    name: str
    kind: str
    is_repeated: bool = False


def integer(name: str) -> Field:
    """A field of an integer or an enum."""
    return Field(name, "int")


def flag(name: str) -> Field:
    """A field of a bool."""
    return Field(name, "bool")


def string(name: str) -> Field:
    """A field of text."""
    return Field(name, "string")


def data(name: str) -> Field:
    """A field of bytes."""
    return Field(name, "bytes")


def number(name: str) -> Field:
    """A field of a float."""
    return Field(name, "float")


def raw(name: str) -> Field:
    """A field that is kept as bytes: of a literal, packed, or a message that other readers know."""
    return Field(name, "raw")


def message(name: str, kind: str) -> Field:
    """A field of a message of that name."""
    return Field(name, kind)


def many(field: Field) -> Field:
    """The field, repeated."""
    return replace(field, is_repeated=True)


MESSAGES: dict[str, dict[int, Field]] = {
    "HloProto": {
        1: message("hlo_module", "HloModuleProto"),
    },
    "HloModuleProto": {
        1: string("name"),
        2: string("entry_computation_name"),
        6: integer("entry_computation_id"),
        3: many(message("computations", "HloComputationProto")),
        7: message("schedule", "HloScheduleProto"),
        8: message("input_output_alias", "HloInputOutputAliasProto"),
        17: message("stack_frame_index", "StackFrameIndexProto"),
        19: message("frontend_attributes", "FrontendAttributes"),
    },
    "HloScheduleProto": {
        1: many(message("sequences", "SequencesEntry")),
    },
    "SequencesEntry": {
        1: integer("key"),
        2: message("value", "InstructionSequence"),
    },
    "InstructionSequence": {
        1: many(integer("instruction_ids")),
    },
    "HloInputOutputAliasProto": {
        1: many(message("entries", "AliasEntryProto")),
    },
    "AliasEntryProto": {
        1: many(integer("output_shape_index")),
        2: integer("parameter_number"),
        3: many(integer("parameter_shape_index")),
    },
    "StackFrameIndexProto": {
        1: many(string("file_names")),
        2: many(string("function_names")),
        3: many(message("file_locations", "FileLocation")),
        4: many(message("stack_frames", "StackFrame")),
    },
    "FileLocation": {
        1: integer("file_name_id"),
        2: integer("function_name_id"),
        3: integer("line"),
        4: integer("column"),
        5: integer("end_line"),
        6: integer("end_column"),
    },
    "StackFrame": {
        1: integer("file_location_id"),
        2: integer("parent_frame_id"),
    },
    "FrontendAttributes": {
        1: many(message("map", "Entry")),
    },
    "Entry": {
        1: string("key"),
        2: string("value"),
    },
    "HloComputationProto": {
        1: string("name"),
        2: many(message("instructions", "HloInstructionProto")),
        5: integer("id"),
        6: integer("root_id"),
    },
    "HloInstructionProto": {
        1: string("name"),
        2: string("opcode"),
        3: raw("shape"),
        7: message("metadata", "OpMetadata"),
        8: raw("literal"),
        9: integer("parameter_number"),
        13: integer("tuple_index"),
        14: many(integer("dimensions")),
        15: message("window", "Window"),
        16: message("convolution_dimension_numbers", "ConvolutionDimensionNumbers"),
        17: many(message("slice_dimensions", "SliceDimensions")),
        18: integer("exponent_bits"),
        19: integer("mantissa_bits"),
        20: many(integer("dynamic_slice_sizes")),
        21: message("padding_config", "PaddingConfig"),
        22: data("outfeed_config"),
        23: integer("distribution"),
        24: number("epsilon"),
        25: integer("feature_index"),
        26: integer("channel_id"),
        27: data("infeed_config"),
        28: string("custom_call_target"),
        30: message("dot_dimension_numbers", "DotDimensionNumbers"),
        31: integer("fft_type"),
        32: many(integer("fft_length")),
        33: message("gather_dimension_numbers", "GatherDimensionNumbers"),
        34: many(integer("gather_slice_sizes")),
        35: integer("id"),
        36: many(integer("operand_ids")),
        38: many(integer("called_computation_ids")),
        40: raw("sharding"),
        43: data("backend_config"),
        56: flag("constrain_layout"),
        57: many(raw("operand_shapes_with_layout")),
        74: many(message("output_operand_aliasing", "Alias")),
        47: flag("is_host_transfer"),
        48: message("scatter_dimension_numbers", "ScatterDimensionNumbers"),
        49: many(message("replica_groups", "ReplicaGroup")),
        50: integer("feature_group_count"),
        51: message("precision_config", "PrecisionConfig"),
        52: many(message("source_target_pairs", "SourceTarget")),
        58: integer("batch_group_count"),
        59: message("triangular_solve_options", "TriangularSolve"),
        60: flag("is_stable"),
        62: message("cholesky_options", "CholeskyOptions"),
        63: string("comparison_direction"),
        65: flag("custom_call_has_side_effect"),
        67: flag("indices_are_sorted"),
        68: message("frontend_attributes", "FrontendAttributes"),
        69: flag("unique_indices"),
        70: integer("rng_algorithm"),
        71: flag("use_global_device_ids"),
        72: string("comparison_type"),
        77: integer("custom_call_api_version"),
        81: integer("k"),
        85: flag("largest"),
        87: message("collective_device_list", "CollectiveDeviceList"),
        89: flag("is_composite"),
        90: message("ragged_dot_dimension_numbers", "RaggedDotDimensionNumbers"),
        92: message("iota_groups", "IotaGroups"),
        93: message("mesh_groups", "MeshGroups"),
        94: flag("is_reverse"),
        95: integer("num_carries"),
        96: integer("is_associative"),
        102: string("comparison_order"),
    },
    "OpMetadata": {
        1: string("op_type"),
        2: string("op_name"),
        3: string("source_file"),
        4: integer("source_line"),
        15: integer("stack_frame_id"),
    },
    "Window": {
        1: many(message("dimensions", "WindowDimension")),
    },
    "WindowDimension": {
        1: integer("size"),
        2: integer("stride"),
        3: integer("padding_low"),
        4: integer("padding_high"),
        5: integer("window_dilation"),
        6: integer("base_dilation"),
        7: flag("window_reversal"),
    },
    "ConvolutionDimensionNumbers": {
        7: integer("input_batch_dimension"),
        8: integer("input_feature_dimension"),
        11: many(integer("input_spatial_dimensions")),
        3: integer("kernel_input_feature_dimension"),
        4: integer("kernel_output_feature_dimension"),
        6: many(integer("kernel_spatial_dimensions")),
        9: integer("output_batch_dimension"),
        10: integer("output_feature_dimension"),
        12: many(integer("output_spatial_dimensions")),
    },
    "SliceDimensions": {
        1: integer("start"),
        2: integer("limit"),
        3: integer("stride"),
    },
    "PaddingConfig": {
        1: many(message("dimensions", "PaddingDimension")),
    },
    "PaddingDimension": {
        1: integer("low"),
        2: integer("high"),
        3: integer("interior"),
    },
    "DotDimensionNumbers": {
        1: many(integer("lhs_contracting_dims")),
        2: many(integer("rhs_contracting_dims")),
        3: many(integer("lhs_batch_dims")),
        4: many(integer("rhs_batch_dims")),
    },
    "RaggedDotDimensionNumbers": {
        1: message("dot_dimension_numbers", "DotDimensionNumbers"),
        2: many(integer("lhs_ragged_dims")),
        3: many(integer("rhs_group_dims")),
    },
    "GatherDimensionNumbers": {
        1: many(integer("offset_dims")),
        2: many(integer("collapsed_slice_dims")),
        3: many(integer("start_index_map")),
        4: integer("index_vector_dim"),
        5: many(integer("operand_batching_dims")),
        6: many(integer("start_indices_batching_dims")),
    },
    "ScatterDimensionNumbers": {
        1: many(integer("update_window_dims")),
        2: many(integer("inserted_window_dims")),
        3: many(integer("scatter_dims_to_operand_dims")),
        4: integer("index_vector_dim"),
        5: many(integer("input_batching_dims")),
        6: many(integer("scatter_indices_batching_dims")),
    },
    "ReplicaGroup": {
        1: many(integer("replica_ids")),
    },
    "CollectiveDeviceList": {
        1: many(message("replica_groups", "ReplicaGroup")),
        2: message("iota_replica_group_list", "IotaGroups"),
    },
    "IotaGroups": {
        1: integer("num_replica_groups"),
        2: integer("num_devices_per_group"),
        3: many(integer("iota_reshape_dims")),
        4: many(integer("iota_transpose_perm")),
    },
    "MeshGroups": {
        1: message("mesh", "Mesh"),
        2: many(message("axes", "AxisRef")),
    },
    "Mesh": {
        1: many(message("axes", "MeshAxis")),
        2: many(integer("device_ids")),
        3: message("iota_device_ids", "DeviceIota"),
    },
    "MeshAxis": {
        1: string("name"),
        2: integer("size"),
    },
    "DeviceIota": {
        1: many(integer("dimensions")),
        2: many(integer("order")),
    },
    "AxisRef": {
        1: integer("mesh_axis_index"),
        2: message("sub_axis", "SubAxis"),
    },
    "SubAxis": {
        1: integer("pre_size"),
        2: integer("size"),
    },
    "Alias": {
        1: many(integer("output_shape_index")),
        2: integer("operand_index"),
        3: many(integer("operand_shape_index")),
    },
    "PrecisionConfig": {
        1: many(integer("operand_precision")),
        2: integer("algorithm"),
    },
    "SourceTarget": {
        1: integer("source"),
        2: integer("target"),
    },
    "TriangularSolve": {
        1: flag("left_side"),
        2: flag("lower"),
        3: flag("unit_diagonal"),
        4: integer("transpose_a"),
    },
    "CholeskyOptions": {
        1: flag("lower"),
    },
    "ShapeProto": {
        2: integer("element_type"),
        3: many(integer("dimensions")),
        6: many(integer("is_dynamic_dimension")),
        4: many(raw("tuple_shapes")),
        5: message("layout", "Layout"),
    },
    "Layout": {
        1: many(integer("minor_to_major")),
        6: many(message("tiles", "Tile")),
        7: integer("element_size_in_bits"),
        8: integer("memory_space"),
    },
    "Tile": {
        1: many(integer("dimensions")),
    },
    "LiteralProto": {
        1: raw("shape"),
        2: many(integer("preds")),
        30: data("s1s"),
        26: data("s2s"),
        21: data("s4s"),
        15: data("s8s"),
        31: data("u1s"),
        27: data("u2s"),
        22: data("u4s"),
        3: data("u8s"),
        4: many(integer("s32s")),
        5: many(integer("s64s")),
        6: many(integer("u32s")),
        7: many(integer("u64s")),
        8: raw("f32s"),
        9: raw("f64s"),
        12: raw("c64s"),
        18: raw("c128s"),
        10: many(raw("tuple_literals")),
        11: data("f16s"),
        13: data("bf16s"),
        16: data("u16s"),
        17: data("s16s"),
        32: data("f4e2m1fns"),
        29: data("f8e3m4s"),
        23: data("f8e4m3b11fnuzs"),
        20: data("f8e4m3fns"),
        25: data("f8e4m3fnuzs"),
        28: data("f8e4m3s"),
        24: data("f8e5m2fnuzs"),
        19: data("f8e5m2s"),
        33: data("f8e8m0fnus"),
    },
}
"""The fields of each message by number."""
