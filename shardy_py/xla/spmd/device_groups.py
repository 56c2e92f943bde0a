"""The mesh axes of collectives that list groups of devices, as programs have them in manual computations.

Not here: collectives along axes (`collect.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from operator import ne
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from shardy_py.base.session import SESSION
from shardy_py.hardware.cost import AxisSize
from shardy_py.mlir.device_groups import Groups, listed_groups
from shardy_py.mlir.dialects.stablehlo.structs import ReplicaGroupMeshAxes, StablehloAxisRef, StablehloMesh
from shardy_py.sharding import AxisRef, Mesh, MeshAxis
from shardy_py.sharding.slices import axis_stride
from shardy_py.xla.spmd.device_grid import DeviceGrid

UNKNOWN_AXIS = "?"


def axes_of_devices(op: Operation, meshes: Mapping[str, Mesh]) -> tuple[AxisSize, ...]:
    """Returns the axes along which the groups of the op differ; one of name "?" if no axes have such groups.

    meshes: the most likely first. A group of some of the devices along an axis counts as along it.
    """
    pairs = op.properties.get("source_target_pairs")
    if pairs is not None:
        return _permuted_axes(listed_groups(pairs), tuple(meshes.values()))
    groups = op.properties.get("replica_groups") or _configured_groups(op)
    named = getattr(groups, "data", None)
    if isinstance(named, ReplicaGroupMeshAxes):
        return _named_axes(named, meshes)
    rows = () if groups is None else listed_groups(groups)
    return _axes_of_groups(rows, tuple(meshes.values())) if rows else ()


def _configured_groups(op: Operation) -> Attribute | None:
    """The groups in the configuration of a custom call."""
    config = op.properties.get("backend_config")
    return config.data.get("replica_groups") if isinstance(config, DictionaryAttr) else None


def axes_of_collective(
    group: tuple[int, ...], meshes: tuple[Mesh, ...], *, is_permute: bool
) -> tuple[AxisSize, ...]:
    """Returns the axes and sub-axes along which the devices of one group differ; () if they are not axes.

    is_permute: the group has senders, each with its receiver behind it, and the axes are those along which
    some pair differs.
    """
    if is_permute:
        pairs = tuple(zip(group[::2], group[1::2], strict=True))
        return _permuted_axes(pairs, meshes)
    for mesh in meshes:
        if mesh.axes and mesh.device_count > max(group, default=0):
            found = _axes_of_group(group, mesh)
            if found:
                return found
    return ()


@SESSION.cache(4096)
def _axes_of_group(group: tuple[int, ...], mesh: Mesh) -> tuple[AxisSize, ...]:
    """Returns the axes of a group that has all devices along them, from any device on; () if it has not."""
    found: list[AxisSize] = []
    for axis, at in zip(mesh.axes, zip(*_coordinates(group, mesh), strict=True), strict=True):
        parts = _strided(sorted({*at}), axis.size)
        if parts is None:
            return ()
        for stride, count in parts:
            if count > 1:
                major = axis.size // (stride * count)
                name = axis.name if count == axis.size else f"{axis.name}:({major}){count}"
                found.append((name, count))
    return tuple(found) if prod(size for _, size in found) == len(set(group)) else ()


def _strided(places: list[int], size: int) -> list[tuple[int, int]] | None:
    """Returns strides and counts, major to minor, whose sums are the offsets of the places; None if none are.

    >>> _strided([0, 1, 4, 5], 8), _strided([0, 3], 8)
    ([(4, 2), (1, 2)], None)
    """
    offsets, found = [place - places[0] for place in places], list[tuple[int, int]]()
    while len(offsets) > 1:
        stride = offsets[1]
        count = next((n for n, offset in enumerate(offsets) if offset != n * stride), len(offsets))
        period = stride * count
        if size % period or len(offsets) % count:
            return None
        rest = offsets[::count]
        if offsets != [start + k * stride for start in rest for k in range(count)]:
            return None
        found.insert(0, (stride, count))
        offsets = rest
    return found


def _named_axes(groups: ReplicaGroupMeshAxes, meshes: Mapping[str, Mesh]) -> tuple[AxisSize, ...]:
    """Returns the mesh axes that the op names; sub-axes count with their own sizes."""
    mesh: Mesh | StablehloMesh | None = (
        meshes.get(groups.mesh.string_value())
        if isinstance(groups.mesh, SymbolRefAttr)
        else getattr(groups.mesh, "data", None)
    )
    sizes = {} if mesh is None else {axis.name: axis.size for axis in mesh.axes}
    axis_sizes: list[AxisSize] = []
    for reference in cast(Any, groups.axes).data:
        axis = getattr(reference, "data", None)
        if isinstance(axis, StablehloAxisRef):
            part: Any = axis.sub_axis_info
            axis_sizes.append((axis.name, sizes.get(axis.name, 1) if part is None else part.size))
    return tuple(axis_sizes)


@SESSION.cache(1024)
def _axes_of_groups(groups: Groups, meshes: tuple[Mesh, ...]) -> tuple[AxisSize, ...]:
    wanted = frozenset(map(frozenset, groups))
    count = sum(map(len, groups))
    highest = max((device for group in groups for device in group), default=-1)
    fitting = [mesh for mesh in meshes if mesh.device_count == count > highest]
    for mesh in fitting:
        sizes = tuple(axis.size for axis in mesh.axes)
        devices = DeviceGrid(sizes, mesh.device_ids or range(mesh.device_count))
        for count in range(len(sizes) + 1):
            for axes in combinations(range(len(sizes)), count):
                rest = [axis for axis in range(len(sizes)) if axis not in axes]
                size = prod(sizes[axis] for axis in axes)
                if size * len(groups) != mesh.device_count:
                    continue
                if wanted == frozenset(map(frozenset, devices.transposed((*rest, *axes)).rows(size))):
                    return tuple((mesh.axes[axis].name, sizes[axis]) for axis in axes)
    most = max(map(len, groups))
    names = [axis.name for axis in _differing_axes(groups, fitting[0])] if fitting else []
    return ((names[0] if len(names) == 1 else UNKNOWN_AXIS, most),)


@SESSION.cache(1024)
def _permuted_axes(pairs: Groups, meshes: tuple[Mesh, ...]) -> tuple[AxisSize, ...]:
    """Returns the axes along which a sender and its receiver differ."""
    highest = max((device for pair in pairs for device in pair), default=-1)
    for mesh in meshes:
        if not mesh.is_maximal and mesh.device_count > highest:
            return tuple((axis.name, axis.size) for axis in _differing_axes(pairs, mesh))
    return ((UNKNOWN_AXIS, highest + 1),) if pairs else ()


def _differing_axes(groups: Groups, mesh: Mesh) -> list[MeshAxis]:
    """Returns the axes along which devices of a group differ."""
    differs = [False] * len(mesh.axes)
    for group in groups:
        first, *others = _coordinates(group, mesh)
        for place in others:
            moved = map(ne, first, place)
            differs = [known or differing for known, differing in zip(differs, moved, strict=True)]
    return [axis for axis, moved in zip(mesh.axes, differs, strict=True) if moved]


def _coordinates(devices: Sequence[int], mesh: Mesh) -> list[list[int]]:
    """The coordinates of devices along the axes of a mesh."""
    at = {device: position for position, device in enumerate(mesh.device_ids)}
    axes = [(axis_stride(mesh, AxisRef(axis.name)), axis.size) for axis in mesh.axes]
    places = (at.get(device, device) for device in devices)
    return [[place // stride % size for stride, size in axes] for place in places]
