"""XLA's `HloSharding`: the device of each tile of a tensor, without names of axes.

GSPMD's dumps have them as `mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"`. The functions
that build one normalise it as XLA does, so that equal shardings print alike. A sharding by mesh and axes (V3)
is a `TensorSharding` with an inlined mesh, and the manual axes: `{mesh['x'=4,'y'=2], [{'x':(1)2}, {'y',
?}]}`. Not here: parsing (`text.py`), protocol buffers (`proto.py`), conversion to and from sdy (`axes.py`).

>>> tiles = TileAssignment.iota((4, 1, 2), (8,))
>>> str(HloSharding.partial_tile(tiles))
'{devices=[4,1,2]<=[8] last_tile_dim_replicate}'
>>> str(HloSharding.partial_tile(TileAssignment.iota((1, 8))))
'{replicated}'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from enum import IntEnum
from math import prod

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import check_axis_lists, total_size
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding
from shardy_py.xla.hlo_sharding.tile_assignment import TileAssignment, device_count, is_range

GROUPS = ("replicated", "unreduced", "manual")
"""The words before the lists of axes that shard no dimension."""


@dataclass(frozen=True)
class NamedHloSharding:
    """A sharding by mesh and axes.

    sharding: its mesh is inlined; priorities are not representable.
    manual_axes: the axes along which the user has partitioned the tensor.
    """

    sharding: TensorSharding
    manual_axes: tuple[AxisRef, ...] = ()

    @property
    def mesh(self) -> Mesh:
        """The inlined mesh."""
        assert isinstance(self.sharding.mesh, Mesh)
        return self.sharding.mesh

    def __str__(self) -> str:
        mesh, sharding = mesh_text(self.mesh), self.sharding
        if self.mesh.is_maximal:
            return mesh
        reduction = "" if sharding.reduction == "sum" else sharding.reduction
        lists = (sharding.replicated_axes, sharding.unreduced_axes, self.manual_axes)
        groups = tuple(zip(GROUPS, ("", reduction, ""), lists, strict=True))
        if not sharding.dimensions:
            for word, reduced, axes in groups[1:]:
                if axes and total_size(axes, self.mesh) == self.mesh.device_count:
                    return f"{mesh}, {word}{'=' if reduced else ''}{reduced}"
            if not any(axes for *_, axes in groups):
                return f"{mesh}, replicated"
        dimensions = ", ".join(map(_dimension_text, sharding.dimensions))
        behind = (
            f", {word}={how}{{{', '.join(map(_axis_text, axes))}}}" for word, how, axes in groups if axes
        )
        return f"{mesh}, [{dimensions}]{''.join(behind)}"

    def checked(self) -> NamedHloSharding:
        """Returns the sharding itself.

        Raises:
            ShardyError: an axis is not in the mesh, or two axes overlap.
        """
        check_axis_lists([*self.sharding.axis_lists, ("manual axes", self.manual_axes)], self.mesh)
        return self


def checked_mesh(
    axes: Sequence[tuple[str, int]],
    device_ids: Sequence[int],
    reshape_dims: Sequence[int] = (),
    transpose_perm: Sequence[int] = (),
) -> Mesh:
    """Returns the mesh of axes of these sizes, without device ids if they are in order.

    device_ids: row-major over the axes, or `reshape_dims` and `transpose_perm` of an iota.

    Raises:
        ShardyError: two axes have one name, a size is not positive, or the devices are not 0, 1, 2, ...
    """
    sizes = dict(axes)
    if len(sizes) < len(axes):
        raise ShardyError("expected different names of the axes of a mesh")
    mesh = Mesh.of(sizes)
    device_count("devices of a mesh", sizes.values())
    if reshape_dims or transpose_perm:
        iota = TileAssignment.checked((mesh.device_count,), (), reshape_dims, transpose_perm)
        if axes and iota.is_in_order:
            return mesh
        device_ids = iota.devices
    is_in_order = bool(axes) and len(device_ids) == mesh.device_count and is_range(device_ids)
    return mesh if is_in_order else Mesh.of(sizes, device_ids=device_ids)


def mesh_text(mesh: Mesh) -> str:
    """`mesh['x'=2,'y'=2]`, `mesh['x'=2], device_ids=(1,0)`, `maximal_mesh[device_id=3]`."""
    if mesh.is_maximal:
        return f"maximal_mesh[device_id={mesh.maximal_device_id}]"
    axes = ",".join(f"'{axis.name}'={axis.size}" for axis in mesh.axes)
    return f"mesh[{axes}]{_device_ids_text(mesh)}"


def _device_ids_text(mesh: Mesh) -> str:
    if not mesh.device_ids:
        return ""
    iota = TileAssignment((mesh.device_count,), mesh.device_ids).as_iota()
    if iota is None:
        return f", device_ids=({','.join(map(str, mesh.device_ids))})"
    if iota.is_in_order:
        return ""
    sizes, perm = (",".join(map(str, values)) for values in (iota.reshape_dims, iota.transpose_perm))
    return f", device_ids=([{sizes}]T({perm}))"


def _dimension_text(dimension: DimensionSharding) -> str:
    parts = [*map(_axis_text, dimension.axes), *([] if dimension.is_closed else ["?"])]
    return f"{{{', '.join(parts)}}}"


def _axis_text(axis: AxisRef) -> str:
    return f"'{axis.name}':{axis.sub_axis}" if axis.sub_axis else f"'{axis.name}'"


class HloShardingType(IntEnum):
    """The kinds of shardings, with their numbers in the protocol buffer."""

    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    OTHER = 3
    MANUAL = 4
    UNKNOWN = 5
    UNREDUCED = 6


REPLICATED, MANUAL, UNREDUCED = (
    HloShardingType.REPLICATED,
    HloShardingType.MANUAL,
    HloShardingType.UNREDUCED,
)
SUBGROUP_TYPES = (MANUAL, UNREDUCED, REPLICATED)
"""The meanings of tile dimensions behind those of the tensor, in the order of XLA."""

MetadataValue = str | int
Metadata = tuple[tuple[str, MetadataValue], ...]
"""The source of an annotation: `(("op_name", "x"), ("source_line", 3))`."""

_REDUCTION = ("op_type", "sdy::reduction_op")
"""The entry of metadata that names a reduction: a sharding by tiles has no other field for it."""


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """A group whose members get one sharding (`shard_as`), or propagate it one way (`shard_like`)."""

    id: int
    is_shard_as: bool

    def __str__(self) -> str:
        return f"{'shard_as' if self.is_shard_as else 'shard_like'} {self.id}"


@dataclass(frozen=True)
class HloSharding:
    """One sharding, or a tuple of them.

    type: `OTHER` is tiled.
    tile_assignment: the grid of a tiled sharding, the device of a maximal one; else None.
    subgroup_types: the meanings of the last dimensions of the grid, except for partial replication.
    replicate_on_last_tile_dim: whether the last dimension of the grid counts replicas.
    tuple_elements: the shardings of the leaves of a tuple.
    shard_group: the group that the value is a member of.
    named: a sharding by mesh and axes (XLA's V3); only group and metadata are used beside it.
    reduction: of unreduced values: "sum", "max" or "min".
    metadata: ignored in comparisons.
    """

    type: HloShardingType = HloShardingType.OTHER
    tile_assignment: TileAssignment | None = None
    subgroup_types: tuple[HloShardingType, ...] = ()
    replicate_on_last_tile_dim: bool = False
    tuple_elements: tuple[HloSharding, ...] = ()
    shard_group: ShardGroup | None = None
    named: NamedHloSharding | None = None
    reduction: str = "sum"
    metadata: tuple[Metadata, ...] = field(default=(), compare=False)

    @staticmethod
    def maximal(device: int) -> HloSharding:
        """The whole tensor on one device."""
        return HloSharding(HloShardingType.MAXIMAL, TileAssignment((1,), (device,)))

    @staticmethod
    def partial_tile(tiles: TileAssignment) -> HloSharding:
        """Tiled by all dimensions but the last, which counts replicas."""
        dimensions = tiles.dimensions
        if len(dimensions) == 1 or dimensions[-1] == tiles.size:
            return HloSharding(REPLICATED)
        if dimensions[-1] == 1:
            return HloSharding(HloShardingType.OTHER, tiles.reshape(dimensions[:-1]))
        return HloSharding(
            HloShardingType.OTHER, tiles.with_sorted_groups(dimensions[-1]), replicate_on_last_tile_dim=True
        )

    @staticmethod
    def subgroup(tiles: TileAssignment, types: Sequence[HloShardingType]) -> HloSharding:
        """Tiled by the first dimensions; the last ones have the meanings `types`, merged and sorted here."""
        if not types:
            return HloSharding(HloShardingType.OTHER, tiles)
        data_rank = len(tiles.dimensions) - len(types)
        if len(set(types)) == 1 and prod(tiles.dimensions[:data_rank]) == 1:
            return HloSharding(types[0])
        tiles, kept = _merge_subgroups(tiles, types, data_rank)
        if kept == (REPLICATED,):
            return HloSharding.partial_tile(tiles)
        if kept == (MANUAL,) and tiles.dimensions[-1] == tiles.size:
            return HloSharding(MANUAL)
        if kept and kept[-1] is REPLICATED:
            tiles = tiles.with_sorted_groups(tiles.dimensions[-1])
        return HloSharding(HloShardingType.OTHER, tiles, kept)

    @staticmethod
    def of_tiles(tiles: TileAssignment, types: Sequence[HloShardingType], *, is_partial: bool) -> HloSharding:
        """Tiled, partially replicated if `is_partial`, else with subgroups of `types`.

        Raises:
            ShardyError: both are given, or more types than dimensions of tiles.
        """
        if is_partial and types:
            raise ShardyError("last_tile_dim_replicate and last_tile_dims exclude each other")
        rank = len(tiles.dimensions)
        if len(types) > rank:
            raise ShardyError.unexpected("last_tile_dims", expected=f"at most {rank}", got=str(len(types)))
        return HloSharding.partial_tile(tiles) if is_partial else HloSharding.subgroup(tiles, types)

    @staticmethod
    def tuple_of(elements: Iterable[HloSharding]) -> HloSharding:
        """The shardings of several values."""
        return HloSharding(HloShardingType.TUPLE, tuple_elements=tuple(elements))

    def with_metadata(self, metadata: tuple[Metadata, ...]) -> HloSharding:
        """The same sharding with other metadata; an entry may name its reduction."""
        reductions = [dict(entry) for entry in metadata if _REDUCTION in entry]
        kept = tuple(entry for entry in metadata if _REDUCTION not in entry)
        words = [str(entry.get("op_name", "")).lower() for entry in reductions]
        reduction = next((word for word in words if word in ("max", "min")), "sum")
        return replace(self, metadata=kept, reduction=reduction if reductions else self.reduction)

    @property
    def encoded_metadata(self) -> tuple[Metadata, ...]:
        """The metadata in a message, which may name a sum, too."""
        kinds = () if self.named is not None else (self.type, *self.subgroup_types)
        if (
            self.reduction == "sum"
            and HloShardingType.UNREDUCED in kinds
            and Behaviour.SUMS_ARE_METADATA.holds
        ):
            return (*self.metadata, (_REDUCTION, ("op_name", "SUM")))
        return self.all_metadata

    @property
    def all_metadata(self) -> tuple[Metadata, ...]:
        """The metadata, and a reduction other than a sum as its last entry."""
        if self.reduction == "sum":
            return self.metadata
        return (*self.metadata, (_REDUCTION, ("op_name", self.reduction.upper())))

    @property
    def is_tiled(self) -> bool:
        """Returns whether there is a grid of tiles."""
        return self.type is HloShardingType.OTHER and self.named is None

    @property
    def leaves(self) -> tuple[HloSharding, ...]:
        """The elements of a tuple, else the sharding itself."""
        return self.tuple_elements if self.type is HloShardingType.TUPLE else (self,)

    @property
    def tile_assignment_dimensions(self) -> tuple[int, ...]:
        """The sizes of the grid; () without one."""
        return self.tile_assignment.dimensions if self.tile_assignment else ()

    @property
    def tile_assignment_devices(self) -> tuple[int, ...]:
        """The devices, row-major over the grid; () without one."""
        return self.tile_assignment.devices if self.tile_assignment else ()

    @property
    def all_subgroup_types(self) -> tuple[HloShardingType, ...]:
        """The meanings of the dimensions of the grid behind those of the tensor, partial replication too."""
        return (REPLICATED,) if self.replicate_on_last_tile_dim else self.subgroup_types

    @property
    def tiled_data_rank(self) -> int:
        """The number of dimensions of the grid that tile the tensor."""
        return len(self.tile_assignment_dimensions) - len(self.all_subgroup_types)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, include_metadata: bool = False) -> str:
        """The text of XLA."""
        if self.type is HloShardingType.TUPLE:
            return f"{{{_elements_text(self.tuple_elements, include_metadata=include_metadata)}}}"
        metadata = _metadata_text(self.all_metadata) if include_metadata else ""
        if self.named is not None:
            return f"{{{self.named}{',' + metadata if metadata else ''}}}"
        group = f" {self.shard_group}" if self.shard_group else ""
        return f"{{{self._kind_text()}{group}{metadata}}}"

    def _kind_text(self) -> str:
        if self.type is HloShardingType.MAXIMAL:
            return f"maximal device={self.tile_assignment_devices[0]}"
        if self.type is not HloShardingType.OTHER:
            return self.type.name.lower()
        text = str(self.tile_assignment)
        if self.replicate_on_last_tile_dim:
            text += " last_tile_dim_replicate"
        if self.subgroup_types:
            text += f" last_tile_dims={{{', '.join(type.name.lower() for type in self.subgroup_types)}}}"
        return text


def _merge_subgroups(
    tiles: TileAssignment, types: Sequence[HloShardingType], data_rank: int
) -> tuple[TileAssignment, tuple[HloShardingType, ...]]:
    """The grid with one dimension a type, in the order of `SUBGROUP_TYPES`, and those types."""
    dimensions = tiles.dimensions
    behind = list(enumerate(types, data_rank))
    by_type = {type: [i for i, t in behind if t is type and dimensions[i] > 1] for type in SUBGROUP_TYPES}
    kept = tuple(type for type in SUBGROUP_TYPES if by_type[type])
    ones = [i for i, _ in behind if dimensions[i] == 1]
    perm = [*range(data_rank), *(i for type in kept for i in by_type[type]), *ones]
    merged = tuple(prod(dimensions[i] for i in by_type[type]) for type in kept)
    return tiles.transpose(perm).reshape(dimensions[:data_rank] + merged), kept


def _elements_text(elements: Sequence[HloSharding], *, include_metadata: bool) -> str:
    """The elements of a tuple, every fifth with its index before it, as XLA prints them."""
    texts = [element.text(include_metadata=include_metadata) for element in elements]
    marked = (f"/*index={i}*/{text}" if i and i % 5 == 0 else text for i, text in enumerate(texts))
    return ", ".join(marked)


def _metadata_text(metadata: Sequence[Metadata]) -> str:
    if not metadata:
        return ""
    texts = [" ".join(f"{name}={_value_text(value)}" for name, value in entry) for entry in metadata]
    inner = texts[0] if len(texts) == 1 else ", ".join(f"{{{text}}}" for text in texts)
    return f" metadata={{{inner}}}"


def _value_text(value: MetadataValue) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
