"""Tilings of groups of devices, each of which works as if the others were not there.

The partitioner splits some dimensions of a tiling among groups and treats the rest as a tiling of the devices
of one group (openxla/xla, `GroupShardingOnDims` in xla/hlo/utils/hlo_sharding_util.cc and `AlignGroupsWith`
in xla/service/spmd/spmd_partitioner_util.cc).

>>> from shardy_py.sharding import Mesh
>>> tiling = Tiling.of(Mesh.of(x=2, y=2), [("y",), ("x",)])
>>> grouped = group_on(tiling, [0])
>>> grouped.groups, grouped.tiling.dimensions, grouped.tiling.devices
(((0, 2), (1, 3)), (1, 2), (0, 1))
>>> ungrouped(grouped) == tiling
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.xla.spmd.device_grid import DeviceGrid
from shardy_py.xla.spmd.tiling import Tiling

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """A tiling as one of groups, and one of the devices in each group.

    groups: the devices of each. dimensions: those that are split among groups; the rank of the tensor stands
    for the replicas. sizes: in how many parts each is split among groups. tiling: in each group, of the
    numbers 0, 1, 2, ... of its devices. names: the devices of the mesh that those of the groups stand for, as
    in `Tiling`.
    """

    groups: Groups
    dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    tiling: Tiling
    names: tuple[int, ...] = field(default=(), compare=False, repr=False)


def group_on(tiling: Tiling, dimensions: Sequence[int], shards: Sequence[int] | None = None) -> Grouped:
    """Splits `dimensions` among groups, except for the minor `shards` tiles of each; by default one."""
    left = [1] * len(dimensions) if shards is None else list(shards)
    inside = [*tiling.dimensions, tiling.replicas]
    sizes = [inside[dimension] // shard for dimension, shard in zip(dimensions, left, strict=True)]
    for dimension, shard in zip(dimensions, left, strict=True):
        inside[dimension] = shard
    split: list[int] = []
    major: dict[int, int] = {}
    for i, size in enumerate([*tiling.dimensions, tiling.replicas]):
        major[i] = len(split)
        split += [size // inside[i], inside[i]]
    outer = [major[dimension] for dimension in dimensions]
    rest = [i for i in range(len(split)) if i not in outer]
    cells = DeviceGrid((*split,), tiling.cells.devices).transposed([*outer, *rest])
    listed = (*map(tuple, cells.rows(prod(inside))),)
    names = tiling.named(listed[0])
    inner = Tiling.from_grid(DeviceGrid((*inside,), range(prod(inside))), tiling.rank, names)
    return Grouped(listed, tuple(dimensions), tuple(sizes), inner, tiling.names)


def group_except(tiling: Tiling, dimensions: Sequence[int]) -> Grouped:
    """Splits all dimensions but `dimensions` among groups, and the replicas of a partial tiling."""
    return group_on(tiling, [i for i in range(len(tiling.grid_dimensions)) if i not in dimensions])


def ungrouped(grouped: Grouped) -> Tiling:
    """The tiling of all devices: the inverse of `group_on`."""
    inside = [*grouped.tiling.dimensions, grouped.tiling.replicas]
    rank = grouped.tiling.rank
    devices = [group[place] for group in grouped.groups for place in grouped.tiling.devices]
    count = len(grouped.dimensions)
    order: list[int] = []
    for i in range(rank + 1):
        order += [at for at, dimension in enumerate(grouped.dimensions) if dimension == i]
        order.append(count + i)
    sizes = list(inside)
    for dimension, size in zip(grouped.dimensions, grouped.sizes, strict=True):
        sizes[dimension] *= size
    cells = DeviceGrid((*grouped.sizes, *inside), devices).transposed(order)
    return Tiling.from_grid(DeviceGrid((*sizes,), cells.devices), rank, grouped.names)


def aligned(grouped: Grouped, reference: Grouped, *, ignore_order: bool = False) -> Grouped:
    """The grouped tiling with the groups of `reference`.

    Where each group has the devices of a group of `reference` (the one at its place unless `ignore_order`),
    the devices are renumbered, else the groups are replaced and the data moves.
    """
    if grouped.groups == reference.groups:
        return grouped
    positions = {device: (g, i) for g, group in enumerate(reference.groups) for i, device in enumerate(group)}
    matches = True
    for index, group in enumerate(grouped.groups):
        found = {positions[device][0] for device in group}
        matches &= len(found) == 1 and (ignore_order or found == {index})
    tiling = grouped.tiling
    if matches and not tiling.is_replicated:
        numbers = [positions[device][1] for device in grouped.groups[0]]
        moved = [numbers[place] for place in tiling.devices]
        tiling = Tiling.from_grid(tiling.cells._replace(devices=moved), tiling.rank)
    tiling = replace(tiling, names=reference.tiling.names)
    return replace(grouped, groups=reference.groups, tiling=tiling)
