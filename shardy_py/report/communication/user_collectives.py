"""The collectives that a program itself has, inside manual computations: over which axes of the mesh they go.

Not here: those that propagation brings about (`collect.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from shardy_py.dialects.stablehlo.structs import AxisRef, ReplicaGroupMeshAxes
from shardy_py.graph.plain import plain
from shardy_py.partition.cost import AxisSize
from shardy_py.sharding import Mesh, MeshAxis

USER_KINDS = {
    "stablehlo.all_gather": "all_gather",
    "stablehlo.all_reduce": "all_reduce",
    "stablehlo.all_to_all": "all_to_all",
    "stablehlo.collective_broadcast": "collective_broadcast",
    "stablehlo.collective_permute": "collective_permute",
    "stablehlo.reduce_scatter": "reduce_scatter",
}
"""Kinds by the names of ops."""

UNKNOWN_AXIS = "?"
Groups = tuple[tuple[int, ...], ...]


def user_axes(op: Operation, meshes: Mapping[str, Mesh]) -> tuple[AxisSize, ...]:
    """The axes whose groups of devices are those of the op; one of name "?" where none fit.

    meshes: the likeliest first. Devices that are part of those along one axis count as along it.
    """
    if op.name == "stablehlo.collective_permute":
        pairs: Any = plain(op.properties["source_target_pairs"])
        return _permuted_axes(_rows(pairs), tuple(meshes.values()))
    named: Any = getattr(op.properties["replica_groups"], "data", None)
    if isinstance(named, ReplicaGroupMeshAxes):
        return _named_axes(named, meshes)
    groups: Any = plain(op.properties["replica_groups"])
    rows = _rows(groups) if isinstance(groups, tuple) else ()
    return _axes_of_groups(rows, tuple(meshes.values())) if rows else ()


def _named_axes(groups: ReplicaGroupMeshAxes, meshes: Mapping[str, Mesh]) -> tuple[AxisSize, ...]:
    """The axes of a mesh that the op names; parts of axes count with their own sizes."""
    mesh = meshes.get(groups.mesh.string_value()) if isinstance(groups.mesh, SymbolRefAttr) else None
    sizes = {} if mesh is None else {axis.name: axis.size for axis in mesh.axes}
    found: list[AxisSize] = []
    for reference in cast(Any, groups.axes).data:
        axis = getattr(reference, "data", None)
        if isinstance(axis, AxisRef):
            part: Any = axis.sub_axis_info
            found.append((axis.name, sizes.get(axis.name, 1) if part is None else part.size))
    return tuple(found)


def _rows(table: Any) -> Groups:
    """The groups; shorter ones are filled up with -1."""
    return tuple(tuple(device for device in row if device >= 0) for row in cast("Groups", table or ()))


@lru_cache(maxsize=1024)
def _axes_of_groups(groups: Groups, meshes: tuple[Mesh, ...]) -> tuple[AxisSize, ...]:
    wanted = frozenset(map(frozenset, groups))
    fitting = [mesh for mesh in meshes if mesh.device_count == sum(map(len, groups))]
    for mesh in fitting:
        sizes = tuple(axis.size for axis in mesh.axes)
        devices = np.array(mesh.device_ids or range(mesh.device_count)).reshape(sizes)
        for count in range(len(sizes) + 1):
            for axes in combinations(range(len(sizes)), count):
                rest = [axis for axis in range(len(sizes)) if axis not in axes]
                rows = devices.transpose((*rest, *axes)).reshape(-1, prod(sizes[axis] for axis in axes))
                if rows.shape[0] == len(groups) and wanted == frozenset(map(frozenset, rows.tolist())):
                    return tuple((mesh.axes[axis].name, sizes[axis]) for axis in axes)
    most = max(map(len, groups))
    names = [axis.name for axis in _differing_axes(groups, fitting[0])] if fitting else []
    return ((names[0] if len(names) == 1 else UNKNOWN_AXIS, most),)


@lru_cache(maxsize=1024)
def _permuted_axes(pairs: Groups, meshes: tuple[Mesh, ...]) -> tuple[AxisSize, ...]:
    """The axes along which a sender and its receiver differ."""
    highest = max((device for pair in pairs for device in pair), default=-1)
    for mesh in meshes:
        if not mesh.is_maximal and mesh.device_count > highest:
            return tuple((axis.name, axis.size) for axis in _differing_axes(pairs, mesh))
    return ((UNKNOWN_AXIS, highest + 1),) if pairs else ()


def _differing_axes(groups: Groups, mesh: Mesh) -> list[MeshAxis]:
    """The axes along which devices of a group differ."""
    positions = np.argsort(mesh.device_ids) if mesh.device_ids else np.arange(mesh.device_count)
    grid = np.array(np.unravel_index(positions, tuple(axis.size for axis in mesh.axes)))
    differs = np.zeros(len(mesh.axes), bool)
    for group in groups:
        places = grid[:, list(group)]
        differs |= (places != places[:, :1]).any(axis=1)
    return [axis for axis, moved in zip(mesh.axes, differs, strict=True) if moved]
