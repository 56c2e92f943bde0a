"""Local shapes of sharded tensors, and the slice of the global tensor on each device.

A dimension of size n sharded into p parts has parts of c = ceil(n / p) elements. Part i starts at min(i * c,
n) and ends where the next one starts: the last parts may be smaller, or empty. Programs allocate c elements
on every device (`local_shape`, as in Shardy's local types); the slice is the part of them within the tensor
(as in XLA's tiles). The coordinates of a device along the axes, major to minor, are the digits of i.

Not here: slices as formulas and arrays (`slices.py`), values of programs (`report/local_shapes.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 3)))
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("y"),)), DimensionSharding()))
>>> local_shape(sharding, mesh, (7, 5))
(3, 5)
>>> device_slices(sharding, mesh, (7, 5)).sizes[:, 0]
array([3, 3, 1, 3, 3, 1])
>>> str(slice_of(sharding, mesh, (7, 5), device_id=5))
'[6:7, 0:5]'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from shardy_py.errors import ShardyError
from shardy_py.sharding.axis_lists import Axes, check_axis_lists, total_size
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.slices import DeviceSlices, Slice, Split
from shardy_py.sharding.tensor_sharding import TensorSharding

_Size = TypeVar("_Size", int, int | None)


def local_shape(sharding: TensorSharding, mesh: Mesh, shape: tuple[_Size, ...]) -> tuple[_Size, ...]:
    """The shape that every device allocates: sizes divided by the parts of their dimension, rounded up.

    mesh: that of `sharding`. shape: of the global tensor; a dynamic size, None, stays None.
    Raises ShardyError if the sharding has another rank or an unknown axis.
    """
    dimensions = sharding.dimensions
    if not dimensions:
        return shape
    _check_rank(sharding, shape)
    try:
        return tuple(
            -(-size // total_size(dimension.axes, mesh)) if size is not None and dimension.axes else size
            for size, dimension in zip(shape, dimensions, strict=True)
        )
    except KeyError:
        check_axis_lists(sharding.axis_lists, mesh)
        raise


def device_slices(sharding: TensorSharding, mesh: Mesh, shape: Sequence[int | None]) -> DeviceSlices:
    """The slices of a tensor of `shape`, that of the global tensor, on the devices of `mesh`.

    Raises ShardyError if a size is dynamic, or the sharding has another rank, an invalid axis, or one twice.
    """
    sizes = _static(shape)
    axes: Sequence[Axes] = [dimension.axes for dimension in sharding.dimensions]
    if axes or not mesh.is_maximal:
        _check_rank(sharding, sizes)
        check_axis_lists(sharding.axis_lists, mesh)
    splits: list[tuple[Split, ...]] = []
    for size, by in zip(sizes, axes or [()] * len(sizes), strict=True):
        parts = total_size(by, mesh)
        splits.append((Split(by, parts, -(-size // parts)),))
    return DeviceSlices(mesh, sizes, tuple(splits), sharding.unreduced_axes)


def slice_of(
    sharding: TensorSharding, mesh: Mesh, shape: Sequence[int | None], device_id: int
) -> Slice | None:
    """The slice on one device, None if there is none, in time independent of the size of the mesh.

    Raises ShardyError as `device_slices`, and if the mesh has no such device.
    """
    return device_slices(sharding, mesh, shape).of(device_id)


def _static(shape: Sequence[int | None]) -> tuple[int, ...]:
    for dimension, size in enumerate(shape):
        if size is None or size < 0:
            what, expected = f"dimension {dimension}", "a static size of at least 0"
            got = "a dynamic size" if size is None else str(size)
            raise ShardyError.unexpected(what, expected=expected, got=got)
    return tuple(size for size in shape if size is not None)


def _check_rank(sharding: TensorSharding, shape: Sequence[int | None]) -> None:
    if sharding.rank != len(shape):
        what, expected = f"sharding {sharding}", f"rank {len(shape)} of the tensor"
        raise ShardyError.unexpected(what, expected=expected, got=f"rank {sharding.rank}")
