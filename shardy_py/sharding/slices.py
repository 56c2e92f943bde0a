"""The slices of a sharded tensor on the devices of a mesh, as formulas and as arrays on demand; local shapes.

A dimension of size n sharded into p parts has parts of c = ceil(n / p) elements. Part i starts at min(i * c,
n) and ends where the next one starts: the last parts may be smaller, or empty. Programs allocate c elements
on every device (`local_shape`, as in Shardy's local types); the slice is the part of them within the tensor
(as in XLA's tiles). The coordinates of a device along the axes, major to minor, are the digits of i.

Not here: values of programs (`report/local_shapes.py`).

>>> from shardy_py.sharding import DimensionSharding, MeshAxis
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
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.axis_lists import Axes, check_axis_lists, difference, total_size
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.tensor_sharding import TensorSharding

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
Number = TypeVar("Number", int, Integers)

MOST_LISTED = 1 << 24
"""The largest number of devices in an array."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a tensor from `offset`, of `size`: an entry for each dimension, in elements."""

    offset: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def index(self) -> tuple[slice, ...]:
        """The same as an index into a numpy array."""
        return tuple(slice(o, o + s) for o, s in zip(self.offset, self.size, strict=True))

    def __str__(self) -> str:
        """Start and end of each dimension: `[0:4, 8:16]`."""
        return f"[{', '.join(f'{part.start}:{part.stop}' for part in self.index)}]"


@dataclass(frozen=True, slots=True, eq=False)
class SliceArrays:
    """The slices of many devices.

    offsets, sizes: [devices, rank], in elements.
    holds: [devices]; whether the tensor is on the device. Sizes are 0 if not.
    """

    offsets: Integers
    sizes: Integers
    holds: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Split:
    """One split of a dimension along `axes`, major to minor, into `parts` of `part_size` elements."""

    axes: Axes
    parts: int
    part_size: int


