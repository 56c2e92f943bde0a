"""Groups of devices along axes of a mesh, and the position of each device along them, as arrays.

Not here: the attributes of ops that name groups (`localize/local_collectives.py`), the slice that a
device holds (`sharding/slices.py`).

>>> mesh = Mesh.of(x=2, y=3)
>>> replica_groups(mesh, (AxisRef("x"),)).tolist()
[[0, 3], [1, 4], [2, 5]]
>>> shard_indices(mesh, (AxisRef("y"), AxisRef("x"))).tolist()
[0, 2, 4, 1, 3, 5]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import Axes, difference, split_like
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.slices import axis_stride, listed, positions_along
from shardy_py.sharding.tensor_sharding import TensorSharding

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"


def device_ids(mesh: Mesh) -> Integers:
    """[devices]: the device at each position of the mesh, row-major over its axes.

    Raises ShardyError if there are more than `sharding.slices.MOST_LISTED`.
    """
    return np.asarray(mesh.device_ids, np.int64) if mesh.device_ids else listed(mesh.device_count)


def replica_groups(mesh: Mesh, axes: Axes) -> Integers:
    """[groups, size]: the devices that differ along `axes` only, in the order of `axes`, major to minor.

    Raises ShardyError as `device_ids`.
    """
    ids = device_ids(mesh)
    every = tuple(AxisRef(axis.name) for axis in mesh.axes)
    first = positions_along(mesh, difference(every, axes, mesh))
    return ids[first[:, None] + positions_along(mesh, axes)]


def shard_indices(mesh: Mesh, axes: Axes) -> Integers:
    """[devices]: by device id, the position along `axes`, major to minor.

    Raises ShardyError as `device_ids`.
    """
    return _indices(mesh, axes, axis_stride)


def table_indices(mesh: Mesh, axes: Axes) -> Integers:
    """As `shard_indices`, as the tables of Shardy's local programs have it, which were wrong for sub-axes.

    >>> from shardy_py.base import releases
    >>> from shardy_py.sharding import SubAxis
    >>> with releases.of("0.10"):
    ...     table_indices(Mesh.of(x=4), (AxisRef("x", SubAxis(1, 2)),)).tolist()
    [0, 1, 0, 1]
    """
    return _indices(mesh, axes, axis_stride if Behaviour.SUB_AXES_HAVE_STRIDES.holds else _reversed_stride)


def _indices(mesh: Mesh, axes: Axes, stride: Callable[[Mesh, AxisRef], int]) -> Integers:
    ids = device_ids(mesh)
    positions = np.arange(len(ids))
    index = np.zeros(len(ids), np.int64)
    for axis in axes:
        size = axis.size(mesh)
        index = index * size + positions // stride(mesh, axis) % size
    return index[np.argsort(ids)]


def _reversed_stride(mesh: Mesh, axis: AxisRef) -> int:
    """The stride of an axis, times what is major of the sub-axis instead of what is minor."""
    pre_size = 1 if axis.sub_axis is None else axis.sub_axis.pre_size
    return axis_stride(mesh, AxisRef(axis.name)) * pre_size


def source_target_pairs(
    source: TensorSharding,
    source_mesh: Mesh,
    target: TensorSharding,
    mesh: Mesh,
    *,
    as_shardy: bool = False,
) -> Integers:
    """[devices, 2]: each device and the one that has its part in the target sharding.

    The two meshes have the same axes, in orders of devices of their own. Of several devices with a part, the
    one with the same coordinates along the axes that shard neither is chosen.

    as_shardy: the one at the same place among them, as Shardy does; it mixes devices that differ along manual
        axes.

    Raises ShardyError if the meshes have other axes.
    """
    if source_mesh.axes != mesh.axes:
        raise ShardyError.unexpected(
            "meshes of the operand and the result",
            expected="the same axes",
            got=f"{source_mesh} and {mesh}",
            remedy="reshard between meshes with the same axes",
        )
    every = [axis for by in (source, target) for dimension in by.dimensions for axis in dimension.axes]
    atoms = split_like(every, mesh)
    others = tuple(atom for atom in atoms if not any(axis.contains(atom) for axis in every))
    kept = () if as_shardy else others
    indices = table_indices if as_shardy else shard_indices

    def ordered(sharding: TensorSharding) -> Axes:
        sharded = [
            atom
            for dimension in sharding.dimensions
            for axis in dimension.axes
            for atom in atoms
            if axis.contains(atom)
        ]
        return (*kept, *sharded, *(atom for atom in atoms if atom not in sharded and atom not in kept))

    part = indices(source_mesh, ordered(source))
    holder = np.argsort(indices(mesh, ordered(target)))
    return np.stack([np.arange(len(part)), holder[part]], axis=1)


@dataclass(frozen=True, slots=True)
class DeviceDigit:
    """A digit of a device id: `id // stride % size`, counted from the end if `reversed`.

    is_leading: ids have no more major digit, so that `% size` changes nothing.
    """

    stride: int
    size: int
    reversed: bool
    is_leading: bool


def digits(mesh: Mesh, axes: Axes) -> tuple[DeviceDigit, ...] | None:
    """The digits of a device id that are the position along `axes`, major to minor; adjacent ones are merged.

    None if the ids of the mesh are not digits of the coordinates, transposed or reversed.
    """
    strides = _id_strides(mesh)
    if strides is None:
        return None
    result: list[DeviceDigit] = []
    for axis in axes:
        size = axis.size(mesh)
        if size == 1:
            continue
        along = strides[axis.name]
        stride = abs(along) * (mesh.sizes[axis.name] // axis.next_pre_size(mesh))
        last = result[-1] if result else None
        if last is not None and last.stride == stride * size and last.reversed == (along < 0):
            result.pop()
            size *= last.size
        result.append(DeviceDigit(stride, size, along < 0, stride * size == mesh.device_count))
    return tuple(result)


def _id_strides(mesh: Mesh) -> dict[str, int] | None:
    """The difference between the ids of neighbours along each axis of more than one device, if constant."""
    wide = [axis for axis in mesh.axes if axis.size > 1]
    if not mesh.device_ids:
        return {axis.name: axis_stride(mesh, AxisRef(axis.name)) for axis in wide}
    ids = np.asarray(mesh.device_ids, np.int64)
    grid = ids.reshape([axis.size for axis in wide])
    strides: dict[str, int] = {}
    expected = grid[(0,) * len(wide)]
    for number, axis in enumerate(wide):
        step = grid[tuple(int(other == number) for other in range(len(wide)))] - ids[0]
        strides[axis.name] = int(step)
        shape = [-1 if other == number else 1 for other in range(len(wide))]
        expected = expected + (np.arange(axis.size) * step).reshape(shape)
    if not np.array_equal(grid, expected):
        return None
    within = 1
    for axis in sorted(wide, key=lambda axis: abs(strides[axis.name])):
        if abs(strides[axis.name]) != within:
            return None
        within *= axis.size
    return strides
