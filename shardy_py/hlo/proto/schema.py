"""The messages of HLO: xla/service/hlo.proto and xla/xla_data.proto, as far as they are read.

A row is a message, a word of it is a field: `name=number:type`, with `*` if it is repeated. Other fields are
skipped. `raw` fields are kept as bytes: those of literals, packed; messages that other readers know.

>>> MESSAGES["HloProto"]
{1: Field(name='hlo_module', kind='HloModuleProto', is_repeated=False)}
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message; kind: int, bool, string, bytes, float, raw, or a message."""

    name: str
    kind: str
    is_repeated: bool = False


def _messages(text: str) -> dict[str, dict[int, Field]]:
    messages: dict[str, dict[int, Field]] = {}
    for line in text.split("\n\n"):
        name, _, words = line.strip().partition(":")
        fields: dict[int, Field] = {}
        for word in words.split():
            field, _, rest = word.partition("=")
            number, _, kind = rest.partition(":")
            fields[int(number)] = Field(field, kind.rstrip("*") or "int", kind.endswith("*"))
        messages[name] = fields
    return messages


MESSAGES = _messages("""\
HloProto: hlo_module=1:HloModuleProto

HloModuleProto: name=1:string entry_computation_name=2:string entry_computation_id=6
    computations=3:HloComputationProto* stack_frame_index=17:StackFrameIndexProto
    frontend_attributes=19:FrontendAttributes

StackFrameIndexProto: file_names=1:string* function_names=2:string* file_locations=3:FileLocation*
    stack_frames=4:StackFrame*

FileLocation: file_name_id=1 function_name_id=2 line=3 column=4 end_line=5 end_column=6

StackFrame: file_location_id=1 parent_frame_id=2

FrontendAttributes: map=1:Entry*

Entry: key=1:string value=2:string

HloComputationProto: name=1:string instructions=2:HloInstructionProto* id=5 root_id=6

HloInstructionProto: name=1:string opcode=2:string shape=3:raw metadata=7:OpMetadata literal=8:raw
    parameter_number=9 tuple_index=13 dimensions=14:int* window=15:Window
    convolution_dimension_numbers=16:ConvolutionDimensionNumbers slice_dimensions=17:SliceDimensions*
    exponent_bits=18 mantissa_bits=19 dynamic_slice_sizes=20:int* padding_config=21:PaddingConfig
    outfeed_config=22:bytes distribution=23 epsilon=24:float feature_index=25 channel_id=26
    infeed_config=27:bytes custom_call_target=28:string dot_dimension_numbers=30:DotDimensionNumbers
    fft_type=31 fft_length=32:int* gather_dimension_numbers=33:GatherDimensionNumbers
    gather_slice_sizes=34:int* id=35 operand_ids=36:int* called_computation_ids=38:int* sharding=40:raw
    backend_config=43:bytes constrain_layout=56:bool
    operand_shapes_with_layout=57:raw* output_operand_aliasing=74:Alias* is_host_transfer=47:bool
    scatter_dimension_numbers=48:ScatterDimensionNumbers
    replica_groups=49:ReplicaGroup* feature_group_count=50 precision_config=51:PrecisionConfig
    source_target_pairs=52:SourceTarget* batch_group_count=58 triangular_solve_options=59:TriangularSolve
    is_stable=60:bool cholesky_options=62:CholeskyOptions comparison_direction=63:string
    custom_call_has_side_effect=65:bool indices_are_sorted=67:bool
    frontend_attributes=68:FrontendAttributes unique_indices=69:bool rng_algorithm=70
    use_global_device_ids=71:bool comparison_type=72:string custom_call_api_version=77 k=81
    largest=85:bool collective_device_list=87:CollectiveDeviceList is_composite=89:bool
    ragged_dot_dimension_numbers=90:RaggedDotDimensionNumbers iota_groups=92:IotaGroups
    mesh_groups=93:MeshGroups

OpMetadata: op_type=1:string op_name=2:string source_file=3:string source_line=4 stack_frame_id=15

Window: dimensions=1:WindowDimension*

WindowDimension: size=1 stride=2 padding_low=3 padding_high=4 window_dilation=5 base_dilation=6
    window_reversal=7:bool

ConvolutionDimensionNumbers: input_batch_dimension=7 input_feature_dimension=8
    input_spatial_dimensions=11:int* kernel_input_feature_dimension=3 kernel_output_feature_dimension=4
    kernel_spatial_dimensions=6:int* output_batch_dimension=9 output_feature_dimension=10
    output_spatial_dimensions=12:int*

SliceDimensions: start=1 limit=2 stride=3

PaddingConfig: dimensions=1:PaddingDimension*

PaddingDimension: low=1 high=2 interior=3

DotDimensionNumbers: lhs_contracting_dims=1:int* rhs_contracting_dims=2:int* lhs_batch_dims=3:int*
    rhs_batch_dims=4:int*

RaggedDotDimensionNumbers: dot_dimension_numbers=1:DotDimensionNumbers lhs_ragged_dims=2:int*
    rhs_group_dims=3:int*

GatherDimensionNumbers: offset_dims=1:int* collapsed_slice_dims=2:int* start_index_map=3:int*
    index_vector_dim=4 operand_batching_dims=5:int* start_indices_batching_dims=6:int*

ScatterDimensionNumbers: update_window_dims=1:int* inserted_window_dims=2:int*
    scatter_dims_to_operand_dims=3:int* index_vector_dim=4 input_batching_dims=5:int*
    scatter_indices_batching_dims=6:int*

ReplicaGroup: replica_ids=1:int*

CollectiveDeviceList: replica_groups=1:ReplicaGroup* iota_replica_group_list=2:IotaGroups

IotaGroups: num_replica_groups=1 num_devices_per_group=2 iota_reshape_dims=3:int*
    iota_transpose_perm=4:int*

MeshGroups: mesh=1:Mesh axes=2:AxisRef*

Mesh: axes=1:MeshAxis* device_ids=2:int* iota_device_ids=3:DeviceIota

MeshAxis: name=1:string size=2

DeviceIota: dimensions=1:int* order=2:int*

AxisRef: mesh_axis_index=1 sub_axis=2:SubAxis

SubAxis: pre_size=1 size=2

Alias: output_shape_index=1:int* operand_index=2 operand_shape_index=3:int*

PrecisionConfig: operand_precision=1:int* algorithm=2

SourceTarget: source=1 target=2

TriangularSolve: left_side=1:bool lower=2:bool unit_diagonal=3:bool transpose_a=4

CholeskyOptions: lower=1:bool

ShapeProto: element_type=2 dimensions=3:int* is_dynamic_dimension=6:int* tuple_shapes=4:raw* layout=5:Layout

Layout: minor_to_major=1:int* tiles=6:Tile* element_size_in_bits=7 memory_space=8

Tile: dimensions=1:int*

LiteralProto: shape=1:raw preds=2:int* s1s=30:bytes s2s=26:bytes s4s=21:bytes s8s=15:bytes u1s=31:bytes
    u2s=27:bytes u4s=22:bytes u8s=3:bytes s32s=4:int* s64s=5:int* u32s=6:int* u64s=7:int* f32s=8:raw
    f64s=9:raw c64s=12:raw c128s=18:raw tuple_literals=10:raw* f16s=11:bytes bf16s=13:bytes u16s=16:bytes
    s16s=17:bytes f4e2m1fns=32:bytes f8e3m4s=29:bytes f8e4m3b11fnuzs=23:bytes f8e4m3fns=20:bytes
    f8e4m3fnuzs=25:bytes f8e4m3s=28:bytes f8e5m2fnuzs=24:bytes f8e5m2s=19:bytes f8e8m0fnus=33:bytes""")
