"""The values inside StableHLO's attributes, as StableHLO names their fields.

>>> DotDimensionNumbers((0,), (0,), (2,), (1,)).lhs_contracting_dimensions
(2,)

Not here: the attributes around them (`attributes.py`), their text.
"""

from __future__ import annotations

from dataclasses import fields

from xdsl.ir import Attribute, TypeAttribute

from shardy_py.base.records import dataclass


@dataclass(frozen=True)
class DotDimensionNumbers:
    """Which dimensions of a dot_general are batch dimensions and which are contracted."""

    lhs_batching_dimensions: tuple[int, ...] = ()
    rhs_batching_dimensions: tuple[int, ...] = ()
    lhs_contracting_dimensions: tuple[int, ...] = ()
    rhs_contracting_dimensions: tuple[int, ...] = ()


@dataclass(frozen=True)
class ConvDimensionNumbers:
    """The roles of the dimensions of a convolution's operands and result."""

    input_batch_dimension: int = 0
    input_feature_dimension: int = 0
    input_spatial_dimensions: tuple[int, ...] = ()
    kernel_input_feature_dimension: int = 0
    kernel_output_feature_dimension: int = 0
    kernel_spatial_dimensions: tuple[int, ...] = ()
    output_batch_dimension: int = 0
    output_feature_dimension: int = 0
    output_spatial_dimensions: tuple[int, ...] = ()

    def sides(self) -> dict[str, tuple[int, ...]]:
        """The dimensions of each tensor: batch and feature (kernel: both features), then the spatial ones."""
        values = [getattr(self, field.name) for field in fields(self)]
        starts = {"input": 0, "kernel": 3, "output": 6}
        return {name: (values[at], values[at + 1], *values[at + 2]) for name, at in starts.items()}


@dataclass(frozen=True)
class GatherDimensionNumbers:
    """The windows of its operand that a gather's indices select."""

    offset_dims: tuple[int, ...] = ()
    collapsed_slice_dims: tuple[int, ...] = ()
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    start_index_map: tuple[int, ...] = ()
    index_vector_dim: int = 0


@dataclass(frozen=True)
class ScatterDimensionNumbers:
    """The places of a scatter's operand where its indices put windows of updates."""

    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: int = 0


@dataclass(frozen=True)
class DotAlgorithm:
    """The algorithm of a dot_general: precisions of operands and accumulator, number of operations."""

    lhs_precision_type: TypeAttribute
    rhs_precision_type: TypeAttribute
    accumulation_type: TypeAttribute
    lhs_component_count: int
    rhs_component_count: int
    num_primitive_operations: int
    allow_imprecise_accumulation: bool


@dataclass(frozen=True)
class ChannelHandle:
    """A channel between devices, by number; type: 0 unset, 1 device to device, 2 to host, 3 from host."""

    handle: int
    type: int


@dataclass(frozen=True)
class OutputOperandAlias:
    """A custom call's output that shares the buffer of an operand."""

    output_tuple_indices: tuple[int, ...]
    operand_index: int
    operand_tuple_indices: tuple[int, ...]


@dataclass(frozen=True)
class ResultAccuracy:
    """The accuracy of a transcendental function: absolute, relative, in units of the last place."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
    mode: str = "DEFAULT"


@dataclass(frozen=True)
class SubAxisInfo:
    """The part of an axis: how many devices lie before it, how many in it."""

    pre_size: int
    size: int


@dataclass(frozen=True)
class StablehloAxisRef:
    """An axis of a mesh, or a part of one."""

    name: str
    sub_axis_info: SubAxisInfo | None = None


@dataclass(frozen=True)
class StablehloMeshAxis:
    """An axis of a mesh with its size."""

    name: str
    size: int


@dataclass(frozen=True)
class StablehloMesh:
    """A mesh of devices; device_ids: dense integers, None for 0, 1, ..."""

    axes: tuple[StablehloMeshAxis, ...] = ()
    device_ids: Attribute | None = None


@dataclass(frozen=True)
class ReplicaGroupMeshAxes:
    """Replica groups as axes of a mesh; axes: an array of axis references."""

    mesh: Attribute
    axes: Attribute
