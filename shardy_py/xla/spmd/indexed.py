"""The common part of gathers and scatters: dimensions that correspond, and tilings along them.

An operand dimension passes through if slices have all of it; a batching dimension corresponds to one of the
indices. The output of a gather is called `slices` here, as are the updates of a scatter. Source: openxla/xla,
xla/hlo/utils/hlo_sharding_util.cc and xla/service/spmd/spmd_partitioner_util.cc. Not here: the ways to
partition (`gathers.py`, `scatters.py`).

>>> from shardy_py.ops.dimensions import SliceDimensions
>>> numbers = SliceDimensions(offsets=(1,), collapsed=(0,), index_map=(0,), vector=1)
>>> rows = Dimensions((8, 4), (3, 1), 2, numbers)
>>> rows.passing((1, 4)), rows.indexed, rows.batches
(((1, 1),), ((0, 0),), ((0, 0),))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf, prod
from typing import TypeVar

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.ops.dimensions import Pairs, SliceDimensions
from shardy_py.xla.spmd.grouping import Grouped, aligned, group_on, ungrouped
from shardy_py.xla.spmd.matching import merged_into, per_group_shape
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.products import size_bytes
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling

Problem = TypeVar("Problem")
Found = TypeVar("Found")
Cost = tuple[float, float]
"""The bytes of the largest op, and the bytes sent, by which ways are compared."""
NEVER: Cost = (inf, inf)


@dataclass(frozen=True)
class Dimensions:
    """The dimensions of a gather, or of a scatter with updates as slices, and how they correspond.

    operand, indices: the shapes. rank: of the slices.
    """

    operand: Shape
    indices: Shape
    rank: int
    numbers: SliceDimensions

    @cached_property
    def batches(self) -> Pairs:
        """Dimensions of the indices and of the slices that correspond."""
        inside = (i for i in range(len(self.indices)) if i != self.numbers.vector)
        return tuple(zip(inside, self.numbers.outer(self.rank), strict=True))

    @cached_property
    def indexed(self) -> Pairs:
        """The same without dimensions along which operand and indices correspond."""
        return tuple(pair for pair in self.batches if pair[0] not in self.numbers.indices_batching)

    def passing(self, sizes: Sequence[int], operand: Shape | None = None) -> Pairs:
        """Dimensions of the operand and of the slices that correspond, for slices of `sizes` in the operand.

        operand: its shape, if it is a part of the whole.
        """
        shape = self.operand if operand is None else operand
        pairs = self.numbers.windowed(len(shape))
        return tuple((i, at) for i, at in pairs if sizes[i] == shape[i])

    def parallel(self, pairs: Pairs) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The dimensions of indices, operand and slices for pairs of the first two."""
        outside = dict(self.batches)
        return tuple(i for i, _ in pairs), tuple(j for _, j in pairs), tuple(outside[i] for i, _ in pairs)

    def picked(self, tiling: Tiling, sizes: Sequence[int]) -> tuple[int, ...]:
        """Dimensions of the operand of which slices have one element, if any of them is sharded."""
        if tiling.is_replicated:
            return ()
        found = tuple(i for i in self.numbers.index_map if sizes[i] == 1)
        return found if prod(tiling.dimensions[i] for i in found) > 1 else ()

    def index_priority(self) -> tuple[int, ...]:
        """The dimensions of the indices, those to be replicated first in front."""
        vector = (self.numbers.vector,) if self.numbers.vector < len(self.indices) else ()
        free = [
            i
            for i in range(len(self.indices))
            if i not in (self.numbers.vector, *self.numbers.indices_batching)
        ]
        return (*vector, *free, *self.numbers.indices_batching)

    def slices_priority(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The dimensions of the slices, those to be replicated first in front."""
        passing = [at for _, at in self.passing(sizes)]
        return (*(i for i in range(self.rank) if i not in passing), *passing)

    def operand_priority(self, tiling: Tiling, sizes: Sequence[int]) -> tuple[int, ...]:
        """The dimensions of the operand, those to be replicated first in front."""
        return (*self.picked(tiling, sizes), *(i for i, _ in self.passing(sizes)))


def reverse(pairs: Pairs) -> Pairs:
    """The pairs with their sides changed."""
    return tuple((b, a) for a, b in pairs)


def tiles_of(tiling: Tiling, dimensions: Iterable[int]) -> int:
    """The number of tiles along some dimensions."""
    return prod(tiling.dimensions[i] for i in dimensions)


def in_group(value: HeldTensor, grouped: Grouped) -> HeldTensor:
    """The value of one group of devices."""
    moved = reshard(value, ungrouped(grouped))
    shape = per_group_shape(grouped, value.shape)
    return replace(moved, shape=shape, tiling=grouped.tiling, earlier=())


def grouped_on_replicas(tiling: Tiling, groups: int, priority: Sequence[int]) -> Grouped:
    """The tiling as one of `groups`, each of which has all tiles.

    If it has too few replicas, dimensions are replicated in the order `priority`; then the devices are taken
    in ascending order. If that is not enough, each group has the whole tensor.
    """
    if tiling.is_partial and tiling.replicas % groups == 0:
        return group_on(tiling, [tiling.rank], [tiling.replicas // groups])
    if not tiling.is_replicated:
        replicas = tiling.replicas
        if (replicas * tiles_of(tiling, priority)) % groups == 0 and groups % replicas == 0:
            sizes = _borrowed(tiling.dimensions, groups // replicas, priority)
            if sizes is not None and prod(sizes) > 1:
                count = tiling.device_count
                in_order = Tiling(sizes, count // prod(sizes), tuple(range(count)), tiling.names)
                return group_on(in_order, [tiling.rank])
    size = tiling.device_count // groups
    listed = tuple(tuple(range(g * size, (g + 1) * size)) for g in range(groups))
    inner = Tiling.replicated(tiling.rank, size, tiling.named(listed[0]))
    return Grouped(listed, (tiling.rank,), (groups,), inner, tiling.names)


def _borrowed(sizes: Shape, wanted: int, priority: Sequence[int]) -> Shape | None:
    """The tiles that are left after replicating `wanted` of them; None if they are not such factors."""
    left = list(sizes)
    for dimension in priority:
        for factor in _small_factors(sizes[dimension]):
            if wanted % factor == 0:
                left[dimension] //= factor
                wanted //= factor
                if wanted == 1:
                    return tuple(left)
    return None


def _small_factors(number: int) -> list[int]:
    """The prime factors as the partitioner finds them: the largest is missing unless it is 2 or repeated."""
    found: list[int] = []
    while number % 2 == 0:
        found.append(2)
        number //= 2
    factor = 3
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 2
    return found


def merged_beside(tiling: Tiling, more: Tiling, grouped: Iterable[int]) -> Tiling:
    """The tiling of slices with tiles of `more`, but not along dimensions left to groups of devices."""
    if Behaviour.MERGED_TILES_KEEP_GROUPS.holds:
        more = more.replicated_on(grouped)
    return merged_into(tiling, more) or tiling


def sharded_alike(
    operand: Tiling, indices: Tiling, of_operand: Sequence[int], of_indices: Sequence[int]
) -> tuple[Tiling, Tiling] | None:
    """The tilings of operand and indices sharded alike along dimensions that correspond; None: neither is.

    The one that has fewer tiles along them takes more from its replicas. The partitioner forgets their axes
    here.
    """
    operand, indices = operand.by(None), indices.by(None)
    if tiles_of(operand, of_operand) == tiles_of(indices, of_indices) == 1:
        return None
    if indices.is_replicated:
        return operand, _matching(operand, of_operand, of_indices, indices.rank)
    if operand.is_replicated:
        return _matching(indices, of_indices, of_operand, operand.rank), indices
    if tiles_of(indices, of_indices) > tiles_of(operand, of_operand):
        finer = _with_more_tiles(operand, of_operand, indices, of_indices)
        operand = operand if finer is None else finer
    elif tiles_of(indices, of_indices) < tiles_of(operand, of_operand):
        finer = _with_more_tiles(indices, of_indices, operand, of_operand)
        indices = indices if finer is None else finer
    else:
        finer = operand
    if finer is None:
        return None
    sizes = list(operand.dimensions)
    for i, j in zip(of_operand, of_indices, strict=True):
        sizes[i] = indices.dimensions[j]
    return aligned_on(operand.reshaped(sizes), of_operand, indices, of_indices), indices


def _with_more_tiles(
    tiling: Tiling, dimensions: Sequence[int], target: Tiling, of_target: Sequence[int]
) -> Tiling | None:
    """The tiling with the tiles of `target` along dimensions that correspond, taken from its replicas."""
    if not tiling.is_partial:
        return None
    sizes, replicas = list(tiling.dimensions), tiling.replicas
    for i, j in zip(dimensions, of_target, strict=True):
        wanted, tiles = target.dimensions[j], tiling.dimensions[i]
        if wanted % tiles or replicas % (wanted // tiles):
            return None
        sizes[i], replicas = wanted, replicas // (wanted // tiles)
    return aligned_on(tiling.reshaped(sizes), dimensions, target, of_target)


def _matching(source: Tiling, of_source: Sequence[int], dimensions: Sequence[int], rank: int) -> Tiling:
    """The tiling of another tensor along dimensions that correspond to those of `source`."""
    sizes = [1] * rank
    for i, j in zip(dimensions, of_source, strict=True):
        sizes[i] = source.dimensions[j]
    return aligned_on(source.reshaped(sizes), dimensions, source, of_source)


def aligned_on(
    tiling: Tiling, dimensions: Sequence[int], reference: Tiling, of_reference: Sequence[int]
) -> Tiling:
    """The tiling with the groups of devices of `reference` along dimensions that correspond."""
    return ungrouped(aligned(group_on(tiling, dimensions), group_on(reference, of_reference)))


def by_cheapest(
    problem: Problem,
    ways: Sequence[Callable[[Problem, Callable[[Problem], Found]], Found | None]],
    cost: Callable[[Callable[[Problem, Callable[[Problem], Found]], Found | None], Problem], Cost],
    solve: Callable[[Problem], Found],
) -> Found | None:
    """The result of the first way that applies: the first of `ways`, then the others by ascending cost.

    solve: the problem of each group of devices.
    """
    first, *others = ways
    for way in (first, *sorted(others, key=lambda way: cost(way, problem))):
        found = way(problem, solve)
        if found is not None:
            return found
    return None


def costs(op_bytes: Iterable[int], collectives: Iterable[PlannedCollective]) -> Cost:
    """The measure by which the partitioner compares ways: its own estimate, not what devices receive."""
    memory = [*op_bytes]
    sent = 0
    for each in collectives:
        held, size = each.held_bytes, each.group_size
        made = held * size if each.kind == "all_gather" else held
        memory.append(held if each.kind == "all_reduce" else held + made)
        sent += {"all_reduce": 2 * held, "collective_permute": held}.get(each.kind, made * (size - 1) // size)
    return (max(memory), sent) if memory and max(memory) else NEVER


def bytes_of(value: HeldTensor) -> int:
    """The bytes on each device."""
    return size_bytes(value.local, value.element)
