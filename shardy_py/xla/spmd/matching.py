"""Comparison of tilings: of other dimensions, of groups of devices, of finer tiles.

Source: openxla/xla, xla/hlo/utils/hlo_sharding_util.cc and xla/service/spmd/spmd_partitioner_util.cc. Not
here: operations of one tiling (`tiling.py`), splitting one among groups (`grouping.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=2, y=2), [("x",), ()])
>>> transposed(rows, (None, 0), 1) is None
True
>>> transposed(rows, (1, None), 2).dimensions, dimensions_of_groups(rows, ((0, 1), (2, 3)))
((1, 2), (0, 1))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from operator import gt

from shardy_py.xla.spmd.grouping import Grouped, Groups
from shardy_py.xla.spmd.tiling import Shape, Tiling


def transposed(tiling: Tiling, to: Sequence[int | None], rank: int) -> Tiling | None:
    """The tiling of a tensor of `rank` whose dimension `to[i]` is dimension i; others are whole.

    None: a dimension that it lacks is sharded.
    """
    if tiling.is_replicated:
        return Tiling.replicated(rank, tiling.device_count, tiling.names)
    if any(at is None and tiling.dimensions[i] > 1 for i, at in enumerate(to)):
        return None
    kept = sorted((at, i) for i, at in enumerate(to) if at is not None)
    lost = [i for i, at in enumerate(to) if at is None]
    cells = tiling.cells.transposed([*(i for _, i in kept), *lost, tiling.rank])
    sizes = [1] * rank
    for at, i in kept:
        sizes[at] = tiling.dimensions[i]
    found = Tiling.from_grid(cells.reshaped(*sizes), rank, tiling.names)
    places = dict(kept)
    return found.by(tiling.axes and tiling.axes.at([places.get(i) for i in range(rank)]))


def along(tiling: Tiling, pairs: Iterable[tuple[int, int]], rank: int) -> Tiling:
    """The tiling of a tensor of `rank` sharded as `tiling` along pairs of dimensions, and whole else."""
    to = dict(pairs)
    found = transposed(tiling.replicated_except(to), [to.get(i) for i in range(tiling.rank)], rank)
    assert found is not None
    return found


def dimensions_of_groups(tiling: Tiling, groups: Groups) -> tuple[int, ...] | None:
    """The dimensions of the grid, replicas last, whose tiles are each on the devices of one of `groups`.

    The order of the groups does not matter. None if there are none.
    """
    size = len(groups[0])
    if tiling.is_replicated or len(groups) < 2 or tiling.device_count != len(groups) * size:
        return None
    sizes = tiling.grid_dimensions
    if size < 2:
        return tuple(i for i, tiles in enumerate(sizes) if tiles > 1)
    places = [tiling.places(i) for i in range(len(sizes))]
    first, second = groups[0][:2]
    found = [i for i, at in enumerate(places) if at[first] == at[second]]
    if prod(sizes[i] for i in found) != len(groups):
        return None
    for at in (places[i] for i in found):
        if any(len({at[device] for device in group}) > 1 for group in groups):
            return None
    return tuple(found)


def replicas_in_groups(tiling: Tiling, groups: Groups, replicas: int) -> Grouped | None:
    """The tiling with `replicas` of each tile in each of `groups`; None if a group has others."""
    if not tiling.is_partial or tiling.replicas % len(groups):
        return None
    tile_of = tiling.tile_numbers()
    inside: set[tuple[int, ...]] = set()
    for group in groups:
        tiles = [tile_of[device] for device in group]
        held = Counter(tiles)
        if len(held) != tiling.tile_count or any(count != replicas for count in held.values()):
            return None
        inside.add(tuple(sorted(range(len(tiles)), key=tiles.__getitem__)))
    if len(inside) > 1:
        return None
    inner = Tiling(tiling.dimensions, replicas, inside.pop(), tiling.named(groups[0]))
    return Grouped(groups, (tiling.rank,), (len(groups),), inner, tiling.names)


def same_groups(left: Groups, right: Groups) -> bool:
    """Returns whether the groups have the same devices, in the same order of groups."""
    return len(left) == len(right) and all(set(a) == set(b) for a, b in zip(left, right, strict=True))


def per_group_shape(grouped: Grouped, shape: Shape) -> Shape:
    """The shape of the part of a tensor that each group has."""
    sizes = list(shape)
    for dimension, parts in zip(grouped.dimensions, grouped.sizes, strict=True):
        if dimension < len(sizes):
            sizes[dimension] = -(-sizes[dimension] // parts)
    return tuple(sizes)


def lies_within(fine: Tiling, coarse: Tiling, shape: Shape) -> bool:
    """Returns whether each device's tile of `fine` lies in its tile of `coarse`, for a tensor of `shape`."""
    if coarse.is_replicated:
        return True
    if fine.is_replicated:
        return False
    small, large = fine.local_shape(shape), coarse.local_shape(shape)
    if any(map(gt, small, large)):
        return False
    for i, size in enumerate(shape):
        for inner, outer in fine.places_in(coarse, i) if coarse.dimensions[i] > 1 else ():
            start, bound = inner * small[i], outer * large[i]
            end = start + small[i]
            if not bound <= start or bound + large[i] < end < size:
                return False
    return True


