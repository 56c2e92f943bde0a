"""Reshards by all-to-alls: tiles of one dimension change places with those of another.

Source: openxla/xla, `GetReshardAllToAllSourceTargetDims` in xla/service/spmd/spmd_partitioner_util.cc and
`PartitionedHlo::ReshardWithAllToAll` in xla/service/spmd/spmd_partitioner.cc. Not here: the other ways
(`reshard.py`).

>>> from shardy_py.sharding import Mesh
>>> mesh = Mesh.of(x=4, y=2)
>>> exchanges(Tiling.of(mesh, [("x",), ()]), Tiling.of(mesh, [(), ("x",)]))
((0, 1),)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.errors import InternalError
from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.partitioned import HeldTensor, with_size
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windowed import Reshard, windowed_input

Exchange = tuple[int, int]
"""The dimension that is gathered, and the one that is sharded."""


def exchanges(source: Tiling, target: Tiling) -> tuple[Exchange, ...] | None:
    """The dimensions that change places, one pair after another; None if the tiles are not the same sizes.

    Nor are they if one tiling is partial, with replicas as a dimension, and only the other has axes.
    """
    if source.is_replicated or target.is_replicated:
        return None
    if source.counted_rank != target.counted_rank or source.tile_count != target.tile_count:
        return None
    goal = target.dimensions
    differing = [i for i in range(source.rank) if source.dimensions[i] != goal[i]]
    sources, targets = _by_size(source.dimensions, differing), _by_size(goal, differing)
    if not differing or {s: len(d) for s, d in sources.items()} != {s: len(d) for s, d in targets.items()}:
        return None
    found: list[Exchange] = []
    while sources:
        size = min(sources)
        dimension = sources[size][-1]
        wanted = goal[dimension]
        if wanted == size:
            _remove(sources, size, dimension)
            _remove(targets, size, dimension)
            continue
        if size != 1 and wanted % size:
            return None
        candidates = sources[wanted]
        useful = (i for i in candidates if (goal[i] != 1 if size == 1 else goal[i] == size))
        partner = next(useful, candidates[-1])
        found.append((partner, dimension))
        _remove(targets, wanted, dimension)
        sources[size][-1] = partner
        _remove(sources, wanted, partner)
    return tuple(found)


def _by_size(sizes: Sequence[int], dimensions: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for dimension in dimensions:
        found.setdefault(sizes[dimension], []).append(dimension)
    return found


def _remove(by_size: dict[int, list[int]], size: int, dimension: int) -> None:
    by_size[size] = [i for i in by_size[size] if i != dimension]
    if not by_size[size]:
        del by_size[size]


def exchanged(
    value: HeldTensor, target: Tiling, pairs: Sequence[Exchange], reshard: Reshard, *, together: bool = True
) -> HeldTensor:
    """The value after all-to-alls for `pairs`, and a permute if the devices are in another order then.

    together: as many pairs as possible in one all-to-all. reshard: for uneven tiles that are far apart.
    """
    if target == value.tiling:
        return value
    if not pairs:
        return permuted(value, target)
    if together:
        joined, rest = _joinable(value, target, pairs)
        if len(joined) > 1:
            return exchanged(_exchanged_together(value, joined), target, rest, reshard, together=False)
    moved = _exchanged_pair(value, *pairs[0], reshard)
    return exchanged(moved, target, pairs[1:], reshard)


def permuted(value: HeldTensor, target: Tiling) -> HeldTensor:
    """The value in tiles of the same sizes on other devices."""
    if value.tiling.dimensions != target.dimensions:
        raise InternalError(f"a permute from tiles {value.tiling.dimensions} to {target.dimensions}")
    ends = (value.tiling.named(devices) for devices in (value.tiling.devices, target.devices))
    pairs = tuple(zip(*ends, strict=True))
    first = next((pair for pair in pairs if pair[0] != pair[1]), ())
    moved = value.sent("collective_permute", first, local=value.local, target=target, pairs=pairs)
    return replace(moved, tiling=target)


def _joinable(
    value: HeldTensor, target: Tiling, pairs: Sequence[Exchange]
) -> tuple[list[Exchange], list[Exchange]]:
    """The pairs of even dimensions that no other pair has, and the rest, by the dimension that is sharded."""
    joined: list[Exchange] = []
    rest: list[Exchange] = []
    seen: set[int] = set()
    for pair in sorted(pairs, key=lambda pair: pair[1]):
        gathered, sharded = pair
        is_even = (
            value.shape[gathered] % value.tiling.dimensions[gathered] == 0
            and value.shape[sharded] % target.dimensions[sharded] == 0
        )
        if is_even and not seen.intersection(pair):
            joined.append(pair)
            seen.update(pair)
        else:
            rest.append(pair)
    return joined, rest


def _exchanged_together(value: HeldTensor, pairs: Sequence[Exchange]) -> HeldTensor:
    tiling, local = value.tiling, value.local
    sizes = [tiling.dimensions[gathered] // tiling.dimensions[sharded] for gathered, sharded in pairs]
    devices = _exchanging(tiling, pairs)
    for (gathered, sharded), size in zip(pairs, sizes, strict=True):
        tiling = tiling.exchanged(gathered, sharded)
        local = with_size(local, gathered, local[gathered] * size)
        local = with_size(local, sharded, local[sharded] // size)
    return replace(value.sent("all_to_all", devices, local=local), tiling=tiling)


def _exchanged_pair(value: HeldTensor, gathered: int, sharded: int, reshard: Reshard) -> HeldTensor:
    """The value after one all-to-all; uneven dimensions are padded before it and sliced after it."""
    before = value.tiling
    size = before.dimensions[gathered] // before.dimensions[sharded]
    after = before.exchanged(gathered, sharded)
    tiles = after.dimensions[sharded]
    missing = -(-value.shape[sharded] // tiles) * tiles - value.local[sharded] * before.dimensions[sharded]
    padded = _resized(value, sharded, missing, before, reshard)
    local = with_size(padded.local, sharded, padded.local[sharded] // size)
    local = with_size(local, gathered, local[gathered] * size)
    moved = replace(
        padded.sent("all_to_all", _exchanging(before, [(gathered, sharded)]), local=local), tiling=after
    )
    held = value.local[gathered] * before.dimensions[gathered]
    tiles = after.dimensions[gathered]
    surplus = -(-value.shape[gathered] // tiles) * tiles - held
    longer = replace(moved, shape=with_size(value.shape, gathered, held))
    sliced = _resized(longer, gathered, surplus, after, reshard)
    return replace(sliced, shape=value.shape, earlier=())


def _exchanging(tiling: Tiling, pairs: Sequence[Exchange]) -> tuple[int, ...]:
    """The first group of devices that exchange tiles: minor ones of dimensions that give tiles to others."""
    dimensions = [gathered for gathered, _ in pairs]
    shards = [tiling.dimensions[sharded] for _, sharded in pairs]
    major = tiling.cells
    for dimension, kept in zip(dimensions, shards, strict=True):
        major = major.at(dimension, range(major.shape[dimension] // kept))
    return tiling.named(major.along(dimensions))


def _resized(value: HeldTensor, dimension: int, change: int, tiling: Tiling, reshard: Reshard) -> HeldTensor:
    """The value with `change` elements more at the end of a dimension; negative: fewer."""
    window = tuple(Window(high=change if i == dimension else 0) for i in range(len(value.shape)))
    read = windowed_input(value, window, tiling, reshard)
    if read is None:
        raise InternalError(f"padding of {change} along dimension {dimension} of {value.shape}")
    size = read.value.local[dimension] + read.window[dimension].low + read.window[dimension].high
    return replace(read.value, local=with_size(read.value.local, dimension, size))
