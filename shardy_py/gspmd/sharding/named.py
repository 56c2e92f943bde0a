"""XLA's shardings by mesh and axes (HloSharding V3), which are sdy's in another spelling.

    {mesh['x'=4,'y'=2], [{'x':(1)2}, {'y', ?}], replicated={'x':(2)2}}

Such a sharding is a `TensorSharding` with its mesh inlined, and the axes that are manual. Not here: reading
it (`named_text.py`), the proto (`named_proto.py`).

>>> from shardy_py.sharding.mesh import MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2),))
>>> str(NamedHloSharding(TensorSharding(mesh, (DimensionSharding((AxisRef("x"),), is_closed=True),))))
"mesh['x'=2], [{'x'}]"
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding


@dataclass(frozen=True)
class NamedHloSharding:
    """A sharding by mesh and axes.

    sharding: its mesh is inlined; priorities cannot be spelled.
    manual_axes: the axes along which the user has partitioned the tensor.
    """

    sharding: TensorSharding
    manual_axes: tuple[AxisRef, ...] = ()

    @property
    def mesh(self) -> Mesh:
        """The mesh, which a sharding of XLA always carries."""
        assert isinstance(self.sharding.mesh, Mesh)
        return self.sharding.mesh

    def __str__(self) -> str:
        """As XLA spells it, without braces."""
        mesh, sharding = mesh_text(self.mesh), self.sharding
        if self.mesh.is_maximal:
            return mesh
        reduction = "" if sharding.reduction == "sum" else sharding.reduction
        groups = (
            ("replicated", "", sharding.replicated_axes),
            ("unreduced", reduction, sharding.unreduced_axes),
            ("manual", "", self.manual_axes),
        )
        if not sharding.dimensions:
            for word, reduced, axes in groups[1:]:
                if axes and total_size(axes, self.mesh) == self.mesh.device_count:
                    return f"{mesh}, {word}{'=' if reduced else ''}{reduced}"
            if not any(axes for *_, axes in groups):
                return f"{mesh}, replicated"
        dimensions = ", ".join(map(_dimension_text, sharding.dimensions))
        lists = "".join(f", {word}={reduced}{{{_axes_text(axes)}}}" for word, reduced, axes in groups if axes)
        return f"{mesh}, [{dimensions}]{lists}"


def check_named(named: NamedHloSharding) -> None:
    """Raise a `ShardyError` unless every axis is in the mesh and no two overlap."""
    sharding, mesh = named.sharding, named.mesh
    axes = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    axes += [*sharding.replicated_axes, *sharding.unreduced_axes, *named.manual_axes]
    for index, axis in enumerate(axes):
        if axis.name not in mesh.sizes:
            known = ", ".join(f"'{name}'" for name in mesh.sizes) or "none"
            raise ShardyError(f"the sharding names axis '{axis.name}'; its mesh has: {known}")
        size = mesh.sizes[axis.name]
        if axis.sub_axis and (axis.sub_axis.pre_size < 1 or size % max(axis.sub_axis.next_pre_size, 1)):
            raise ShardyError(
                f"sub-axis {_axis_text(axis)} does not divide axis '{axis.name}' of size {size}"
            )
        for other in axes[:index]:
            if axis.overlaps(other) or not axis.can_coexist(other):
                raise ShardyError(f"axes {_axis_text(other)} and {_axis_text(axis)} of the sharding overlap")


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
    if len(iota.reshape_dims) == 1:
        return ""
    sizes, perm = (",".join(map(str, values)) for values in (iota.reshape_dims, iota.transpose_perm))
    return f", device_ids=([{sizes}]T({perm}))"


def _dimension_text(dimension: DimensionSharding) -> str:
    parts = [*map(_axis_text, dimension.axes), *([] if dimension.is_closed else ["?"])]
    return f"{{{', '.join(parts)}}}"


def _axes_text(axes: Iterable[AxisRef]) -> str:
    return ", ".join(map(_axis_text, axes))


def _axis_text(axis: AxisRef) -> str:
    return f"'{axis.name}':{axis.sub_axis}" if axis.sub_axis else f"'{axis.name}'"
