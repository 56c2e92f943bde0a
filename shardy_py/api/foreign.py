"""Meshes and shardings of JAX and PyTorch, converted by their frontends, which are imported when used.

    foreign_sharding(NamedSharding(mesh, PartitionSpec("data")), meshes, (8, 8))

Not here: the conversions (`frontends/`), partition specs (`partition_spec.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex, TypeGuard, cast

from shardy_py.api.arguments import shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.extensions import extension
from shardy_py.sharding import Mesh

MeshLike = Any
"""A `Mesh`, sizes by axis, a `Mesh` or `AbstractMesh` of JAX, or a `DeviceMesh` of torch."""
_FRONTENDS = {"jax": "jax", "jaxlib": "jax", "torch": "torch.placements"}
"""The frontend that converts objects of a package, by the name of the package."""


def as_mesh(mesh: object) -> Mesh:
    """Returns a mesh itself, or the one of sizes by axis, of JAX's meshes, of torch's `DeviceMesh`.

    Raises:
        ShardyError: it is none of these.

    >>> str(as_mesh({"data": 4}))
    '<["data"=4]>'
    """
    if isinstance(mesh, Mesh):
        return mesh
    package = _package(mesh)
    if package:
        return extension(_FRONTENDS[package]).mesh_of(mesh)
    if not isinstance(mesh, Mapping):
        remedy = "an array of devices has no names of axes" if hasattr(mesh, "ndim") else ""
        expected = "a Mesh such as Mesh.of(data=4)"
        raise ShardyError.unexpected("", expected=expected, got=shown(mesh), remedy=remedy)
    return Mesh.of(cast("Mapping[str, int]", mesh))


def is_mesh(value: object) -> bool:
    """Returns whether a value is one mesh, and not several.

    >>> is_mesh({"data": 4}), is_mesh([{"data": 4}])
    (True, False)
    """
    is_foreign = _package(value) != "" and hasattr(value, "shape")
    return isinstance(value, Mesh | Mapping | str) or is_foreign


def has_sizes(meshes: Mapping[Any, Any]) -> bool:
    """Returns whether a mapping is a mesh, with sizes by axis, and not meshes by name.

    >>> has_sizes({"data": 4}), has_sizes({"mesh": Mesh.of(data=4)})
    (True, False)
    """
    return bool(meshes) and all(isinstance(size, SupportsIndex) for size in meshes.values())


def foreign_sharding(given: object, meshes: Mapping[str, Mesh], shape: Sequence[int | None] | None) -> object:
    """Returns the `Sharding` of JAX's `NamedSharding` or of DTensor's placements; None for anything else.

    meshes: those it can be on, one of which has a dimension for each placement. shape: of the tensor.

    Raises:
        ShardyError: a sharding cannot express it, or no mesh or several have as many dimensions.
    """
    parts: Sequence[object] = given if _is_listed(given) else (given,)
    if any(_package(part) == "torch" for part in parts):
        convert = extension(_FRONTENDS["torch"]).from_placements
        return convert(_mesh_of_placements(parts, meshes), given, tuple(map(_static, shape or ())))
    if not _package(given) or hasattr(type(given), "__iter__") or hasattr(given, "partitions"):
        return None
    sharding = extension(_FRONTENDS["jax"]).from_named_sharding(given)
    # JAX numbers the devices of a program by its first mesh, so equal axes are the same mesh.
    alike = (mesh for mesh in meshes.values() if mesh.axes == sharding.mesh.axes)
    return type(sharding)(next(alike, sharding.mesh), sharding.value)


def _mesh_of_placements(placements: Sequence[object], meshes: Mapping[str, Mesh]) -> Mesh:
    fitting = [mesh for mesh in meshes.values() if len(mesh.axes) == len(placements)]
    if len(fitting) == 1 or (fitting and len(meshes) == 1):
        return fitting[0]
    expected = f"one mesh of {len(placements)} dimensions in the program, one for each placement"
    got = ", ".join(f"@{name} {mesh}" for name, mesh in meshes.items()) or "none"
    remedy = "use Sharding(mesh, P(...)), or add a mesh: program.with_mesh(mesh)"
    what = f"placements {shown(placements)}"
    raise ShardyError.unexpected(what, expected=expected, got=got, remedy=remedy)


def _is_listed(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


def _static(size: int | None) -> int:
    if size is None:
        raise ShardyError.unexpected("placements", expected="a tensor of static shape", got="a dynamic size")
    return index(size)


def _package(value: object) -> str:
    """The package of `_FRONTENDS` that the type of a value belongs to; "" if it is none of these."""
    packages = (kind.__module__.partition(".")[0] for kind in type(value).__mro__)
    return next((package for package in packages if package in _FRONTENDS), "")