@dataclass(frozen=True, slots=True)
class DeviceSlices:
    """The slices of one tensor on all devices of a mesh, as formulas; arrays are computed on demand.

    shape: of the global tensor. splits: for each dimension its successive splits: one for a tensor of the
    whole program; two inside a manual computation, along its manual axes and then along free axes.
    unreduced_axes: devices along them hold terms of the same slice, still to be reduced.
    """

    mesh: Mesh
    shape: tuple[int, ...]
    splits: tuple[tuple[Split, ...], ...]
    unreduced_axes: Axes = ()

    @property
    def local_shape(self) -> tuple[int, ...]:
        """The shape that every device allocates: the sizes of the largest slice."""
        return tuple(splits[-1].part_size for splits in self.splits)

    @property
    def parts(self) -> tuple[int, ...]:
        """The number of parts of each dimension, including empty ones."""
        return tuple(prod(split.parts for split in splits) for splits in self.splits)

    @property
    def replication(self) -> int:
        """The number of devices with each element."""
        return self.mesh.device_count // prod(self.parts)

    @property
    def offsets(self) -> Integers:
        """[devices, rank] by position in the mesh, row-major over its axes; computed by each access."""
        return self.by_position().offsets

    @property
    def sizes(self) -> Integers:
        """[devices, rank], as `offsets`."""
        return self.by_position().sizes

    def by_position(self) -> SliceArrays:
        """The slices by position in the mesh; raises ShardyError for more than `MOST_LISTED` devices."""
        grid = _grid_shape(self.mesh)
        both = np.empty((2, len(self.shape), *grid), np.int64)
        for dimension in range(len(self.shape)):
            both[:, dimension] = self.along(dimension)
        count = self.mesh.device_count
        offsets, sizes = both.reshape(2, len(self.shape), count)
        return SliceArrays(offsets.T, sizes.T, np.ones(count, np.bool_))

    def by_device_id(self, device_count: int | None = None) -> SliceArrays:
        """The slices of devices 0, 1, 2, ..., by default up to the highest id of the mesh.

        Devices outside the mesh hold nothing, except for the empty mesh, where all devices hold the same.
        Raises ShardyError for more than `MOST_LISTED` devices.
        """
        arrays, ids = self.by_position(), self.mesh.device_ids
        count = (max(ids, default=len(arrays.holds) - 1) + 1) if device_count is None else device_count
        check_listed(count)
        if not ids and self.mesh.axes and count == len(arrays.holds):
            return arrays
        if not self.mesh.axes and not ids:
            return _taken(arrays, np.zeros(count, np.int64))
        positions = np.full(count, -1, np.int64)
        listed = np.asarray(ids, np.int64) if ids else np.arange(len(arrays.holds))
        inside = listed < count
        positions[listed[inside]] = np.nonzero(inside)[0]
        return _taken(arrays, positions)

    def along(self, dimension: int) -> tuple[Integers, Integers]:
        """Offsets and sizes of one dimension over the grid of the mesh, by coordinates along its axes.

        Axes of size 1 are left out. Read-only views: axes that do not shard the dimension take no memory.
        """
        grid = _grid_shape(self.mesh)
        indices = [_part_indices(self.mesh.axes, split.axes) for split in self.splits[dimension]]
        offset, size = _offset_and_size(self.splits[dimension], indices, self.shape[dimension])
        return np.broadcast_to(offset, grid), np.broadcast_to(size, grid)

    def at(self, position: int) -> Slice:
        """The slice on the device at a position of the mesh, row-major over its axes."""
        pairs = [
            _offset_and_size(splits, [_part_index(self.mesh, split.axes, position) for split in splits], size)
            for splits, size in zip(self.splits, self.shape, strict=True)
        ]
        return Slice(tuple(o for o, _ in pairs), tuple(s for _, s in pairs))

    def of(self, device_id: int) -> Slice | None:
        """The slice on a device; None if it is on one other device. Raises ShardyError for an unknown one."""
        if not self.mesh.axes and not self.mesh.device_ids:
            return self.at(0)
        position = self.mesh.position_of(device_id)
        if position is not None:
            return self.at(position)
        if self.mesh.is_maximal:
            return None
        what, expected = f"mesh {short_text(self.mesh)}", f"a device from 0 to {self.mesh.device_count - 1}"
        raise ShardyError.unexpected(what, expected=expected, got=str(device_id))

    def part(self, part: tuple[int, ...]) -> Slice:
        """The slice with part number `part[d]` of each dimension d."""
        pairs: list[tuple[int, int]] = []
        for number, splits, size in zip(part, self.splits, self.shape, strict=True):
            indices: list[int] = []
            for split in reversed(splits):
                number, index = divmod(number, split.parts)
                indices.insert(0, index)
            pairs.append(_offset_and_size(splits, indices, size))
        return Slice(tuple(o for o, _ in pairs), tuple(s for _, s in pairs))

    def part_at(self, position: int) -> tuple[int, ...]:
        """The part of each dimension on the device at a position of the mesh."""
        axes = (tuple(axis for split in splits for axis in split.axes) for splits in self.splits)
        return tuple(_part_index(self.mesh, along, position) for along in axes)

    def holders(self, part: tuple[int, ...]) -> Integers:
        """[replication]: the devices with part number `part[d]` of each dimension d, ids ascending.

        Raises ShardyError if there are more than `MOST_LISTED`.
        """
        check_listed(self.replication)
        mesh, first = self.mesh, 0
        for number, splits in zip(part, self.splits, strict=True):
            for axis in reversed([axis for split in splits for axis in split.axes]):
                number, digit = divmod(number, axis.size(mesh))
                first += digit * axis_stride(mesh, axis)
        used = [axis for splits in self.splits for split in splits for axis in split.axes]
        every = tuple(AxisRef(axis.name) for axis in mesh.axes)
        positions = first + positions_along(mesh, difference(every, tuple(used), mesh))
        ids = mesh.device_ids
        return np.sort(np.asarray(ids, np.int64)[positions]) if ids else positions

    def within(self, outer: DeviceSlices) -> DeviceSlices:
        """The same slices as parts of a larger tensor, whose slices `outer` have the shape of this tensor.

        Raises:
            ShardyError: they have another shape, or are on another mesh.
        """
        if outer.mesh.axes != self.mesh.axes:
            raise ShardyError.unexpected("outer slices", expected=f"on {self.mesh}", got=str(outer.mesh))
        if outer.local_shape != self.shape:
            expected, got = f"a local shape of {self.shape}", str(outer.local_shape)
            remedy = "outer is the tensor of which this one is the part on each device"
            raise ShardyError.unexpected("outer slices", expected=expected, got=got, remedy=remedy)
        splits = tuple(first + then for first, then in zip(outer.splits, self.splits, strict=True))
        return replace(self, shape=outer.shape, splits=splits)


