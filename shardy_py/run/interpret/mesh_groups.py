"""Groups of ids from the attributes of collectives: dense lists, and axes of a mesh.

>>> groups_along(Mesh.of(x=2, y=4), (("y", 1, 2),))
((0, 2), (1, 3), (4, 6), (5, 7))
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.device_groups import Groups, listed_groups
from shardy_py.mlir.dialects.stablehlo.attributes import AxisRefAttr, MeshAttr
from shardy_py.mlir.dialects.stablehlo.structs import ReplicaGroupMeshAxes, StablehloAxisRef
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.builtin_attributes import is_dense
from shardy_py.mlir.typed import of_kind
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.run.interpret.constants import array_of
from shardy_py.sharding import AxisRef, Mesh, SubAxis
from shardy_py.sharding.spelling import unknown_axis

AxisPart = tuple[str, int, int]
"""An axis of a mesh, the devices of the axis before its part, and the size of the part."""


def groups_of(attribute: Attribute, symbols: Symbols) -> Groups:
    """Returns the groups that an attribute lists, without the -1 that fills shorter ones.

    Raises:
        ShardyError: it names a mesh that the module lacks.
    """
    named = getattr(attribute, "data", None)
    if isinstance(named, ReplicaGroupMeshAxes):
        mesh = _mesh(named.mesh, symbols)
        return groups_along(
            mesh,
            tuple(
                _sub_axis(of_kind(axis, AxisRefAttr).data, mesh) for axis in of_kind(named.axes, ArrayAttr)
            ),
        )
    if is_dense(attribute):
        return listed_groups(attribute)
    raise ShardyError.unsupported("a list of groups that is not dense")


def groups_along(mesh: Mesh, axes: Sequence[AxisPart]) -> Groups:
    """Returns the groups of devices that differ in these axes only, in the order of the axes."""
    references = (
        AxisRef(name) if (pre, size) == (1, mesh.sizes[name]) else AxisRef(name, SubAxis(pre, size))
        for name, pre, size in axes
    )
    return tuple(map(tuple, replica_groups(mesh, tuple(references)).tolist()))


def _mesh(attribute: Attribute, symbols: Symbols) -> Mesh:
    if isinstance(attribute, SymbolRefAttr):
        mesh = symbols.mesh(attribute.string_value())
        if mesh is None:
            raise ShardyError(f"replica_groups: mesh symbol '{attribute.string_value()}' not found")
        return mesh
    inlined = of_kind(attribute, MeshAttr).data
    ids = () if inlined.device_ids is None else array_of(inlined.device_ids).tolist()
    return Mesh.of({axis.name: axis.size for axis in inlined.axes}, device_ids=ids)


def _sub_axis(reference: StablehloAxisRef, mesh: Mesh) -> AxisPart:
    if reference.name not in mesh.sizes:
        raise unknown_axis(reference.name, mesh.sizes, what="replica_groups")
    part = reference.sub_axis_info
    return (
        (reference.name, 1, mesh.sizes[reference.name])
        if part is None
        else (reference.name, part.pre_size, part.size)
    )
