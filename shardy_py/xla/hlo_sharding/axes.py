"""Converts XLA's shardings by tiles and devices to shardings along the axes of a mesh, and back.

The id of a device is a number of mixed radix whose digits are the axes of the mesh: axis k covers the
divisors from its stride to its stride times its size. A grid of tiles has these digits in another order, so
each of its dimensions is a list of axes and sub-axes. Source: openxla/xla,
xla/service/spmd/shardy/stablehlo_round_trip. Dumps without a mesh get one with an axis between
any two consecutive strides of their shardings, and names as in stablehlo_import.cc there.

>>> from shardy_py.sharding.mesh import MeshAxis
>>> mesh = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("y"),)), DimensionSharding()))
>>> str(to_hlo_sharding(sharding, mesh))
'{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}'
>>> str(from_hlo_sharding(to_hlo_sharding(sharding, mesh), mesh, 2, reference="mesh"))
'<@mesh, [{"y"}, {}]>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise
from math import prod

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.axis_lists import Axes, sort_and_merge, split_like, total_size
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding
from shardy_py.xla.hlo_sharding.hlo_sharding import (
    MANUAL,
    REPLICATED,
    SUBGROUP_TYPES,
    UNREDUCED,
    HloSharding,
    HloShardingType,
    Metadata,
    NamedHloSharding,
    ShardGroup,
)
from shardy_py.xla.hlo_sharding.tile_assignment import (
    Digit,
    TileAssignment,
    digits_of,
    iota_digits,
    split_digits,
)

ManualAxes = Sequence[AxisRef | str]
"""Axes, by their names or as references, which may be to sub-axes."""


def to_hlo_sharding(sharding: TensorSharding, mesh: Mesh, manual_axes: ManualAxes = ()) -> HloSharding:
    """XLA's conversion to a sharding by tiles: V2, or V1 on a mesh with device ids.

    Open dimensions and priorities are not representable.

    Raises:
        ShardyError: an axis is not in `mesh`, or used twice.
    """
    if not mesh.axes:
        return HloSharding.maximal(mesh.device_ids[0]) if mesh.device_ids else HloSharding(REPLICATED)
    manual = _references(manual_axes)
    if mesh.sizes.keys() == {axis.name for axis in manual if not axis.sub_axis}:
        return HloSharding(MANUAL)
    NamedHloSharding(replace(sharding, mesh=mesh), manual).checked()
    if mesh.device_count == 1:
        return HloSharding(REPLICATED)
    lists = [dimension.axes for dimension in sharding.dimensions]
    behind = {MANUAL: manual, UNREDUCED: sharding.unreduced_axes}
    types = [type for type, axes in behind.items() if axes]
    lists += [behind[type] for type in types]
    tiles, replicas = _tiles(lists, sharding.replicated_axes, mesh)
    made = HloSharding.subgroup(tiles, [*types, REPLICATED] if replicas > 1 else types)
    return replace(made, reduction=sharding.reduction) if sharding.unreduced_axes else made


def to_named_hlo_sharding(sharding: TensorSharding, mesh: Mesh, manual_axes: ManualAxes = ()) -> HloSharding:
    """The sharding by mesh and axes (V3), without priorities."""
    dimensions = tuple(replace(dimension, priority=None) for dimension in sharding.dimensions)
    inlined = replace(sharding, mesh=mesh, dimensions=dimensions)
    return HloSharding(named=NamedHloSharding(inlined, _references(manual_axes)).checked())


def _references(axes: ManualAxes) -> Axes:
    return tuple(AxisRef(axis) if isinstance(axis, str) else axis for axis in axes)


def from_hlo_sharding(
    sharding: HloSharding, mesh: Mesh, rank: int, *, reference: str | None = None, is_open: bool = False
) -> TensorSharding:
    """The sharding along axes of `mesh` of a tensor of `rank` dimensions.

    reference: the name of the mesh, None to inline it. A sharding on one device has rank 0 and inlines a mesh
        of that device.
    is_open: whether the dimensions are open; those of `{unknown}` always are.

    Replicated subgroups do not become explicitly replicated axes; for manual axes see `manual_axes_of`.

    Raises:
        ShardyError: the tiles are no order of axes of the mesh, or have another rank or number of devices.
    """
    if sharding.named is not None:
        return _from_named(sharding.named, mesh, rank, reference, is_open=is_open)
    dimensions: list[Axes] = [()] * rank
    behind: dict[HloShardingType, Axes] = {}
    match sharding.type:
        case HloShardingType.TUPLE:
            got = f"the tuple {sharding}"
            raise ShardyError.unexpected("", expected="one sharding", got=got, remedy="convert its elements")
        case HloShardingType.MAXIMAL:
            return TensorSharding(Mesh((), sharding.tile_assignment_devices), ())
        case HloShardingType.OTHER if sharding.tile_assignment and sharding.tile_assignment.size > 1:
            dimensions, behind = _subgroup_axes(sharding, mesh)
        case HloShardingType.UNREDUCED:
            behind = {UNREDUCED: tuple(AxisRef(axis.name) for axis in mesh.axes)}
        case kind:
            is_open |= kind is HloShardingType.UNKNOWN
    if len(dimensions) != rank:
        raise _wrong_rank(str(sharding), len(dimensions), rank)
    unreduced = sort_and_merge(behind.get(UNREDUCED, ()), mesh)
    return TensorSharding(
        mesh if reference is None else reference,
        tuple(DimensionSharding(axes, not is_open) for axes in dimensions),
        unreduced_axes=unreduced,
        reduction=sharding.reduction if unreduced else "sum",
    )


def manual_axes_of(sharding: HloSharding, mesh: Mesh) -> Axes:
    """The axes of `mesh` along which the tensor is manual, in mesh order."""
    if sharding.named is not None:
        named = sharding.named
        if named.mesh == mesh or not named.manual_axes:
            return named.manual_axes
        sharding = _tiled(named)
    if sharding.type is HloShardingType.MANUAL:
        return tuple(AxisRef(axis.name) for axis in mesh.axes)
    if not sharding.is_tiled or MANUAL not in sharding.subgroup_types:
        return ()
    return sort_and_merge(_subgroup_axes(sharding, mesh)[1][MANUAL], mesh)


@dataclass(frozen=True, slots=True)
class HloDetails:
    """The parts of an `HloSharding` that a `TensorSharding` lacks.

    manual_axes: the axes along which the user has partitioned the tensor.
    metadata: ignored in comparisons.
    """

    manual_axes: Axes = ()
    shard_group: ShardGroup | None = None
    metadata: tuple[Metadata, ...] = field(default=(), compare=False)

    @staticmethod
    def of(sharding: HloSharding, mesh: Mesh) -> HloDetails:
        """Returns those of a sharding of one tensor over `mesh`."""
        return HloDetails(manual_axes_of(sharding, mesh), sharding.shard_group, sharding.metadata)

    def to_hlo(self, sharding: TensorSharding, mesh: Mesh) -> HloSharding:
        """Returns the sharding by tiles with these parts; raises as `to_hlo_sharding`."""
        made = to_hlo_sharding(sharding, mesh, self.manual_axes)
        return replace(made, shard_group=self.shard_group, metadata=self.metadata)


def position_digits(sharding: HloSharding, device_ids: Sequence[int]) -> tuple[tuple[Digit, ...], ...] | None:
    """For each dimension of the grid, its digits of the position in `device_ids`, or of the id without any.

    The order of replicas is irrelevant and taken as ascending. None if the tiles are not an order of digits.
    """
    tiles = sharding.tile_assignment
    assert tiles is not None
    if device_ids:
        positions = {device: position for position, device in enumerate(device_ids)}
        if any(device not in positions for device in tiles.devices):
            return None
        tiles = TileAssignment(tiles.dimensions, tuple(positions[device] for device in tiles.devices))
        if sharding.all_subgroup_types[-1:] == (REPLICATED,):
            tiles = tiles.with_sorted_groups(tiles.dimensions[-1])
    if tiles.is_iota:
        return split_digits(iota_digits(tiles.reshape_dims, tiles.transpose_perm), tiles.dimensions)
    digits = digits_of(tiles.device_list)
    return None if digits is None else split_digits(digits, tiles.dimensions)


def _tiles(lists: Sequence[Axes], replicated: Axes, mesh: Mesh) -> tuple[TileAssignment, int]:
    """The grid with a dimension for each list and one for the other axes; the number of replicas."""
    parts = split_like((axis for axes in (*lists, replicated) for axis in axes), mesh)
    place = {axis: index for index, axis in enumerate(parts)}
    order = [place[part] for axes in lists for axis in axes for part in parts if axis.contains(part)]
    rest = [index for index in range(len(parts)) if index not in set(order)]
    replicas = prod(parts[index].size(mesh) for index in rest)
    dimensions = [total_size(axes, mesh) for axes in lists] + ([replicas] if replicas > 1 else [])
    tiles = TileAssignment.iota(dimensions, [axis.size(mesh) for axis in parts], [*order, *rest])
    if mesh.device_ids:
        tiles = TileAssignment(tiles.dimensions, tuple(mesh.device_ids[i] for i in tiles.devices))
    return tiles, replicas


def _subgroup_axes(sharding: HloSharding, mesh: Mesh) -> tuple[list[Axes], dict[HloShardingType, Axes]]:
    tiles = sharding.tile_assignment
    assert tiles is not None
    if tiles.size != mesh.device_count:
        expected = f"{mesh.device_count} devices of the mesh {mesh}"
        raise ShardyError.unexpected(str(sharding), expected=expected, got=str(tiles.size))
    digits = position_digits(sharding, mesh.device_ids)
    axes = [] if digits is None else [axes_of_digits(parts, mesh) for parts in digits]
    found = [found for found in axes if found is not None]
    if len(found) != len(tiles.dimensions):
        raise ShardyError(f"{sharding} is not an order of axes or sub-axes of the mesh {mesh}")
    rank = sharding.tiled_data_rank
    behind = zip(sharding.all_subgroup_types, found[rank:], strict=True)
    return found[:rank], dict.fromkeys(SUBGROUP_TYPES, ()) | dict(behind)


def axes_of_digits(digits: Iterable[Digit], mesh: Mesh) -> Axes | None:
    """The axes and sub-axes of digits, major to minor; None if a digit splits an axis unevenly."""
    result: list[AxisRef] = []
    for size, stride in digits:
        low, high = stride, stride * size
        axis_high = mesh.device_count
        for axis in mesh.axes:
            axis_low = axis_high // axis.size
            start, end = min(high, axis_high), max(low, axis_low)
            if start > end:
                if axis_high % start or start % end or end % axis_low:
                    return None
                is_whole = (start, end) == (axis_high, axis_low)
                part = None if is_whole else SubAxis(axis_high // start, start // end)
                result.append(AxisRef(axis.name, part))
            axis_high = axis_low
    return tuple(result)


def _from_named(
    named: NamedHloSharding, mesh: Mesh, rank: int, reference: str | None, *, is_open: bool
) -> TensorSharding:
    if named.mesh.is_maximal:
        return TensorSharding(named.mesh, ())
    if named.sharding.dimensions and named.sharding.rank != rank:
        raise _wrong_rank(f"{{{named}}}", named.sharding.rank, rank)
    target = mesh if reference is None else reference
    given = named.sharding.dimensions or (DimensionSharding(is_closed=not is_open),) * rank
    if named.mesh == mesh:
        return replace(named.sharding, mesh=target, dimensions=given)
    tiled = _tiled(replace(named, sharding=replace(named.sharding, dimensions=given)))
    found = from_hlo_sharding(tiled, mesh, rank, reference=reference)
    pairs = zip(found.dimensions, given, strict=True)
    return replace(found, dimensions=tuple(replace(new, is_closed=old.is_closed) for new, old in pairs))


def _tiled(named: NamedHloSharding) -> HloSharding:
    return to_hlo_sharding(named.sharding, named.mesh, named.manual_axes)


def _wrong_rank(text: str, found: int, rank: int) -> ShardyError:
    return ShardyError.unexpected(text, expected=f"rank {rank} of the tensor", got=f"rank {found}")


AXIS_PREFIX = "_axis_"
"""The names of axes are this prefix and a number, 0 for the major-most."""

_ORDER_LIMIT = 16
"""The most lists of devices tried as the order of the mesh."""


def mesh_of_hlo_shardings(shardings: Iterable[HloSharding]) -> Mesh | None:
    """The common mesh: that of a sharding by mesh and axes if there is one.

    None if no sharding is tiled: then any mesh is suitable.

    Raises:
        ShardyError: all shardings are not representable on one mesh.
    """
    leaves = dict.fromkeys(leaf for sharding in shardings for leaf in sharding.leaves)
    for leaf in leaves:
        if leaf.named is not None and leaf.named.mesh.axes:
            return leaf.named.mesh
    grids = ((leaf, leaf.tile_assignment) for leaf in leaves if leaf.is_tiled)
    tiled = [leaf for leaf, tiles in grids if tiles and tiles.size > 1]
    if not tiled:
        return None
    _check_sizes(tiled)
    # Replicas are in ascending order, not in that of the mesh: lists without replicas come first.
    likely_first = sorted(tiled, key=lambda leaf: REPLICATED in leaf.all_subgroup_types)
    lists = (leaf.tile_assignment.device_list for leaf in likely_first if leaf.tile_assignment)
    orders = [(), *dict.fromkeys(order for order in lists if order)][:_ORDER_LIMIT]
    for order in orders:
        mesh = _mesh_in_order(tiled, order)
        if mesh is not None:
            return mesh
    texts = ", ".join(map(str, tiled[:4])) + (", ..." if len(tiled) > 4 else "")
    raise ShardyError(
        Diagnostic(f"not representable on one mesh: {texts}", remedy="set the axes of their mesh: mesh-axes")
    )


def _check_sizes(tiled: Sequence[HloSharding]) -> None:
    first = tiled[0]
    for other in tiled:
        counts = [leaf.tile_assignment.size if leaf.tile_assignment else 0 for leaf in (first, other)]
        if counts[0] != counts[1]:
            expected = f"{counts[0]} devices, as of {first}"
            raise ShardyError.unexpected(str(other), expected=expected, got=str(counts[1]))


def _mesh_in_order(tiled: Sequence[HloSharding], order: tuple[int, ...]) -> Mesh | None:
    """The mesh over devices in `order` (empty: 0, 1, ...); None if the strides do not divide each other."""
    strides: set[int] = set()
    for leaf in tiled:
        dimensions = position_digits(leaf, order)
        if dimensions is None:
            return None
        for size, stride in (digit for digits in dimensions for digit in digits):
            strides |= {stride, stride * size}
    ordered = sorted(strides | {1}, reverse=True)
    if any(high % low for high, low in pairwise(ordered)):
        return None
    sizes = [high // low for high, low in pairwise(ordered)]
    axes = (MeshAxis(f"{AXIS_PREFIX}{index}", size) for index, size in enumerate(sizes))
    return Mesh(tuple(axes), order)