"""The fields of each message by number."""

_TYPES = """1:pred 30:s1 26:s2 21:s4 2:s8 3:s16 4:s32 5:s64 31:u1 27:u2 22:u4 6:u8 7:u16 8:u32 9:u64 10:f16
    11:f32 16:bf16 12:f64 19:f8e5m2 28:f8e4m3 20:f8e4m3fn 23:f8e4m3b11fnuz 29:f8e3m4 24:f8e5m2fnuz
    25:f8e4m3fnuz 32:f4e2m1fn 33:f8e8m0fnu 15:c64 18:c128 13:tuple 14:opaque 17:token 34:buffer"""
PRIMITIVE_TYPES = {int(number): name for number, _, name in (w.partition(":") for w in _TYPES.split())}
"""The names of element types by number."""
ENUMS: dict[str, tuple[str, ...]] = {
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "distribution": ("", "rng_uniform", "rng_normal"),
    "rng_algorithm": ("rng_default", "rng_three_fry", "rng_philox"),
    "transpose_a": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    "operand_precision": ("default", "high", "highest"),
    "algorithm": (
        *("dot_unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16"),
        *("dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3"),
        *("dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32"),
        *("dot_f64_f64_f64", "dot_bf16_bf16_f32_x9", "dot_any_f8_any_f8_any"),
        "dot_any_f8_any_f8_any_fast_accum",
    ),
    "custom_call_api_version": (
        *("API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING"),
        *("API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"),
    ),
}
"""The words of enums by number."""
