"""A lower bound of the cost of a reshard, for any sequence of collectives.

A device must receive the elements that it needs afterwards and does not hold before. For a slice of the mesh,
devices with common coordinates along some axes, the elements that none of them holds come in over these axes,
on average (needed - held) / devices of the slice on each. Let D_j be the most bytes that a device of a slice
fixed along the j slowest axes lacks on average, and b_1 < b_2 < ... the bandwidths (b_(k+1) infinite):

    seconds = sum over j of D_j * (1 / b_j - 1 / b_(j+1))  +  sum over axes of hops * latency

The first sum is a lower bound: with t_i bytes over axis i, the sum of t_i / b_i is that of (t_1 + ... + t_j)
* (1 / b_j - 1 / b_(j+1)), and t_1 + ... + t_j is at least D_j. One all_gather or all_slice along whole axes
attains it, and so does one all_to_all along one axis. Hops: the largest distance along the axis, (p - 1) *
stride for each prime part p along which a slice lacks elements (an axis with several prime factors counts as
a whole).

The triangle inequality holds for all shardings, also with sub-axes and uneven parts: the elements that C
needs and A lacks are among those that C needs and B lacks, and those that B needs and A lacks; maxima and
sums with positive weights preserve that. Not here: the sequence of Shardy (`collectives.py`) and its cost
(`cost.py`).

>>> from shardy_py.hardware.cost import Link
>>> from shardy_py.sharding import DimensionSharding
>>> rows, whole = (TensorSharding("mesh", (DimensionSharding(axes),)) for axes in ((AxisRef("x"),), ()))
>>> reshard_cost(rows, whole, Mesh.of(x=4), (100,), 4, CostModel("even", Link(1e9, 1e-6)))
Cost(bytes=300, seconds=3.3e-06)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, inf, isqrt, prod
from typing import TYPE_CHECKING, TypeAlias

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.sharding import Axes, AxisRef, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.slices import Split, check_listed, device_slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"
Sizes: TypeAlias = "NDArray[np.float64]"


def reshard_cost(
    source: TensorSharding,
    target: TensorSharding,
    mesh: Mesh,
    shape: Sequence[int | None],
    element_bytes: float,
    model: CostModel,
) -> Cost:
    """A lower bound for any sequence of collectives: bytes into the device that lacks most, and seconds.

    mesh: that of both shardings, in any order of devices.
    shape: of the global tensor. element_bytes: 0.5 for a type of four bits.
    Unreduced axes are ignored: reductions have their own cost.

    Raises:
        ShardyError: as `device_slices`; or the mesh has more devices than can be listed.
    """
    check_listed(mesh.device_count)
    before, after = (device_slices(sharding, mesh, shape) for sharding in (source, target))
    splits = zip(before.shape, before.splits, after.splits, strict=True)
    dimensions = tuple(_dimension(size, old, new) for size, (old,), (new,) in splits)
    move = _Move(mesh, dimensions, element_bytes)
    by_speed = _lacking_by_speed(move, model)
    speeds = [*(speed for speed, _ in by_speed), inf]
    if not by_speed or not by_speed[-1][1]:
        return Cost()
    seconds = sum(
        lacking * (1 / speed - 1 / faster)
        for (speed, lacking), faster in zip(by_speed, speeds[1:], strict=True)
    )
    return Cost(ceil(by_speed[-1][1]), seconds + _latency_seconds(move, model))


@dataclass(frozen=True, slots=True)
class _Dimension:
    """One dimension before and after, split wherever either sharding splits it.

    lengths: of the pieces, in elements. old_parts, new_parts: the parts of each split that they belong to.
    """

    old: Split
    new: Split
    lengths: Integers
    old_parts: Integers
    new_parts: Integers


@dataclass(frozen=True, slots=True)
class _Move:
    """axes: those of more than one device that shard a dimension before or after."""

    mesh: Mesh
    dimensions: tuple[_Dimension, ...]
    element_bytes: float

    @property
    def axes(self) -> tuple[AxisRef, ...]:
        used = {axis.name for d in self.dimensions for axis in (*d.old.axes, *d.new.axes)}
        return tuple(AxisRef(axis.name) for axis in self.mesh.axes if axis.size > 1 and axis.name in used)

    def bytes_lacking(self, fixed: Sequence[AxisRef], slices: int) -> float:
        """The most bytes that any slice of the mesh needs and does not hold, per device of the slice.

        fixed: a slice has one coordinate along each. slices: the number of slices of the mesh.
        """
        needed = held = np.ones(1)
        for dimension in self.dimensions:
            new, kept = self._sizes(dimension, fixed)
            needed, held = needed * new, held * kept
        return float((needed - held).max()) * self.element_bytes * slices / self.mesh.device_count

    def _sizes(self, dimension: _Dimension, fixed: Sequence[AxisRef]) -> tuple[Sizes, Sizes]:
        """The elements of a dimension that slices need, and those they hold, over the grid of `fixed`."""
        lengths = dimension.lengths
        old_of_part, old_of_slice, _ = _keys(dimension.old.axes, fixed, self.mesh)
        new_of_part, new_of_slice, count = _keys(dimension.new.axes, fixed, self.mesh)
        new = new_of_part[dimension.new_parts]
        needed: Sizes = np.bincount(new, lengths, minlength=count).astype(np.float64)[new_of_slice]
        keys, places = np.unique(old_of_part[dimension.old_parts] * count + new, return_inverse=True)
        kept = np.append(np.bincount(places, lengths, minlength=len(keys)), 0.0)
        wanted = old_of_slice * count + new_of_slice
        found = np.searchsorted(keys, wanted)
        is_there = np.append(keys, -1)[found] == wanted
        return needed, np.where(is_there, kept[found], 0.0)


def _lacking_by_speed(move: _Move, model: CostModel) -> list[tuple[float, float]]:
    """The bandwidths b_j, slowest first, each with D_j in bytes; axes of one bandwidth count as one."""
    sizes = {axis.name: axis.size for axis in move.mesh.axes if axis.size > 1}
    speeds = {name: model.link_of(name).bytes_per_second for name in sizes}
    found: list[tuple[float, float]] = []
    for speed in sorted(set(speeds.values())):
        slow = {name for name, other in speeds.items() if other <= speed}
        fixed = [axis for axis in move.axes if axis.name in slow]
        found.append((speed, move.bytes_lacking(fixed, prod(sizes[name] for name in slow))))
    return found


def _latency_seconds(move: _Move, model: CostModel) -> float:
    seconds = 0.0
    for axis in move.axes:
        parts = _prime_parts(axis, move.mesh)
        hops = sum(hop for part, hop in parts if move.bytes_lacking((part,), part.size(move.mesh)))
        seconds += hops * model.link_of(axis.name).latency_seconds
    return seconds


def _dimension(size: int, old: Split, new: Split) -> _Dimension:
    by_old, by_new = (max(split.part_size, 1) for split in (old, new))  # 0 if there are no elements
    starts: Integers = np.union1d(
        np.arange(0, size, by_old, dtype=np.int64), np.arange(0, size, by_new, dtype=np.int64)
    )
    lengths: Integers = np.diff(starts, append=size)
    return _Dimension(old, new, lengths, starts // by_old, starts // by_new)


def _keys(axes: Axes, fixed: Sequence[AxisRef], mesh: Mesh) -> tuple[Integers, Integers, int]:
    """Keys of parts and slices: a slice of the mesh holds the parts of a dimension with its key.

    Returns:
        by part number, and over the grid of `fixed`: the coordinate along the common sub-axes of `axes`,
        which shard the dimension, and `fixed`; and the number of such coordinates.
    """
    left = count = prod(axis.size(mesh) for axis in axes)
    numbers = np.arange(count, dtype=np.int64)
    of_part, count = np.zeros(count, np.int64), 1
    of_slice = np.zeros((1,) * max(len(fixed), 1), np.int64)
    for axis in axes:
        left //= axis.size(mesh)
        along = numbers // left
        for position, other in enumerate(fixed):
            common = axis.overlap(other)
            if common is None:
                continue
            size = common.size(mesh)
            grid = np.arange(other.size(mesh), dtype=np.int64)
            grid = grid.reshape([-1 if i == position else 1 for i in range(len(fixed))])
            of_part = of_part * size + _coordinate(along, axis, common, mesh)
            of_slice = of_slice * size + _coordinate(grid, other, common, mesh)
            count *= size
    return of_part, of_slice, count


def _coordinate(along: Integers, axis: AxisRef, part: AxisRef, mesh: Mesh) -> Integers:
    """The coordinates along a part of `axis`, given coordinates along `axis`, modulo its size."""
    return along // (axis.next_pre_size(mesh) // part.next_pre_size(mesh)) % part.size(mesh)


def _prime_parts(axis: AxisRef, mesh: Mesh) -> Iterator[tuple[AxisRef, int]]:
    """The parts that no sub-axis splits, each with the number of hops from its first to its last."""
    size = axis.size(mesh)
    prime = next((p for p in range(2, isqrt(size) + 1) if size % p == 0), size)
    parts = [prime**number for number in range(size.bit_length()) if prime**number < size]
    if prime ** len(parts) != size or len(parts) == 1:
        yield axis, size - 1
        return
    for before in parts:
        yield AxisRef(axis.name, SubAxis(before, prime)), (prime - 1) * (size // (before * prime))
