"""Tilings: the device of each tile of a tensor, as XLA's partitioner sees a sharding.

A grid of tiles over the dimensions of a tensor, each held by one device or by several replicas. Two tilings
are equal if every device holds the same tile, whatever the axes of the mesh. The operations are those that
the partitioner composes (openxla/xla, xla/hlo/utils/hlo_sharding_util.cc). Not here: text and conversion of
XLA's shardings (`xla/hlo_sharding/`), what is sent (`reshard.py`).

>>> tiling = Tiling.of(Mesh.of(x=2, y=2), [("y",), ()])
>>> tiling.dimensions, tiling.replicas, tiling.devices
((2, 1), 2, (0, 2, 1, 3))
>>> tiling.local_shape((5, 4))
(3, 4)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.deferred import MOST_DIMENSIONS, np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.xla.spmd.by_axes import ByAxes
from shardy_py.xla.spmd.device_grid import DeviceGrid, devices_along, with_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
Shape = tuple[int, ...]
_MOST_DEVICES = 1 << 20
"""Devices of a mesh whose tilings are listed, one device after the other, as XLA does."""


@dataclass(frozen=True)
class Tiling:
    """The devices of a grid of tiles.

    dimensions: the number of tiles of each dimension of the tensor.
    replicas: the number of devices that hold each tile.
    devices: row-major over the tiles; the replicas of a tile are neighbours, in ascending order.
    names: the devices of the mesh that the numbers stand for in a group of devices; () if they are these.
    axes: the axes of the mesh, where the partitioner knows them. Tilings with and without are equal.
    """

    dimensions: tuple[int, ...]
    replicas: int
    devices: tuple[int, ...]
    names: tuple[int, ...] = field(default=(), compare=False, repr=False)
    axes: ByAxes | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(mesh: Mesh, axes: Sequence[Sequence[AxisRef | str]]) -> Tiling:
        """The tiling of a tensor whose dimensions are sharded along `axes`, major to minor.

        Raises ShardyError if the mesh has too many devices, or the tensor too many dimensions.
        """
        lists = [tuple(AxisRef(a) if isinstance(a, str) else a for a in dimension) for dimension in axes]
        sizes = tuple(prod(axis.size(mesh) for axis in dimension) for dimension in lists)
        _check_sizes(mesh.device_count, len(lists))
        every = [axis for dimension in lists for axis in dimension]
        return Tiling(sizes, mesh.device_count // prod(sizes), devices_along(mesh, every))

    @staticmethod
    def of_sharding(sharding: TensorSharding, mesh: Mesh) -> Tiling:
        """The tiling of a sharding; unreduced axes count as replicas, as in the partitioner."""
        key = sharding, mesh, Behaviour.SHARDINGS_HAVE_AXES.holds
        known = _OF_SHARDINGS.get(key)
        if known is not None:
            return known
        tiling = Tiling.of(mesh, [dimension.axes for dimension in sharding.dimensions])
        SESSION.charge(tiling.device_count)
        return _OF_SHARDINGS.setdefault(key, tiling.by(ByAxes.of(sharding, mesh)) if key[2] else tiling)

    @staticmethod
    def replicated(rank: int, device_count: int, names: tuple[int, ...] = ()) -> Tiling:
        """Every device holds the whole tensor. Raises ShardyError as `of`."""
        _check_sizes(device_count, rank)
        return Tiling((1,) * rank, device_count, tuple(range(device_count)), names)

    @staticmethod
    def from_grid(grid: DeviceGrid, rank: int, names: tuple[int, ...] = ()) -> Tiling:
        """The tiling of a grid whose dimensions behind the first `rank` count replicas."""
        found = grid.sorted_at_end(rank)
        return Tiling(found.shape[:rank], found.shape[rank], tuple(found.listed), names)

    def by(self, axes: ByAxes | None) -> Tiling:
        """The tiling with these axes, or without."""
        return self if axes is self.axes else replace(self, axes=axes)

    def like(self, other: Tiling) -> Tiling:
        """The tiling with the axes of an equal one."""
        return other if self is other else self.by(other.axes)

    @property
    def rank(self) -> int:
        """The rank of the tensor."""
        return len(self.dimensions)

    @property
    def device_count(self) -> int:
        """The number of devices."""
        return len(self.devices)

    @cached_property
    def tile_count(self) -> int:
        """The number of tiles."""
        return prod(self.dimensions)

    @property
    def is_replicated(self) -> bool:
        """Returns whether every device holds the whole tensor."""
        return self.tile_count == 1

    @property
    def is_partial(self) -> bool:
        """Returns whether there are several tiles, each on several devices."""
        return self.replicas > 1 and not self.is_replicated

    @property
    def cells(self) -> DeviceGrid:
        """The devices, in the shape of the tiles with a last dimension of the replicas."""
        return with_array((*self.dimensions, self.replicas), self.devices, lambda: self.grid.ravel())

    @cached_property
    def grid(self) -> Integers:
        """The cells as an array."""
        return np.array(self.devices, np.int64).reshape(*self.dimensions, self.replicas)

    @property
    def grid_dimensions(self) -> tuple[int, ...]:
        """The dimensions as XLA counts them: the replicas of a partial tiling are the last one."""
        return (*self.dimensions, self.replicas) if self.is_partial else self.dimensions

    @property
    def counted_rank(self) -> int:
        """The rank as XLA counts it: of the grid, unless the axes are known."""
        return self.rank if self.axes else len(self.grid_dimensions)

    def tiles(self, dimension: int) -> int:
        """The number of tiles of a dimension; of the one behind those of the tensor: of replicas."""
        return self.replicas if dimension == self.rank else self.dimensions[dimension]

    def local_shape(self, shape: Sequence[int]) -> Shape:
        """The shape of a tile of a tensor, in elements; the last tiles may be padded to it."""
        return tuple(-(-size // tiles) for size, tiles in zip(shape, self.dimensions, strict=True))

    def padded_shape(self, shape: Sequence[int]) -> Shape:
        """The shape of a tensor padded so that all tiles are equally large."""
        return tuple(s * t for s, t in zip(self.local_shape(shape), self.dimensions, strict=True))

    def named(self, devices: Iterable[int]) -> tuple[int, ...]:
        """The devices of the mesh with these numbers."""
        return tuple(self.names[d] for d in devices) if self.names else tuple(devices)

    def along(self, dimensions: Iterable[int]) -> tuple[int, ...]:
        """The first of the groups of devices whose tiles differ along `dimensions` only, in the mesh.

        The rank of the tensor stands for the replicas.
        """
        return self.named(self.cells.along({*dimensions}))

    def pairs(self, dimension: int, positions: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The devices at pairs of positions along `dimension`, row-major over the tiles."""
        ends = ([pair[end] for pair in positions] for end in (0, 1))
        sources, receivers = (self.named(self.cells.at(dimension, end).listed) for end in ends)
        return tuple(zip(sources, receivers, strict=True))

    def is_even(self, shape: Sequence[int]) -> bool:
        """Returns whether all tiles of a tensor are equally large without padding."""
        return all(size % tiles == 0 for size, tiles in zip(shape, self.dimensions, strict=True))

    def reshaped(self, dimensions: Sequence[int]) -> Tiling:
        """The devices in the same order in a grid of other dimensions; what is left over are replicas."""
        return Tiling.from_grid(self.cells.reshaped(*dimensions), len(dimensions), self.names)

    def transposed(self, permutation: Sequence[int]) -> Tiling:
        """The tiling with its dimensions in the order `permutation`, which may move the replicas too."""
        moves_replicas = len(permutation) > self.rank
        order = [*permutation] if moves_replicas else [*permutation, self.rank]
        found = Tiling.from_grid(self.cells.transposed(order), self.rank, self.names)
        return found.by(self.axes.at(permutation)) if self.axes and not moves_replicas else found

    def replicated_on(self, dimensions: Iterable[int]) -> Tiling:
        """The tiling with `dimensions` whole on every device that held a tile of them."""
        dropped = sorted(set(dimensions))
        if all(self.dimensions[i] == 1 for i in dropped):
            return self
        kept = [i for i in range(self.rank) if i not in dropped]
        cells = self.cells.transposed([*kept, *dropped, self.rank])
        sizes = [1 if i in dropped else self.dimensions[i] for i in range(self.rank)]
        found = Tiling.from_grid(cells.reshaped(*sizes), self.rank, self.names)
        return found.by(self.axes and self.axes.replicated_on(dropped))

    def replicated_except(self, dimensions: Iterable[int]) -> Tiling:
        """The tiling with all dimensions but `dimensions` whole."""
        kept = set(dimensions)
        return self.replicated_on(i for i in range(self.rank) if i not in kept)

    def split(self, dimension: int, major: int) -> Tiling:
        """The tiling of a tensor whose `dimension` is two, the first with `major` of its tiles."""
        sizes = self.dimensions
        parts = (major, sizes[dimension] // major)
        return self.reshaped((*sizes[:dimension], *parts, *sizes[dimension + 1 :]))

    def merged(self, dimension: int) -> Tiling:
        """The tiling of a tensor whose `dimension` and the next one are one: the inverse of `split`."""
        sizes = self.dimensions
        together = sizes[dimension] * sizes[dimension + 1]
        return self.reshaped((*sizes[:dimension], together, *sizes[dimension + 2 :]))

    def merged_into(self, source: int, target: int) -> Tiling:
        """The tiling with the tiles of `source` as the minor ones of `target`; `source` is whole then."""
        order = [i for i in range(self.rank + 1) if i != source]
        order.insert(order.index(target) + 1, source)
        sizes = list(self.dimensions)
        sizes[target], sizes[source] = sizes[target] * sizes[source], 1
        found = Tiling.from_grid(self.cells.transposed(order).reshaped(*sizes), self.rank, self.names)
        return found.by(self.axes and self.axes.moved(source, target, 1))

    def reversed_on(self, dimensions: Iterable[int]) -> Tiling:
        """The tiling with the tiles of `dimensions` in reverse order."""
        cells = self.cells
        for dimension in dimensions:
            cells = cells.at(dimension, range(self.dimensions[dimension])[::-1])
        return Tiling.from_grid(cells, self.rank, self.names)

    def without_dimensions(self, dimensions: Iterable[int]) -> Tiling:
        """The tiling without `dimensions`, which are whole."""
        dropped = set(dimensions)
        kept = [i for i in range(self.rank) if i not in dropped]
        found = self.reshaped([self.dimensions[i] for i in kept])
        return found.by(self.axes and self.axes.at(kept))

    def refines(self, other: Tiling) -> bool:
        """Returns whether each device's tile lies in its tile of `other`, in tiles of this one.

        The number of tiles of each dimension is a multiple of those of `other`.
        """
        if other.is_replicated:
            return True
        if self.is_replicated:
            return False
        pairs = enumerate(zip(self.dimensions, other.dimensions, strict=True))
        factors = [(i, own // tiles) for i, (own, tiles) in pairs if tiles > 1]
        return all(
            fine // factor == coarse for i, factor in factors for fine, coarse in self.places_in(other, i)
        )

    def places_in(self, other: Tiling, dimension: int) -> set[tuple[int, int]]:
        """The places of tiles along a dimension, each with that of a tile of `other` on the same device."""
        return {*zip(self.places(dimension), other.places(dimension), strict=True)}

    def places(self, dimension: int) -> list[int]:
        """By device, the place of its tile along a dimension; the rank of the tensor: among the replicas."""
        size = self.tiles(dimension)
        stride = prod((*self.dimensions, self.replicas)[dimension + 1 :])
        listed = [i for i in range(size) for _ in range(stride)] * (self.device_count // (size * stride))
        return self._by_device(listed)

    def tile_numbers(self) -> list[int]:
        """By device, the number of its tile, row-major."""
        return self._by_device([tile for tile in range(self.tile_count) for _ in range(self.replicas)])

    def _by_device(self, facts: Sequence[int]) -> list[int]:
        """The facts about each place of the grid by the device there."""
        found = [0] * self.device_count
        for device, fact in zip(self.devices, facts, strict=True):
            found[device] = fact
        return found

    def exchanged(self, source: int, target: int) -> Tiling:
        """The tiling after an all-to-all that gathers `source` and shards `target`.

        The tiles of `source` are a multiple of those of `target`, which change places.
        """
        sizes = list(self.dimensions)
        kept, group = sizes[target], sizes[source] // sizes[target]
        split: list[int] = []
        at: dict[int, int] = {}
        for i, size in enumerate(sizes):
            parts = {source: [kept, group], target: [size, 1]}.get(i, [size])
            split += parts
            at[i] = len(split) - 1
        order = [*range(len(split) + 1)]
        order[at[source]], order[at[target]] = order[at[target]], order[at[source]]
        sizes[source], sizes[target] = sizes[target], sizes[source]
        cells = self.cells.reshaped(*split).transposed(order)
        found = Tiling.from_grid(cells.reshaped(*sizes), self.rank, self.names)
        return found.by(self.axes and self.axes.moved(source, target, kept))


_OF_SHARDINGS: dict[tuple[TensorSharding, Mesh, bool], Tiling] = SESSION.table("tilings of shardings")


def _check_sizes(count: int, rank: int) -> None:
    if rank > MOST_DIMENSIONS:
        expected = f"tensors of at most {MOST_DIMENSIONS} dimensions"
        raise ShardyError.unexpected("XLA's partitioner", expected=expected, got=str(rank))
    if count > _MOST_DEVICES:
        expected = f"a mesh of at most {_MOST_DEVICES:,} devices"
        raise ShardyError.unexpected("XLA's partitioner", expected=expected, got=f"{count:,}")
