"""XLA's shardings by mesh and axes (HloSharding V3): those of sdy in another notation.

    {mesh['x'=4,'y'=2], [{'x':(1)2}, {'y', ?}], replicated={'x':(2)2}}

Such a sharding is a `TensorSharding` with an inlined mesh, and the manual axes. Not here: parsing it
(`named_text.py`), the protocol buffer (`named_proto.py`).

>>> x = DimensionSharding((AxisRef("x"),), is_closed=True)
>>> str(NamedHloSharding(TensorSharding(Mesh.of(x=2), (x,))))
"mesh['x'=2], [{'x'}]"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shardy_py.errors import ShardyError
from shardy_py.gspmd.sharding.tile_assignment import TileAssignment
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import check_axes, total_size
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

GROUPS = ("replicated", "unreduced", "manual")
"""The words before the lists of axes that shard no dimension."""
REDUCTIONS = ("sum", "max", "min")
"""The reductions along unreduced axes, by their numbers in the protocol buffer."""


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
        """The text of XLA, without braces."""
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
        behind = (f", {word}={how}{{{_axes_text(axes)}}}" for word, how, axes in groups if axes)
        return f"{mesh}, [{dimensions}]{''.join(behind)}"

    def checked(self) -> NamedHloSharding:
        """Returns the sharding itself.

        Raises:
            ShardyError: an axis is not in the mesh, or two axes overlap.
        """
        check_axes([*self.sharding.axis_lists, ("manual axes", self.manual_axes)], self.mesh)
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
    if reshape_dims or transpose_perm:
        device_ids = TileAssignment.checked((mesh.device_count,), (), reshape_dims, transpose_perm).devices
    is_in_order = bool(axes) and tuple(device_ids) == tuple(range(mesh.device_count))
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
