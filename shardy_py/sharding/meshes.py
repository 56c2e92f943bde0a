"""Meshes by name: the mesh of a sharding, and the common mesh of several.

>>> from shardy_py.sharding.mesh import MeshAxis
>>> meshes = {"mesh": Mesh((MeshAxis("x", 2),)), "one": Mesh(device_ids=(0,))}
>>> is_single_device(TensorSharding("one", ()), meshes), common_mesh((TensorSharding("mesh", ()),), meshes)
(True, 'mesh')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from shardy_py.base.errors import ShardyError
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import TensorSharding

Meshes = Mapping[str, Mesh]
"""Meshes by symbol."""


def mesh_of(sharding: TensorSharding, meshes: Meshes) -> Mesh:
    """The mesh that `sharding` names or inlines."""
    return resolve(sharding.mesh, meshes)


def resolve(mesh: str | Mesh, meshes: Meshes) -> Mesh:
    """Returns an inlined mesh itself, else the mesh of that name; raises ShardyError if there is none."""
    resolved = mesh if isinstance(mesh, Mesh) else meshes.get(mesh)
    if resolved is None:
        raise ShardyError.unknown("mesh", f"@{mesh}", [f"@{name}" for name in meshes])
    return resolved


def is_single_device(sharding: TensorSharding | None, meshes: Meshes) -> bool:
    """Returns whether the tensor is on one given device."""
    return sharding is not None and mesh_of(sharding, meshes).is_maximal


def meshes_with_axes(meshes: Meshes) -> dict[str, Mesh]:
    """The meshes that a tensor can be sharded on: neither empty, as JAX gives scalars, nor maximal.

    Of equal ones the first: JAX may have another name for the mesh of replica groups.

    >>> mesh = Mesh.of(x=2)
    >>> known = {"mesh": mesh, "empty_mesh": Mesh(), "one": Mesh(device_ids=(0,)), "mesh_0": mesh}
    >>> list(meshes_with_axes(known))
    ['mesh']
    """
    first: dict[Mesh, str] = {}
    for name, mesh in meshes.items():
        if mesh.axes:
            first.setdefault(mesh, name)
    return {name: mesh for mesh, name in first.items()}


def common_mesh(shardings: Iterable[TensorSharding | None], meshes: Meshes) -> str | Mesh | None:
    """The mesh of all shardings up to the order of devices, in iota order if one of them is.

    None if there is none, or several. Empty meshes count only if all are empty.
    """
    name: str | Mesh | None = None
    mesh: Mesh | None = None
    for sharding in shardings:
        if sharding is None:
            continue
        other = mesh_of(sharding, meshes)
        if mesh is None or mesh == Mesh():
            name, mesh = sharding.mesh, other
        elif other != Mesh():
            if other.is_maximal != mesh.is_maximal or other.axes != mesh.axes:
                return None
            if not other.device_ids:
                name, mesh = sharding.mesh, other
    return name


def mesh_to_work_in(shardings: Sequence[TensorSharding | None], meshes: Meshes) -> str | Mesh | None:
    """The mesh for an op on tensors with `shardings`: the most frequent one of sharded tensors.

    None if there is no common mesh, or it is a single device.
    """
    best = common_mesh(shardings, meshes)
    if best is None or resolve(best, meshes).is_maximal:
        return None
    counts: Counter[str | Mesh] = Counter()
    highest = 0
    for sharding in shardings:
        if sharding is not None and not sharding.is_fully_replicated:
            counts[sharding.mesh] += 1
            if counts[sharding.mesh] > highest:
                best, highest = sharding.mesh, counts[sharding.mesh]
    return best
