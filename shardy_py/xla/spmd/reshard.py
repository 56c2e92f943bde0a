"""Reshards: what XLA's partitioner sends to get a tensor from one tiling to another.

The first of these that applies, in this order: nothing, also for broadcasts of scalars; a permute, where only
the devices differ; all-to-alls, where the same numbers of tiles change places; slices of replicas, gathers to
replicas, each with a permute and halos where needed; the same on a reshaped tensor or through a third tiling;
with equally sharded dimensions left to groups of devices. Else every device gets the whole tensor, which XLA
warns of, and slices it. Source: openxla/xla, `PartitionedHlo::ReshardNoCache` in
xla/service/spmd/spmd_partitioner.cc. Not here: which reshards an op needs.

>>> from shardy_py.sharding import Mesh
>>> mesh = Mesh.of(x=4, y=2)
>>> value = HeldTensor.of((8, 6), Tiling.of(mesh, [("x", "y"), ()]), "f32")
>>> moved = reshard(value, Tiling.of(mesh, [("x",), ()]))
>>> [(each.kind, each.group_size, each.held_shape) for each in moved.collectives], moved.local
([('all_gather', 2, (1, 6))], (2, 6))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.xla.spmd.all_to_all import exchanged, exchanges, permuted
from shardy_py.xla.spmd.grouping import aligned, group_on, ungrouped
from shardy_py.xla.spmd.halo import Dimension, compactly_exchanged
from shardy_py.xla.spmd.partitioned import HeldTensor, with_size
from shardy_py.xla.spmd.tiling import Tiling


def reshard(value: HeldTensor, target: Tiling) -> HeldTensor:
    """The value in the tiles of `target`, of the same tensor and devices."""
    if value.tiling == target:
        return value
    known = next((earlier for earlier in value.earlier if earlier.tiling == target), None)
    if known is not None:
        return known
    found = _resharded(value.during(target), target, may_replicate=True)
    assert found is not None
    return replace(found, call=value.call, earlier=(value, *found.earlier))


def replicated(value: HeldTensor) -> HeldTensor:
    """The value whole on every device."""
    tiling = value.tiling
    if tiling.is_replicated:
        return value
    for earlier in value.earlier:
        if earlier.tiling.is_replicated:
            return earlier
    target = Tiling.replicated(tiling.rank, tiling.device_count, tiling.names)
    whole = gathered(value.during(target), tiling, value.shape, range(tiling.rank))
    return replace(whole, tiling=target, call=value.call, earlier=(value,))


def _resharded(value: HeldTensor, target: Tiling, *, may_replicate: bool) -> HeldTensor | None:
    """The value in the tiles of `target`; None if that needs the whole tensor and must not."""
    source = value.tiling
    if source == target:
        return value
    if value.is_splat or 0 in value.shape:
        return replace(value, local=target.local_shape(value.shape), tiling=target, earlier=())
    if is_permutation(source, target):
        return permuted(value, target)
    if pairs := exchanges(source, target):
        return exchanged(value, target, pairs, reshard)
    for attempt in (_from_replicas, _to_replicas):
        found = attempt(value, target)
        if found is not None:
            return found
    if source.is_replicated:
        return replace(value, local=target.local_shape(value.shape), tiling=target, earlier=())
    if not target.is_replicated:
        found = _through_others(value, target) or _in_groups(value, target)
        if found is not None or not may_replicate:
            return found
        value = replace(value, rematerialized=(*value.rematerialized, (source, target)))
    return reshard(replicated(value), target)


def is_permutation(source: Tiling, target: Tiling) -> bool:
    """Returns whether just the devices of the tiles differ."""
    return (
        not source.is_replicated
        and source.grid_dimensions == target.grid_dimensions
        and source.devices != target.devices
    )


def _from_replicas(value: HeldTensor, target: Tiling) -> HeldTensor | None:
    """The value from a partial tiling, by slices of what each device holds."""
    source = value.tiling
    if target.is_replicated or not source.is_partial:
        return None
    near = compatible(source, target)
    if near is None:
        return _through_leading_dimension(value, target)
    padded = _padded(value, near)
    found = replace(padded, local=near.local_shape(value.shape), tiling=near, earlier=())
    return permuted(found, target) if is_permutation(near, target) else found


def _to_replicas(value: HeldTensor, target: Tiling) -> HeldTensor | None:
    """The value in a partial tiling, by gathers of the tiles of each of its tiles."""
    source = value.tiling
    if source.is_replicated or not target.is_partial:
        return None
    near = compatible(target, source)
    if near is None:
        return _through_leading_dimension(value, target)
    if is_permutation(source, near):
        value = permuted(value, near)
    factors = [fine // coarse for fine, coarse in zip(near.dimensions, target.dimensions, strict=True)]
    dimensions = [i for i, factor in enumerate(factors) if factor > 1]
    value = _shifted(value, near, target, dimensions)
    grouped = group_on(near, dimensions, [factors[i] for i in dimensions])
    whole = gathered(value, grouped.tiling, target.local_shape(value.shape), dimensions)
    return replace(whole, tiling=target, earlier=())


def compatible(partial: Tiling, target: Tiling) -> Tiling | None:
    """The tiling with the tiles of `target` whose tiles lie in those of `partial`; None if there is none.

    `target` itself if it does, else the devices of `partial` with its replicas dealt out in order.
    """
    if not partial.is_partial or partial.rank != target.rank:
        return None
    pairs = [*zip(partial.dimensions, target.dimensions, strict=True)]
    if any(fine % coarse for coarse, fine in pairs):
        return None
    if target.refines(partial):
        return target
    expanded = {i: fine // coarse for i, (coarse, fine) in enumerate(pairs) if fine > coarse}
    cells = partial.cells.reshaped(*partial.dimensions, *expanded.values())
    order: list[int] = []
    for i in range(partial.rank):
        order += [i, *(partial.rank + at for at, dimension in enumerate(expanded) if dimension == i)]
    order.append(partial.rank + len(expanded))
    sharded = cells.transposed(order).reshaped(*target.dimensions)
    return Tiling.from_grid(sharded, partial.rank, partial.names)


def gathered(
    value: HeldTensor, tiling: Tiling, shape: Sequence[int], dimensions: Sequence[int]
) -> HeldTensor:
    """The value with `dimensions` whole: `shape` in elements, in tiles of `tiling` on each group of devices.

    A gather for each dimension, minor first. Tiles that hold all elements are sent by a sum in which the
    others are zero, as are dimensions with so few elements that most tiles are padding.
    """
    broadcast: list[int] = []
    summed: list[int] = []
    joined: list[int] = []
    for i in dimensions:
        tiles = tiling.dimensions[i]
        if tiles == 1:
            continue
        is_whole = shape[i] == value.local[i]
        kind = broadcast if is_whole else summed if shape[i] <= tiles // 2 else joined
        kind.append(i)
    if broadcast:
        value = value.sent("all_reduce", tiling.along(broadcast), local=value.local)
    for i in reversed(joined):
        local = with_size(value.local, i, value.local[i] * tiling.dimensions[i])
        value = value.sent("all_gather", tiling.along([i]), local=local)
    local = value.local
    for i in [*joined, *summed, *broadcast]:
        local = with_size(local, i, shape[i])
    for i in reversed(summed):
        value = value.sent("all_reduce", tiling.along([i]), local=local, held=local)
    return replace(value, local=local)


def _padded(value: HeldTensor, target: Tiling) -> HeldTensor:
    """The value with halos where the tiles of `target` in those of the value need more padding."""
    source = value.tiling
    before, after = source.padded_shape(value.shape), target.padded_shape(value.shape)
    if after == value.local:
        return value
    for i in range(source.rank):
        tiles = source.dimensions[i]
        held, needed = before[i] // tiles, after[i] // tiles
        if target.dimensions[i] == tiles or tiles == 1 or held >= needed:
            continue
        more = needed - held
        sent = compactly_exchanged(
            Dimension(tiles, value.local[i], value.shape[i]),
            lambda shard, more=more: -more * shard,
            lambda shard, more=more: more * (shard + 1),
        )
        value = value.permuted(sent, i, size=needed)
    return value


def _shifted(value: HeldTensor, source: Tiling, target: Tiling, dimensions: Sequence[int]) -> HeldTensor:
    """The value with halos where the tiles that form one of `target` hold more padding than it."""
    before, after = source.padded_shape(value.shape), target.padded_shape(value.shape)
    if after == value.local:
        return value
    for i in dimensions:
        tiles = target.dimensions[i]
        surplus, factor = before[i] // tiles - after[i] // tiles, source.dimensions[i] // tiles
        if surplus <= 0 or tiles == 1:
            continue
        sent = compactly_exchanged(
            Dimension(source.dimensions[i], value.local[i], value.shape[i]),
            lambda shard, surplus=surplus, factor=factor: surplus * (shard // factor),
            lambda shard, surplus=surplus, factor=factor: -surplus * (shard // factor),
        )
        value = value.permuted(sent, i, size=value.local[i])
    return value


def _through_leading_dimension(value: HeldTensor, target: Tiling) -> HeldTensor | None:
    """The value between tiles `[1, a, b]` with b replicas and `[a, b]`, by an all-to-all beside the replicas.

    The dimensions of the tiled one follow a leading one of the partial one, with all devices in one order.
    The partitioner forgets the axes here.
    """
    source, target = value.tiling.by(None), target.by(None)
    partial, tiled = (source, target) if source.is_partial else (target, source)
    if tiled.is_partial or tiled.is_replicated or not partial.is_partial:
        return None
    grid = (*partial.dimensions, partial.replicas)
    last = max(i for i, tiles in enumerate(tiled.dimensions) if tiles > 1)
    if grid[0] != 1 or grid[1:] != tiled.dimensions or tiled.dimensions[last] != partial.replicas:
        return None
    if partial.devices != tiled.devices:
        return None
    whole = tiled.replicated_on([last])
    if source is partial:
        pairs = exchanges(source, whole)
        return reshard(exchanged(value, whole, pairs, reshard), target) if pairs else None
    value = reshard(value, whole)
    pairs = exchanges(value.tiling, target)
    return exchanged(value, target, pairs, reshard) if pairs else None


def _through_others(value: HeldTensor, target: Tiling) -> HeldTensor | None:
    """The value through a reshaped tensor or a third tiling; None if that needs the whole tensor.

    If only one of the tilings has axes, the partitioner forgets these.
    """
    source = value.tiling
    if not (source.axes and target.axes):
        source, target = source.by(None), target.by(None)
    if at := _splitting(value, target):
        return _through_split(value, target, *at)
    if target.is_partial:
        for i, tiles in enumerate(source.dimensions):
            if tiles > 1 and tiles * source.replicas == target.replicas:
                between = reshard(value, source.replicated_on([i]))
                return _resharded(between, target, may_replicate=False)
    if source.is_partial and not target.is_partial:
        for i, (tiles, wanted) in enumerate(zip(source.dimensions, target.dimensions, strict=True)):
            if tiles == 1 != wanted and wanted % source.replicas == 0:
                order = [*range(source.rank + 1)]
                order[i], order[-1] = order[-1], order[i]
                between = reshard(value, source.transposed(order))
                return _resharded(between, target.by(None), may_replicate=False)
    return None


def _splitting(value: HeldTensor, target: Tiling) -> tuple[int, int] | None:
    """The dimension to split and the tiles of its major part, so that its minor part can move elsewhere."""
    source = value.tiling
    if source.replicas != target.replicas:
        return None
    vanishing: list[int] = []
    splitting: list[int] = []
    for i, (before, after) in enumerate(zip(source.dimensions, target.dimensions, strict=True)):
        fewest, most = sorted((before, after))
        if fewest == most:
            continue
        if fewest == 1:
            vanishing.append(i)
        elif most % fewest == 0 and -(-value.shape[i] // fewest) * fewest % most == 0:
            splitting.append(i)
    for i in splitting:
        for j in vanishing:
            before = source.dimensions[i] * source.dimensions[j]
            if before == target.dimensions[i] * target.dimensions[j]:
                return i, min(source.dimensions[i], target.dimensions[i])
    shrinking = (i for i in splitting if source.dimensions[i] > target.dimensions[i])
    return next(((i, target.dimensions[i]) for i in shrinking), None)


def _through_split(value: HeldTensor, target: Tiling, dimension: int, major: int) -> HeldTensor | None:
    """The value with `dimension` as two, resharded, and merged again."""
    split = value.tiling.split(dimension, major)
    size = value.local[dimension]
    minor = size * split.dimensions[dimension + 1]
    parts = (value.shape[dimension] // minor, minor)
    shape = (*value.shape[:dimension], *parts, *value.shape[dimension + 1 :])
    local = (*value.local[:dimension], 1, size, *value.local[dimension + 1 :])
    chain = value.chain and value.call and (value.chain, value.call)
    apart = replace(value, shape=shape, local=local, tiling=split, earlier=(), chain=chain)
    moved = _resharded(apart, target.split(dimension, major), may_replicate=False)
    if moved is None:
        return None
    together = moved.local[dimension] * moved.local[dimension + 1]
    local = (*moved.local[:dimension], together, *moved.local[dimension + 2 :])
    tiling = moved.tiling.merged(dimension)
    merged = replace(moved, shape=value.shape, local=local, tiling=tiling, earlier=())
    # both tilings have axes or neither has: as none, which `split` leaves out
    found = _resharded(merged, target.by(None), may_replicate=False)
    return found and replace(found, tiling=found.tiling.by(target.axes))


def _in_groups(value: HeldTensor, target: Tiling) -> HeldTensor | None:
    """The value with the dimensions that are sharded equally left to groups of devices."""
    pairs = enumerate(zip(value.tiling.dimensions, target.dimensions, strict=True))
    equal = [i for i, (before, after) in pairs if before == after > 1]
    if not equal:
        return None
    grouped = group_on(value.tiling, equal)
    wanted = aligned(group_on(target, equal), grouped)
    shape = tuple(value.local[i] if i in equal else size for i, size in enumerate(value.shape))
    inside = reshard(replace(value, shape=shape, tiling=grouped.tiling, earlier=()), wanted.tiling)
    moved = replace(inside, shape=value.shape, tiling=ungrouped(wanted), earlier=())
    return reshard(moved, target)
