"""The parts of one tensor on all devices, as arrays: split, put together, compared.

A dimension of d elements in n parts of c elements has c * n >= d: what is beyond d is padding. Parts may be
larger than ceil(d / n), as `sdy-pad-for-divisibility` may make them.

Not here: which part a device holds (`reshard/device_groups.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)),))
>>> shards = Shards.of(sharding, Mesh.of(x=4), (7,), (2,), 4)
>>> split = shards.split(np.arange(7), fill=-1)
>>> split.tolist(), shards.joined(split).tolist()
([[0, 1], [2, 3], [4, 5], [6, -1]], [0, 1, 2, 3, 4, 5, 6])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.arrays import AnyArray, AnyDtype, Ufunc
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import COMBINERS
from shardy_py.ops.compute import Array
from shardy_py.reshard.device_groups import replica_groups, shard_indices
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.slices import local_shape as even_local_shape

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shards:
    """The parts of a tensor.

    shape, local_shape: of the whole tensor, and of each part with its padding.
    counts: [rank], the parts of each dimension. index: [rank, devices], the part of each device.
    holder: the only device with the tensor, on a single-device mesh; None: all have their part.
    groups: [groups, size], devices that hold terms of one sum, as along unreduced axes; None: there are none.
    reduction: of the terms: "sum", or "max" or "min", terms of which may be equal.
    """

    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    counts: tuple[int, ...]
    index: Integers
    holder: int | None = None
    groups: Integers | None = None
    reduction: str = "sum"

    @staticmethod
    def of(
        sharding: TensorSharding | None,
        mesh: Mesh | None,
        shape: tuple[int, ...],
        local_shape: tuple[int, ...] | None,
        devices: int,
    ) -> Shards:
        """Returns the parts on `devices` devices, in the order of their ids.

        local_shape: None: the smallest.

        Raises:
            ShardyError: the parts of that shape do not hold the tensor.
        """
        rank = len(shape)
        index = np.zeros((rank, devices), np.int64)
        if sharding is None or mesh is None or not mesh.axes:
            counts, holder = (1,) * rank, None
            if mesh is not None and mesh.is_maximal:
                (holder,) = mesh.device_ids
        else:
            if mesh.device_count != devices:
                what, expected, got = f"mesh {mesh}", f"{devices} devices", str(mesh.device_count)
                remedy = (
                    "programs are run and proven on the devices of their largest mesh, as others must have"
                )
                raise ShardyError.unexpected(what, expected=expected, got=got, remedy=remedy)
            holder = None
            axes = [dimension.axes for dimension in sharding.dimensions] or [()] * rank
            counts = tuple(total_size(by, mesh) for by in axes)
            for row, by in enumerate(axes):
                if by:
                    index[row] = shard_indices(mesh, by)
        least = shape
        if sharding is not None and mesh is not None and max(counts, default=1) > 1:
            least = even_local_shape(sharding, mesh, shape)
        local = least if local_shape is None else local_shape
        if len(local) != rank or any(size < wanted for size, wanted in zip(local, least, strict=True)):
            expected, got = _text(least), _text(local)
            raise ShardyError.unexpected("the part of each device", expected=expected, got=got)
        groups = None
        if sharding is not None and mesh is not None and sharding.unreduced_axes:
            groups = replica_groups(mesh, sharding.unreduced_axes)
        reduction = "sum" if sharding is None else sharding.reduction
        return Shards(shape, local, counts, index, holder, groups, reduction)

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.index.shape[1]

    @cached_property
    def is_whole(self) -> bool:
        """Returns whether every device holds the whole tensor, without padding."""
        return self.holder is None and self.local_shape == self.shape and max(self.counts, default=1) == 1

    @property
    def has_padding(self) -> bool:
        """Returns whether a device holds elements that are none of the tensor."""
        return any(
            part * count > size
            for part, count, size in zip(self.local_shape, self.counts, self.shape, strict=True)
        )

    @cached_property
    def positions(self) -> tuple[Integers, ...]:
        """For each dimension [devices, size of the part]: the index in the whole tensor of each element."""
        return tuple(
            row[:, None] * size + np.arange(size)
            for row, size in zip(self.index, self.local_shape, strict=True)
        )

    def inside(self, members: Integers) -> NDArray[np.bool_]:
        """Which elements of the parts of these devices are true elements: broadcasts to [members, *part]."""
        rank = len(self.shape)
        result = np.ones((1,) * (rank + 1), np.bool_)
        for dimension, (at, size) in enumerate(zip(self.positions, self.shape, strict=True)):
            if self.counts[dimension] > 1 or self.local_shape[dimension] > size:
                result = result & _along(at[members] < size, dimension, rank)
        if self.holder is not None:
            result = result & (members == self.holder).reshape(-1, *(1,) * rank)
        return result

    def parts(self, arrays: Array, lanes: Integers, members: Integers) -> Array:
        """Returns [members, *part]: the parts of whole arrays, `arrays[lanes[i]]` for member i.

        Padding is zero. A view if every device holds the whole.
        """
        if 0 in self.shape:
            return np.zeros((len(members), *self.local_shape), arrays.dtype)
        if self.is_whole:
            return arrays if len(arrays) == 1 else arrays[lanes]
        padded = tuple(part * count for part, count in zip(self.local_shape, self.counts, strict=True))
        if padded != self.shape:
            filled: Array = np.zeros((len(arrays), *padded), arrays.dtype)
            filled[(slice(None), *map(slice, self.shape))] = arrays
            arrays = filled
        sizes, order, sharded = self._blocks
        blocks = arrays.reshape(len(arrays), *sizes).transpose(order)
        return blocks[(lanes, *(self.index[dimension][members] for dimension in sharded))]

    @cached_property
    def _blocks(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The shape with the parts of each sharded dimension as one of their own, its order with these first,
        behind the lanes, and the sharded dimensions."""
        sizes, numbers, within, sharded = list[int](), list[int](), list[int](), list[int]()
        for dimension, (part, count) in enumerate(zip(self.local_shape, self.counts, strict=True)):
            if count > 1:
                numbers.append(len(sizes) + 1)
                sizes.append(count)
                sharded.append(dimension)
            within.append(len(sizes) + 1)
            sizes.append(part)
        return tuple(sizes), (0, *numbers, *within), tuple(sharded)

    @cached_property
    def everywhere(self) -> NDArray[np.bool_] | None:
        """Which elements of all devices are true ones, as `inside`; None: all are."""
        if self.holder is None and not self.has_padding:
            return None
        return self.inside(np.arange(self.devices))

    @cached_property
    def true_elements(self) -> int:
        """The number of true elements on all devices."""
        every = (self.devices, *self.local_shape)
        inside = self.everywhere
        return prod(every) if inside is None else int(np.count_nonzero(np.broadcast_to(inside, every)))

    def split(self, array: Array, fill: object) -> Array:
        """Returns [devices, *part] of the whole array, or [1, *part] if all are equal; padding is `fill`.

        Of devices that hold terms of one sum, the first has all of it, the others zeros.
        """
        if self.is_whole and self.groups is None:
            return array[None]
        members = np.arange(self.devices)
        made = self.parts(array[None], np.zeros_like(members), members)
        if self.groups is not None:
            made = np.broadcast_to(made, (self.devices, *made.shape[1:])).copy()
            if self.reduction == "sum":
                made[self.groups[:, 1:].ravel()] = 0
        return np.where(self.inside(members), made, np.asarray(fill, array.dtype))

    def joined(self, parts: Array) -> Array:
        """Returns the whole array of [devices, *part] or [1, *part]; of equal parts the first one's."""
        if self.groups is not None:
            parts = self.combined(parts)
        result = np.zeros(self.shape, parts.dtype)
        devices = self.first_holders if self.holder is None else np.array([self.holder])
        for device in np.unique(devices).tolist():
            part = parts[device if len(parts) > 1 else 0]
            starts = [int(row[device]) * size for row, size in zip(self.index, self.local_shape, strict=True)]
            sizes = [
                max(0, min(size, whole - start))
                for start, size, whole in zip(starts, self.local_shape, self.shape, strict=True)
            ]
            to = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
            result[to] = part[tuple(slice(0, size) for size in sizes)]
        return result

    def combined(self, parts: Array, ufunc_of: Callable[[Ufunc], Ufunc] = lambda ufunc: ufunc) -> Array:
        """Returns the terms of each sum combined. ufunc_of: what combines as a ufunc of numpy."""
        assert self.groups is not None
        terms = np.broadcast_to(parts, (self.devices, *parts.shape[1:]))
        result = terms.copy()
        reduced = ufunc_of(COMBINERS[self.reduction].ufunc).reduce(terms[self.groups], 1)
        result[self.groups] = reduced.astype(parts.dtype)[:, None]
        return result

    @cached_property
    def first_holders(self) -> Integers:
        """[devices]: the lowest device with the same part."""
        number = np.zeros(self.devices, np.int64)
        for row, count in zip(self.index, self.counts, strict=True):
            number = number * count + row
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        return first[inverse]

    def global_index(self, device: int, index: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the index in the whole tensor of an element of a device's part."""
        return tuple(int(where[device, i]) for where, i in zip(self.positions, index, strict=True))


def _along(table: AnyArray, dimension: int, rank: int) -> AnyArray:
    """[devices, size] as [devices, 1, ..., size, ..., 1]."""
    shape = [1] * (rank + 1)
    shape[0], shape[dimension + 1] = table.shape
    return table.reshape(shape)


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def poison(dtype: AnyDtype, *, is_finite: bool = False) -> object:
    """A value that shows where it enters a computation: NaN, the lowest integer, true.

    is_finite: another one, which is not NaN: 1e30, the highest integer, false.

    >>> poison(np.dtype(np.int8)), poison(np.dtype(np.uint8)), bool(poison(np.dtype(np.bool_)))
    (-128, 255, True)
    >>> poison(np.dtype(np.int8), is_finite=True), poison(np.dtype(np.uint8), is_finite=True)
    (127, 254)
    """
    if dtype == np.bool_:
        return not is_finite
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = int(limits.min) or int(limits.max)
        return low if not is_finite else int(limits.max) - (low > 0)
    if "int" in dtype.name:  # narrow integers of ml_dtypes
        return int(not is_finite)
    return 1e30 if is_finite else np.nan
