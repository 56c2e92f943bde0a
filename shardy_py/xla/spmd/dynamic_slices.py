"""Slices whose offsets are values of the program, and their updates.

Source: openxla/xla, `HandleDynamicSlice` and `HandleDynamicUpdateSlice` in
xla/service/spmd/spmd_partitioner.cc, `AnalyzeDynamicUpdateSlice` in spmd_partitioner_util.cc there. Not here:
slices at fixed offsets (`windows.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",), ()])
>>> row = dynamically_sliced(HeldTensor.of((8, 8), rows, "f32"), (1, 8), Tiling.replicated(2, 4))
>>> [(each.kind, each.held_shape) for each in row.collectives]
[('all_gather', (2, 8))]
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.xla.spmd.movement import replicating, result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling


def dynamically_sliced(operand: HeldTensor, sizes: Sequence[int], target: Tiling) -> HeldTensor:
    """The result of a slice of `sizes`; dimensions that are sliced must not be sharded in the result."""
    is_sliced = [size != whole for size, whole in zip(sizes, operand.shape, strict=True)]
    is_split = any(s and tiles > 1 for s, tiles in zip(is_sliced, target.dimensions, strict=True))
    if target.is_replicated or is_split:
        return replicating([operand], sizes, operand.element, target)
    return result_of([reshard(operand, target)], sizes, target, operand.element)


def dynamically_updated(
    operand: HeldTensor, update: HeldTensor, starts: Sequence[int | None], target: Tiling
) -> HeldTensor:
    """The result of an update at `starts`, which are None where they are not constant.

    An update that lies in one tile for sure leaves the operand sharded; else the updated dimensions are whole
    meanwhile.
    """
    shape, element = operand.shape, operand.element
    if target.is_replicated:
        return replicating([operand, update], shape, element, target)
    sliced = [i for i, size in enumerate(update.shape) if size != shape[i]]
    split = [i for i in sliced if target.dimensions[i] > 1]
    if split and all(
        _is_in_one_tile(shape[i], update.shape[i], starts[i], target.dimensions[i]) for i in split
    ):
        moved = [reshard(operand, target), reshard(update, target.replicated_on(sliced))]
        return result_of(moved, shape, target, element)
    finer = operand.tiling if operand.tiling.tile_count > target.tile_count else target
    near = finer.replicated_on(sliced)
    return reshard(result_of([reshard(operand, near), reshard(update, near)], shape, near, element), target)


def _is_in_one_tile(whole: int, size: int, start: int | None, tiles: int) -> bool:
    if size == 1:
        return True
    tile = -(-whole // tiles)
    return start is not None and start // tile == (start + size - 1) // tile