def merged(first: Tiling, second: Tiling) -> Tiling:
    """The tiling with the tiles of both if they fit together, else the one with more tiles, then the first.

    They fit if both are partial, have equal or no tiles along each dimension, and the devices of each common
    tile are among those of both.
    """
    both = first.is_partial and second.is_partial
    together = _intersection(first, second, max(first.tile_count, second.tile_count) + 1) if both else None
    if together is not None:
        return together
    return second if second.tile_count > first.tile_count else first


def merged_into(tiling: Tiling, more: Tiling, least: int | None = None) -> Tiling | None:
    """`tiling` with its replicas sharded as `more`; None if they do not fit together.

    least: the number of tiles that it must have then, by default more than before. Two tilings along axes
    of one mesh fit as far as their axes do, whatever the number.
    """
    if more.is_replicated or tiling.is_replicated:
        return None if more.is_replicated else more
    if tiling.axes and more.axes and tiling.axes.mesh == more.axes.mesh:
        axes = tiling.axes.merged(more.axes)
        return None if axes is None else Tiling.of(axes.mesh, axes.dimensions).by(axes)
    if not tiling.is_partial or tiling.rank != more.rank:
        return None
    return _intersection(tiling, more, tiling.tile_count + 1 if least is None else least)


def _intersection(first: Tiling, second: Tiling, least: int) -> Tiling | None:
    """The tiles of both, with the devices that hold both; None if there are fewer than `least`."""
    pairs = [*zip(first.dimensions, second.dimensions, strict=True)]
    if any(1 != a != b != 1 for a, b in pairs):
        return None
    sizes = [max(pair) for pair in pairs]
    tiles = prod(sizes)
    if first.device_count % tiles or tiles < least:
        return None
    held = [[*map(set, each.cells.rows(each.replicas))] for each in (first, second)]
    grid: list[list[int]] = []
    for index in product(*map(range, sizes)):
        common = sorted(_at(held[0], first, index) & _at(held[1], second, index))
        if len(common) < first.device_count // tiles:
            return None
        grid.append(common[: first.device_count // tiles])
    devices = tuple(device for row in grid for device in row)
    return Tiling(tuple(sizes), first.device_count // tiles, devices, first.names)


def _at(held: Sequence[set[int]], tiling: Tiling, index: Sequence[int]) -> set[int]:
    """The devices with the tile at an index; dimensions without tiles are whole."""
    number = 0
    for place, size in zip(index, tiling.dimensions, strict=True):
        number = number * size + (0 if size == 1 else place)
    return held[number]
