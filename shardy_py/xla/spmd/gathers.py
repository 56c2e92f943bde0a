"""Gathers: slices of an operand at the places that indices name.

Four ways, each of which leaves some dimensions to groups of devices and solves the rest in them: along
batching dimensions; dimensions that slices have whole; dimensions of which slices have one element, where
each device masks the slices of others and they are summed; and dimensions of the indices. The first is tried
first, the others in the order of the bytes of their largest op.
Source: openxla/xla, xla/service/spmd/gather_scatter_handler.cc. Not here: what scatters share (`indexed.py`).

>>> from shardy_py.sharding import Mesh
>>> from shardy_py.ops.dimensions import SliceDimensions
>>> numbers = SliceDimensions(offsets=(1,), collapsed=(0,), index_map=(0,), vector=1)
>>> rows = Dimensions((8, 4), (3, 1), 2, numbers)
>>> table = HeldTensor.of((8, 4), Tiling.of(Mesh.of(x=4), [("x",), ()]), "f32")
>>> indices = HeldTensor.of((3, 1), Tiling.replicated(2, 4), "s32")
>>> found = gathered_at(table, indices, rows, (1, 4), (3, 4), Tiling.replicated(2, 4))
>>> [(each.kind, each.held_shape) for each in found.collectives]
[('all_reduce', (3, 4))]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shardy_py.base.records import dataclass
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
from shardy_py.xla.spmd.matching import along, merged_into, per_group_shape
from shardy_py.xla.spmd.movement import result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling


@dataclass(frozen=True)
class _Gather:
    """A gather of the devices of one group: sizes of the slices, shape and tiling of the result.

    whole: the shape of the result of all devices.
    """

    operand: HeldTensor
    indices: HeldTensor
    dims: Dimensions
    sizes: Shape
    shape: Shape
    target: Tiling
    whole: Shape

    def inside(
        self, operand: Grouped, indices: Grouped, output: Grouped, sizes: Shape | None = None
    ) -> _Gather:
        """The gather of one group."""
        return replace(
            self,
            operand=in_group(self.operand, operand),
            indices=in_group(self.indices, indices),
            sizes=self.sizes if sizes is None else sizes,
            shape=per_group_shape(output, self.shape),
            target=output.tiling,
        )

    def outside(self, found: HeldTensor, tiling: Tiling, shape: Shape | None = None) -> HeldTensor:
        """The result of all groups from that of one."""
        made = replace(found, shape=shape or self.shape, tiling=tiling, earlier=(), chain=None)
        return reshard(made, self.target)


Solve = Callable[[_Gather], HeldTensor]
Way = Callable[[_Gather, Solve], HeldTensor | None]


def gathered_at(
    operand: HeldTensor,
    indices: HeldTensor,
    dims: Dimensions,
    sizes: Sequence[int],
    shape: Sequence[int],
    target: Tiling,
) -> HeldTensor:
    """The result of a gather of slices of `sizes` from the operand; the result has `shape`."""
    return _solved(_Gather(operand, indices, dims, tuple(sizes), tuple(shape), target, tuple(shape)))


def _solved(gather: _Gather) -> HeldTensor:
    found = by_cheapest(gather, _WAYS, _cost, _solved)
    return _whole(gather) if found is None else found


def _whole(gather: _Gather) -> HeldTensor:
    operands = [replicated(gather.operand), replicated(gather.indices)]
    tiling = Tiling.replicated(len(gather.shape), gather.target.device_count, gather.target.names)
    return reshard(result_of(operands, gather.shape, tiling, gather.operand.element), gather.target)


def _cost(way: Way, gather: _Gather) -> Cost:
    """The cost of a way if its rest is whole on each device."""
    bare = replace(
        gather,
        operand=replace(gather.operand, collectives=()),
        indices=replace(gather.indices, collectives=()),
    )
    memory: list[int] = []

    def whole(inner: _Gather) -> HeldTensor:
        values = [replicated(inner.operand), replicated(inner.indices)]
        made = HeldTensor.of(inner.shape, Tiling.replicated(len(inner.shape), 1), inner.operand.element)
        memory.append(sum(map(bytes_of, [*values, made])))
        return _whole(inner)

    found = way(bare, whole)
    return NEVER if found is None else costs(memory, found.collectives)


def _along_batching(gather: _Gather, solve: Solve) -> HeldTensor | None:
    """Along batching dimensions."""
    pairs = reverse(gather.dims.numbers.batched)
    of_indices, of_operand, of_output = gather.dims.parallel(pairs)
    if not pairs:
        return None
    alike = sharded_alike(gather.operand.tiling, gather.indices.tiling, of_operand, of_indices)
    if alike is None:
        return None
    gather = replace(
        gather, operand=reshard(gather.operand, alike[0]), indices=reshard(gather.indices, alike[1])
    )
    rank, tilings = len(gather.shape), (gather.operand.tiling, gather.indices.tiling)
    output = along(tilings[1], gather.dims.batches, rank)
    passing = along(
        tilings[0].replicated_on(of_operand), gather.dims.passing(gather.sizes, gather.operand.shape), rank
    )
    output = merged_into(output, passing) or output
    indices = group_on(tilings[1], of_indices)
    operand = aligned(group_on(tilings[0], of_operand), indices)
    grouped = aligned(group_on(output, of_output), indices)
    found = solve(gather.inside(operand, indices, grouped))
    return gather.outside(found, ungrouped(grouped))


def _along_passing(gather: _Gather, solve: Solve) -> HeldTensor | None:
    """Along dimensions that slices have whole."""
    if gather.operand.tiling.is_replicated:
        return None
    dims, tiling = gather.dims, gather.operand.tiling
    output = along(tiling, dims.passing(gather.sizes, gather.operand.shape), len(gather.shape))
    if output.is_replicated:
        return None
    of_operand = [i for i, _ in dims.passing(gather.sizes)]
    of_output = [i for i, tiles in enumerate(output.dimensions) if tiles > 1]
    sizes = tuple(gather.operand.local[i] if i in of_operand else size for i, size in enumerate(gather.sizes))
    output = merged_beside(output, gather.target, of_output)
    grouped = group_on(output, of_output)
    operand = aligned(group_on(tiling, of_operand), grouped)
    groups = tiles_of(tiling, of_operand)
    indices = aligned(grouped_on_replicas(gather.indices.tiling, groups, dims.index_priority()), grouped)
    return gather.outside(solve(gather.inside(operand, indices, grouped, sizes)), output)


def _along_picked(gather: _Gather, solve: Solve) -> HeldTensor | None:
    """Along dimensions of which slices have one element; the slices are masked and summed."""
    dims, tiling = gather.dims, gather.operand.tiling
    picked = dims.picked(tiling, gather.sizes)
    if not picked:
        return None
    groups = tiles_of(tiling, picked)
    operand = group_on(tiling, picked)

    def replicas(tiling: Tiling, priority: Sequence[int]) -> Grouped:
        return aligned(grouped_on_replicas(tiling, groups, priority), operand)

    of_output = dims.slices_priority(gather.sizes)
    indices = replicas(gather.indices.tiling, dims.index_priority())
    output = replicas(gather.target, of_output)
    if output.tiling.is_replicated and not indices.tiling.is_replicated:
        output = replicas(along(gather.indices.tiling, dims.batches, len(gather.shape)), of_output)
    if indices.tiling.is_replicated and not output.tiling.is_replicated:
        near = along(gather.target, reverse(dims.batches), len(gather.indices.shape))
        indices = replicas(near, dims.index_priority())
    moved = reshard(gather.indices, ungrouped(indices))
    found = solve(replace(gather, indices=moved).inside(operand, indices, output))
    places = along(ungrouped(output), reverse(dims.batches), len(gather.indices.shape))
    mask = reshard(result_of((), gather.indices.shape, moved.tiling, "pred"), places)
    found = replace(found, collectives=(*found.collectives, *mask.collectives))
    for i in reversed(picked):
        if tiling.dimensions[i] > 1:
            found = found.sent("all_reduce", tiling.along([i]), local=found.local)
    return gather.outside(found, ungrouped(output))


def _along_indices(gather: _Gather, solve: Solve) -> HeldTensor | None:
    """Along dimensions of the indices."""
    dims, indices = gather.dims, gather.indices
    if indices.tiling.is_replicated:
        return None
    near = merged_into(indices.tiling, along(gather.target, reverse(dims.indexed), len(indices.shape)))
    if near is not None:
        indices = reshard(indices, near)
    output = along(indices.tiling, dims.indexed, len(gather.shape))
    if output.is_replicated:
        return None
    of_output = [at for _, at in dims.indexed]
    output = merged_beside(output, gather.target, of_output)
    of_indices = [i for i, _ in dims.indexed]
    grouped = group_on(output, of_output)
    of_each = aligned(group_on(indices.tiling, of_indices), grouped)
    priority = dims.operand_priority(gather.operand.tiling, gather.sizes)
    groups = tiles_of(indices.tiling, of_indices)
    operand = aligned(grouped_on_replicas(gather.operand.tiling, groups, priority), grouped)
    found = solve(replace(gather, indices=indices).inside(operand, of_each, grouped))
    return gather.outside(found, output, gather.whole)  # of all groups, as in the partitioner


_WAYS: tuple[Way, ...] = (_along_batching, _along_passing, _along_picked, _along_indices)
"""The first is tried first, the others in the order of their costs."""
