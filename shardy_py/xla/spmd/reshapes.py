"""Reshapes: tiles pass from dimensions that are split or merged to those that they become.

Where the tiles of the result are tiles of the operand, nothing is sent. Else dimensions that do correspond
are left to groups of devices, uneven tiles of one dimension exchange halos, and what remains is gathered.
Source: openxla/xla, `HandleReshape` in xla/service/spmd/spmd_partitioner.cc, `ReshapeSharding` and
`PropagateShardingThroughReshape` in xla/hlo/utils/hlo_sharding_util.cc.

>>> from shardy_py.sharding import Mesh
>>> mesh = Mesh.of(x=4)
>>> rows, blocks = Tiling.of(mesh, [("x",), ()]), Tiling.of(mesh, [("x",), (), ()])
>>> reshaped(HeldTensor.of((8, 6), rows, "f32"), (4, 2, 6), blocks).collectives
()
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod

from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.grouping import aligned, group_on, ungrouped
from shardy_py.xla.spmd.matching import merged_into
from shardy_py.xla.spmd.movement import replicating, result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.spmd.windowed import windowed_input


def reshaped(operand: HeldTensor, shape: Sequence[int], target: Tiling) -> HeldTensor:
    """The result of a reshape to `shape` in the tiles of `target`."""
    shape = tuple(shape)
    if target.is_replicated:
        return replicating([operand], shape, operand.element, target)
    target = target.by(None)  # the partitioner forgets its axes
    ways = _ways(operand, shape, target)
    if not ways:
        return _with_groups(operand, shape, target)
    (source, tiling), *others = ways
    found = reshard(result_of([reshard(operand, source)], shape, tiling, operand.element), target)
    for near, other in others:
        if near == operand.tiling and other != target:
            known = result_of([operand], shape, other, operand.element)
            found = replace(found, earlier=(known, *found.earlier))
    return found


def _ways(operand: HeldTensor, shape: Shape, target: Tiling) -> list[tuple[Tiling, Tiling]]:
    """Tilings of the operand and of the result with the same tiles."""
    found: list[tuple[Tiling, Tiling]] = []
    for tiling in (target, tiling_of_reshape(operand.tiling, operand.shape, shape)):
        source = tiling and tiling_of_reshape(tiling, shape, operand.shape)
        if source and tiling and source.tile_count == tiling.tile_count:
            found.append((source, tiling))
    return found


def tiling_of_reshape(tiling: Tiling, source: Shape, target: Shape) -> Tiling | None:
    """The tiling of a tensor reshaped from `source` to `target`, its tiles those of `tiling` or larger.

    Dimensions pass their tiles on while they are split, merged behind an unsharded one or left alone. None:
    no tiles can be passed on.
    """
    if tiling.is_replicated:
        return Tiling.replicated(len(target), tiling.device_count, tiling.names)
    tiles = _passed_tiles(tiling.dimensions, source, target)
    if tiles is None:
        return None
    sizes, dropped = tiles
    return None if prod(sizes) == 1 else tiling.replicated_on(dropped).reshaped(sizes)


def _passed_tiles(
    tiles: Sequence[int], source: Shape, target: Shape
) -> tuple[tuple[int, ...], list[int]] | None:
    """The tiles of each dimension of the target, and sharded dimensions of size 1 that vanish.

    None: a dimension of uneven tiles is split.
    """
    found = [1] * len(target)
    dropped: list[int] = []
    left = [*zip(range(len(source)), source, tiles, strict=True)][::-1]
    right = [*enumerate(target)][::-1]
    while left and right:
        whole = 1
        while left and left[-1][2] == 1:
            whole *= left.pop()[1]
        while right and whole != 1 and whole % right[-1][1] == 0:
            whole //= right.pop()[1]
        if not left or not right or whole != 1:
            break
        (i, size, count), (j, wanted) = left.pop(), right.pop()
        if size == wanted:
            is_partly_taken = wanted != target[j]
            if is_partly_taken and size % count:
                found[j] *= gcd(size, count)
                break
            found[j] *= count
        elif wanted == 1:
            left.append((i, size, count))
        elif size == 1:
            dropped += [i] if count > 1 else []
            right.append((j, wanted))
        elif size % count:
            return None
        else:
            common = gcd(count, wanted)
            if common == 1:
                break
            found[j] *= common
            left.append((i, size // common, count // common))
            right.append((j, wanted // common))
    return tuple(found), dropped


def _propagated(tiling: Tiling, source: Shape, target: Shape) -> Tiling:
    """The tiling of the target with all tiles that runs of consecutive dimensions can pass on."""
    found = Tiling.replicated(len(target), tiling.device_count, tiling.names)
    start = 0
    while start < len(source):
        for stop in range(len(source), start, -1):
            merged = _with_run(found, tiling, range(start, stop), source, target)
            if merged is not None:
                found, start = merged, stop
                break
        else:
            start += 1
    return found


def _with_run(found: Tiling, tiling: Tiling, run: range, source: Shape, target: Shape) -> Tiling | None:
    """The tiling of the target with the tiles of a run of dimensions; None if they do not fit."""
    sizes = tuple(tiles if i in run else 1 for i, tiles in enumerate(tiling.dimensions))
    alone = Tiling(sizes, 1, tuple(range(prod(sizes))))
    passed = None if alone.is_replicated else tiling_of_reshape(alone, source, target)
    if passed is None:
        return None
    order = [*run, *(i for i in range(tiling.rank + 1) if i not in run)]
    cells = tiling.cells.transposed(order).reshaped(*passed.dimensions)
    return merged_into(found, Tiling.from_grid(cells, len(target), tiling.names))


def _with_groups(operand: HeldTensor, shape: Shape, target: Tiling) -> HeldTensor:
    """The result with dimensions that correspond left to groups of devices."""
    propagated = _propagated(operand.tiling, operand.shape, shape)
    back = None if propagated.is_replicated else tiling_of_reshape(propagated, shape, operand.shape)
    if back is None:
        return _along_one_dimension(operand, shape, target)
    of_operand = [i for i, tiles in enumerate(back.dimensions) if tiles > 1]
    of_result = [i for i, tiles in enumerate(propagated.dimensions) if tiles > 1]
    is_target = target.tile_count > propagated.tile_count and all(
        target.dimensions[i] == propagated.dimensions[i] for i in of_result
    )
    grouped = group_on(operand.tiling, of_operand)
    output = group_on(target if is_target else propagated, of_result)
    if is_target:
        output = aligned(output, grouped)
    outside = tuple(operand.local[i] if i in of_operand else size for i, size in enumerate(operand.shape))
    inner = replace(operand, shape=outside, tiling=grouped.tiling, earlier=(), chain=None)
    part = tuple(-(-size // tiles) for size, tiles in zip(shape, propagated.dimensions, strict=True))
    found = _with_groups(inner, part, output.tiling)
    return reshard(replace(found, shape=shape, tiling=ungrouped(output), earlier=(), chain=None), target)


def _along_one_dimension(operand: HeldTensor, shape: Shape, target: Tiling) -> HeldTensor:
    """The result where one dimension is sharded in both, whose tiles are uneven; else of a whole operand."""
    before, after = _only_sharded(operand.tiling), _only_sharded(target)
    same_tiles = operand.tiling.tile_count == target.tile_count
    if (
        before is not None
        and after is not None
        and same_tiles
        and _starts_alike(operand, shape, before, after)
    ):
        operand = reshard(operand, target.reshaped(operand.tiling.dimensions))
        found = _with_halo(operand, shape, target, before, after)
        if found is not None:
            return found
    whole = result_of(
        [replicated(operand)],
        shape,
        Tiling.replicated(len(shape), target.device_count, target.names),
        operand.element,
    )
    return reshard(whole, target)


def _starts_alike(operand: HeldTensor, shape: Shape, before: int, after: int) -> bool:
    """Returns whether as many elements are in front of one dimension of the operand as of one of `shape`."""
    return prod(operand.shape[:before]) == prod(shape[:after])


def _only_sharded(tiling: Tiling) -> int | None:
    sharded = [i for i, tiles in enumerate(tiling.dimensions) if tiles > 1]
    return sharded[0] if len(sharded) == 1 else None


def _with_halo(
    operand: HeldTensor, shape: Shape, target: Tiling, source_at: int, target_at: int
) -> HeldTensor | None:
    """The result of splitting or merging one sharded dimension; None if neither, or halos are too large."""
    before, after = operand.shape[source_at], shape[target_at]
    tiles, local = target.tile_count, target.local_shape(shape)
    if before % after == 0:
        value = operand
        missing = local[target_at] * (before // after) * tiles - before
        dimension = source_at
    elif after % before == 0:
        size = operand.local[source_at] * (after // before)
        part = (*local[:target_at], size, *local[target_at + 1 :])
        whole = (*part[:target_at], size * tiles, *part[target_at + 1 :])
        value = replace(operand, shape=whole, local=part, tiling=target, earlier=())
        missing = after - size * tiles
        dimension = target_at
    else:
        return None
    window = [Window(high=missing if i == dimension else 0) for i in range(len(value.shape))]
    read = windowed_input(value, window, value.tiling, reshard)
    return None if read is None else result_of([read.value], shape, target, operand.element)
