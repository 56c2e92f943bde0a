"""Scatters: updates of an operand at the places that indices name.

The ways of gathers, reversed. Along dimensions of which updates have one element each device skips updates of
other tiles; along dimensions of the indices each device applies its updates to zeros, and the results are
summed, which needs an update that is a reduction. Source: openxla/xla,
xla/service/spmd/gather_scatter_handler.cc. Not here: what gathers share (`indexed.py`).

>>> from shardy_py.sharding import Mesh
>>> from shardy_py.ops.dimensions import SliceDimensions
>>> numbers = SliceDimensions(offsets=(1,), collapsed=(0,), index_map=(0,), vector=1)
>>> rows = Dimensions((8, 4), (4, 1), 2, numbers)
>>> whole = Tiling.replicated(2, 4)
>>> table, updates = HeldTensor.of((8, 4), whole, "f32"), HeldTensor.of((4, 4), whole, "f32")
>>> indices = HeldTensor.of((4, 1), Tiling.of(Mesh.of(x=4), [("x",), ()]), "s32")
>>> found, = scattered_at([table], indices, [updates], rows, whole, is_reduction=True)
>>> [(each.kind, each.held_shape) for each in found.collectives]
[('all_reduce', (8, 4))]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.xla.spmd.common_axes import common_axes
from shardy_py.xla.spmd.grouping import Grouped, aligned, group_on, ungrouped
from shardy_py.xla.spmd.indexed import (
    NEVER,
    Cost,
    Dimensions,
    by_cheapest,
    bytes_of,
    costs,
    grouped_on_replicas,
    in_group,
    merged_beside,
    reverse,
    sharded_alike,
    tiles_of,
)
from shardy_py.xla.spmd.matching import along, merged_into
from shardy_py.xla.spmd.movement import result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling

Results = tuple[HeldTensor, ...]


@dataclass(frozen=True)
class _Scatter:
    """A scatter of the devices of one group: sizes of the updates in the operand, tiling of the results.

    All operands have one shape and tiling, as have all updates. is_estimate: only its cost is of interest.
    """

    operands: Results
    indices: HeldTensor
    updates: Results
    dims: Dimensions
    sizes: Shape
    target: Tiling
    is_reduction: bool
    is_estimate: bool = False

    @property
    def tiling(self) -> Tiling:
        """The tiling of the operands."""
        return self.operands[0].tiling

    def inside(
        self, operand: Grouped, indices: Grouped, update: Grouped, sizes: Shape | None = None
    ) -> _Scatter:
        """The scatter of one group."""
        return replace(
            self,
            operands=tuple(in_group(value, operand) for value in self.operands),
            indices=in_group(self.indices, indices),
            updates=tuple(in_group(value, update) for value in self.updates),
            sizes=self.sizes if sizes is None else sizes,
            target=operand.tiling,
        )

    def outside(self, found: Results, operand: Grouped) -> Results:
        """The results of all groups from those of one."""
        tiling, shape = ungrouped(operand), self.operands[0].shape
        made = (replace(value, shape=shape, tiling=tiling, earlier=(), chain=None) for value in found)
        return tuple(reshard(value, self.target) for value in made)


Solve = Callable[[_Scatter], Results]
Way = Callable[[_Scatter, Solve], Results | None]


def scattered_at(
    operands: Sequence[HeldTensor],
    indices: HeldTensor,
    updates: Sequence[HeldTensor],
    dims: Dimensions,
    target: Tiling,
    *,
    is_reduction: bool,
) -> Results:
    """The results of a scatter in the tiles of `target`.

    is_reduction: whether an update is combined by one commutative op, such as a sum.
    """
    kept = dict(dims.numbers.windowed(len(dims.operand)))
    sizes = tuple(updates[0].shape[kept[i]] if i in kept else 1 for i in range(len(dims.operand)))
    if not indices.tiling.is_replicated and not indices.tiling.is_even(indices.shape):
        # With indices out of bounds as padding: not the value that it came from.
        indices = reshard(replace(replicated(indices), earlier=()), indices.tiling)
    return _solved(_Scatter(tuple(operands), indices, tuple(updates), dims, sizes, target, is_reduction))


def _solved(scatter: _Scatter) -> Results:
    found = by_cheapest(scatter, _WAYS, _cost, _solved)
    return _whole(scatter) if found is None else found


def _whole(scatter: _Scatter) -> Results:
    shape = scatter.operands[0].shape
    tiling = Tiling.replicated(len(shape), scatter.target.device_count, scatter.target.names)
    indices = replicated(scatter.indices)
    pairs = zip(scatter.operands, scatter.updates, strict=True)
    made = (
        result_of([replicated(operand), *([indices] if i == 0 else []), replicated(update)], shape, tiling, e)
        for i, (operand, update) in enumerate(pairs)
        for e in [operand.element]
    )
    return tuple(reshard(value, scatter.target) for value in made)


def _cost(way: Way, scatter: _Scatter) -> Cost:
    """The cost of a way if its rest is whole on each device."""
    bare = replace(
        scatter,
        operands=tuple(replace(value, collectives=()) for value in scatter.operands),
        indices=replace(scatter.indices, collectives=()),
        updates=tuple(replace(value, collectives=()) for value in scatter.updates),
        is_estimate=True,
    )
    memory: list[int] = []

    def whole(inner: _Scatter) -> Results:
        values = (*inner.operands, inner.indices, *inner.updates)
        memory.append(sum(bytes_of(replicated(value)) for value in values))
        return _whole(inner)

    found = way(bare, whole)
    return NEVER if found is None else costs(memory, (each for value in found for each in value.collectives))


def _along_batching(scatter: _Scatter, solve: Solve) -> Results | None:
    """Along batching dimensions."""
    pairs = reverse(scatter.dims.numbers.batched)
    of_indices, of_operand, of_updates = scatter.dims.parallel(pairs)
    if not pairs:
        return None
    alike = sharded_alike(scatter.tiling, scatter.indices.tiling, of_operand, of_indices)
    if alike is None:
        return None
    dims, shape = scatter.dims, scatter.operands[0].shape
    moved = replace(
        scatter,
        operands=tuple(reshard(value, alike[0]) for value in scatter.operands),
        indices=reshard(scatter.indices, alike[1]),
    )
    near = along(moved.indices.tiling, dims.batches, dims.rank)
    passing = along(moved.tiling.replicated_on(of_operand), dims.passing(scatter.sizes, shape), dims.rank)
    near = merged_into(near, passing) or near
    moved = replace(moved, updates=tuple(reshard(value, near) for value in scatter.updates))
    indices = group_on(moved.indices.tiling, of_indices)
    operand = aligned(group_on(moved.tiling, of_operand), indices)
    update = aligned(group_on(near, of_updates), indices)
    return scatter.outside(solve(moved.inside(operand, indices, update)), operand)


def _along_passing(scatter: _Scatter, solve: Solve) -> Results | None:
    """Along dimensions that updates have whole."""
    dims, tiling, value = scatter.dims, scatter.tiling, scatter.operands[0]
    if tiling.is_replicated:
        return None
    near = along(tiling, dims.passing(scatter.sizes, value.shape), dims.rank)
    if near.is_replicated:
        return None
    of_operand = [i for i, _ in dims.passing(scatter.sizes)]
    of_updates = [i for i, tiles in enumerate(near.dimensions) if tiles > 1]
    sizes = tuple(value.local[i] if i in of_operand else size for i, size in enumerate(scatter.sizes))
    near = merged_beside(near, scatter.updates[0].tiling, of_updates)
    update = group_on(near, of_updates)
    operand = aligned(group_on(tiling, of_operand), update)
    groups = tiles_of(tiling, of_operand)
    indices = aligned(grouped_on_replicas(scatter.indices.tiling, groups, dims.index_priority()), update)
    return scatter.outside(solve(scatter.inside(operand, indices, update, sizes)), operand)


def _along_picked(scatter: _Scatter, solve: Solve) -> Results | None:
    """Along dimensions of which updates have one element; updates of other tiles have no effect."""
    dims, tiling = scatter.dims, scatter.tiling
    picked = dims.picked(tiling, scatter.sizes)
    if not picked:
        return None
    operand = group_on(tiling, picked)

    def replicas(tiling: Tiling, priority: Sequence[int]) -> Grouped:
        return aligned(grouped_on_replicas(tiling, len(operand.groups), priority), operand)

    given, of_updates = scatter.updates[0].tiling, dims.slices_priority(scatter.sizes)
    indices = replicas(scatter.indices.tiling, dims.index_priority())
    update = replicas(given, of_updates)
    if update.tiling.is_replicated and not indices.tiling.is_replicated:
        update = replicas(along(scatter.indices.tiling, dims.batches, dims.rank), of_updates)
    if indices.tiling.is_replicated and not update.tiling.is_replicated:
        near = along(given, reverse(dims.batches), len(dims.indices))
        indices = replicas(near, dims.index_priority())
    return scatter.outside(solve(scatter.inside(operand, indices, update)), operand)


def _along_indices(scatter: _Scatter, solve: Solve) -> Results | None:
    """Along dimensions of the indices; the results are summed."""
    dims, indices = scatter.dims, scatter.indices
    if not scatter.is_estimate and Behaviour.SCATTER_GATHERS_CONFLICTS.holds:
        scatter = replace(scatter, updates=_without_conflicts(scatter))
    if not scatter.is_reduction:
        return None
    given = scatter.updates[0].tiling
    near = merged_into(indices.tiling, along(given, reverse(dims.indexed), len(dims.indices)))
    if near is not None:
        indices = reshard(indices, near)
    passed = along(indices.tiling, dims.indexed, dims.rank)
    if passed.is_replicated:
        return None
    of_updates = [at for _, at in dims.indexed]
    passed = merged_beside(passed, given, of_updates)
    of_indices = [i for i, _ in dims.indexed]
    update = group_on(passed, of_updates)
    groups = tiles_of(indices.tiling, of_indices)
    priority = dims.operand_priority(scatter.tiling, scatter.sizes)
    operand = aligned(grouped_on_replicas(scatter.tiling, groups, priority), update)
    of_each = aligned(group_on(indices.tiling, of_indices), update)
    found = solve(replace(scatter, indices=indices).inside(operand, of_each, update))
    for i in reversed(of_indices):
        if indices.tiling.dimensions[i] > 1:
            devices = indices.tiling.along([i])
            found = tuple(value.sent("all_reduce", devices, local=value.local) for value in found)
    return scatter.outside(found, operand)


def _without_conflicts(scatter: _Scatter) -> Results:
    """The updates with those dimensions whole that have an axis of a dimension that the indices address."""
    dims, (operand, update) = scatter.dims, (scatter.tiling, scatter.updates[0].tiling)
    if not dims.numbers.offsets or operand.is_replicated or update.is_replicated:
        return scatter.updates
    conflicts = common_axes(operand, dims.numbers.index_map, update, dims.numbers.outer(dims.rank))
    return tuple(reshard(value, value.tiling.replicated_on(conflicts)) for value in scatter.updates)


_WAYS: tuple[Way, ...] = (_along_batching, _along_passing, _along_picked, _along_indices)
"""The first is tried first, the others in the order of their costs."""