def short_text(mesh: Mesh) -> str:
    """The text of a mesh; long lists of device ids are abbreviated."""
    if len(mesh.device_ids) <= 16:
        return str(mesh)
    shown = ", ".join(map(str, mesh.device_ids[:8]))
    return f"<[{', '.join(map(str, mesh.axes))}], device_ids=[{shown}, ...]>"


def _offset_and_size(splits: Sequence[Split], indices: Sequence[Number], size: int) -> tuple[Number, Number]:
    """The interval of the shard with these indices, one for each split, of a dimension of `size`."""
    smaller = np.minimum if isinstance(indices[0], np.ndarray) else min
    offset: Any = indices[0] * 0
    left: Any = offset + size
    for split, index in zip(splits, indices, strict=True):
        start = smaller(index * split.part_size, left)
        offset, left = offset + start, smaller(left - start, split.part_size)
    return offset, left


def positions_along(mesh: Mesh, axes: Axes) -> Integers:
    """The positions in the mesh of the devices along `axes`, major to minor, from position 0.

    Raises ShardyError if there are more than `MOST_LISTED`.
    """
    check_listed(prod(axis.size(mesh) for axis in axes))
    positions = np.zeros(1, np.int64)
    for axis in axes:
        steps = np.arange(axis.size(mesh), dtype=np.int64) * axis_stride(mesh, axis)
        positions = (positions[:, None] + steps).ravel()
    return positions


def axis_index(mesh: Mesh, axis: AxisRef, position: Number) -> Number:
    """The coordinate along an axis or sub-axis of the device at `position` of the mesh.

    >>> mesh = Mesh((MeshAxis("x", 4), MeshAxis("y", 2)))
    >>> axis_index(mesh, AxisRef("x"), 5), axis_index(mesh, AxisRef("y"), 5)
    (2, 1)
    """
    return position // axis_stride(mesh, axis) % axis.size(mesh)


def axis_stride(mesh: Mesh, axis: AxisRef) -> int:
    """The distance in the mesh between neighbours along an axis or sub-axis."""
    within = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
    return within * prod(other.size for other in mesh.axes[mesh.order[axis.name] + 1 :])


def _part_index(mesh: Mesh, axes: Axes, position: int) -> int:
    """The part of a dimension sharded along `axes` on the device at `position`."""
    index = 0
    for axis in axes:
        index = index * axis.size(mesh) + axis_index(mesh, axis, position)
    return index


@lru_cache(maxsize=32)
def _part_indices(mesh_axes: tuple[MeshAxis, ...], axes: Axes) -> Integers:
    """`_part_index` of all positions, over the grid of the mesh; of size 1 along other axes."""
    mesh = Mesh(mesh_axes)
    wide = [axis.name for axis in mesh_axes if axis.size > 1]
    index = np.zeros((1,) * max(len(wide), 1), np.int64)  # an array, also without axes
    for axis in axes:
        size = mesh.sizes[axis.name]
        if size > 1:
            check_listed(size)
            steps = size // axis.next_pre_size(mesh)
            digits = np.arange(size, dtype=np.int64) // steps % axis.size(mesh)
            shape = [-1 if name == axis.name else 1 for name in wide]
            index = index * axis.size(mesh) + digits.reshape(shape)
    index.flags.writeable = False
    return index


def _grid_shape(mesh: Mesh) -> tuple[int, ...]:
    check_listed(mesh.device_count)
    return tuple(axis.size for axis in mesh.axes if axis.size > 1) or (1,)


def _taken(arrays: SliceArrays, positions: Integers) -> SliceArrays:
    """The rows at `positions`; no tensor where the position is -1."""
    holds = positions >= 0
    offsets, sizes = arrays.offsets.T[:, positions].T, arrays.sizes.T[:, positions].T
    offsets[~holds] = sizes[~holds] = 0
    return SliceArrays(offsets, sizes, holds)


def listed(count: int) -> Integers:
    """Returns the numbers of devices or shards from 0; raises a `ShardyError` for more than `MOST_LISTED`."""
    check_listed(count)
    return np.arange(count, dtype=np.int64)


def check_listed(count: int) -> None:
    """Raises a `ShardyError` for more than `MOST_LISTED` devices."""
    if count > MOST_LISTED:
        most, remedy = f"at most {MOST_LISTED:,}", "query single devices, or use a smaller mesh"
        raise ShardyError.unexpected("listed devices", expected=most, got=f"{count:,}", remedy=remedy)


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
