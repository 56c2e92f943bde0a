"""Grids of devices, reshaped and transposed: lists, and arrays of numpy where there are many devices.

Most meshes have few devices, and to import numpy takes as long as to partition a small program. Not here:
what the dimensions of a grid stand for (`tiling.py`).

>>> grid = DeviceGrid((2, 3), range(6))
>>> grid.transposed((1, 0)).devices, grid.along({1})
([0, 3, 1, 4, 2, 5], [0, 1, 2])
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shardy_py.base.deferred import np
from shardy_py.reshard.device_groups import shard_indices
from shardy_py.sharding import AxisRef, Mesh
from shardy_py.sharding.slices import axis_stride

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
_MANY = 512
"""The devices from which on numpy is faster."""


def devices_along(mesh: Mesh, axes: Sequence[AxisRef]) -> tuple[int, ...]:
    """The devices by their position along `axes`, major to minor; those at one position ascend."""
    count, ids = mesh.device_count, mesh.device_ids
    if count >= _MANY:
        return tuple(np.argsort(shard_indices(mesh, (*axes,)), kind="stable").tolist())
    parts = [0] * count
    for axis in axes:
        size, stride = axis.size(mesh), axis_stride(mesh, axis)
        parts = [part * size + position // stride % size for position, part in enumerate(parts)]
    if ids:
        parts = [parts[position] for position in sorted(range(count), key=ids.__getitem__)]
    return tuple(sorted(range(count), key=parts.__getitem__))


class DeviceGrid(NamedTuple):
    """Devices in a grid. shape: of the grid. devices: row-major; an array [devices] if there are many."""

    shape: tuple[int, ...]
    devices: Sequence[int] | Integers

    @property
    def listed(self) -> Sequence[int]:
        """The devices, row-major."""
        return self.devices if isinstance(self.devices, Sequence) else self.devices.tolist()

    def reshaped(self, *sizes: int) -> DeviceGrid:
        """The devices in the same order in a grid of other sizes, followed by what is left over."""
        return DeviceGrid((*sizes, len(self.devices) // prod(sizes)), self.devices)

    def transposed(self, order: Sequence[int]) -> DeviceGrid:
        """The grid with its dimensions in another order."""
        shape = tuple([self.shape[dimension] for dimension in order])
        moved = [dimension for dimension in order if self.shape[dimension] > 1]
        if moved == sorted(moved):
            return DeviceGrid(shape, self.devices)
        if len(self.devices) >= _MANY:
            return DeviceGrid(shape, np.reshape(self.devices, self.shape).transpose(order).ravel())
        return DeviceGrid(shape, self._picked(_offsets(self.shape, moved)))

    def sorted_at_end(self, rank: int) -> DeviceGrid:
        """The grid with all dimensions behind the first `rank` as one, along which devices ascend."""
        dimensions, devices = self.shape[:rank], self.devices
        count = len(devices) // prod(dimensions)
        if count > 1 and len(devices) >= _MANY:
            devices = np.sort(np.reshape(devices, (-1, count)), axis=1).ravel()
        elif count > 1:
            devices = [device for row in self.rows(count) for device in sorted(row)]
        return DeviceGrid((*dimensions, count), devices)

    def rows(self, size: int) -> Iterator[Sequence[int]]:
        """Yields the devices in rows of `size`."""
        devices = self.listed
        for start in range(0, len(devices), size):
            yield devices[start : start + size]

    def along(self, dimensions: Container[int]) -> list[int]:
        """The devices along some dimensions, at the first place along the others."""
        kept = [dimension for dimension in range(len(self.shape)) if dimension in dimensions]
        return self._picked(_offsets(self.shape, kept))

    def at(self, dimension: int, positions: Sequence[int]) -> DeviceGrid:
        """The grid with some positions along a dimension."""
        shape = (*self.shape[:dimension], len(positions), *self.shape[dimension + 1 :])
        if len(self.devices) >= _MANY:
            return DeviceGrid(
                shape, np.reshape(self.devices, self.shape).take([*positions], dimension).ravel()
            )
        inner = prod(self.shape[dimension + 1 :])
        step = inner * self.shape[dimension]
        starts = [start + at * inner for start in range(0, len(self.devices), step) for at in positions]
        return DeviceGrid(shape, self._picked([at for start in starts for at in range(start, start + inner)]))

    def _picked(self, places: Sequence[int]) -> list[int]:
        return [int(self.devices[place]) for place in places]


def with_array(shape: tuple[int, ...], devices: Sequence[int], array: Callable[[], Integers]) -> DeviceGrid:
    """A grid of devices. array: makes the same as an array, which is asked for many."""
    return DeviceGrid(shape, devices if len(devices) < _MANY else array())


def _offsets(shape: Sequence[int], dimensions: Sequence[int]) -> list[int]:
    """The places, row-major, of what is along `dimensions` in this order, from the first place on."""
    found = [0]
    for dimension in dimensions:
        stride = prod(shape[dimension + 1 :])
        steps = range(0, shape[dimension] * stride, stride)
        found = [start + step for start in found for step in steps]
    return found
