"""One tile applied to an array: dimensions joined, cut into tiles, and indices taken through it both ways.

Sizes and indices are in physical order, major to minor. The arithmetic is the same for numbers, numpy arrays
of coordinates and symbolic expressions. Not here: several tiles and whole layouts (`linear_index.py`).

>>> level = tile_level((2, 7, 8, 11, 10), (-1, -1, 2, -1, 3))
>>> level.joined, level.tile, level.dimensions
((112, 110), (2, 3), (56, 37, 2, 3))
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shardy_py.errors import ShardyError
from shardy_py.indexing import Expr

COMBINE = -1
"""In a tile: the dimension is joined with the next more minor one (`*`; XLA's kCombineDimension)."""

_MAX_POSITION = np.iinfo(np.int64).max

IntArray = NDArray[np.int64]
Coordinate = TypeVar("Coordinate", int, IntArray, Expr)


@dataclass(frozen=True, slots=True)
class TileLevel:
    """How one tile changes an array.

    groups: the sizes of the dimensions that each dimension of `joined` is made of, major to minor; an empty
        group is a dimension of size 1 that the tile has and the array lacks.
    joined: the array's sizes after joining.
    tile: the sizes of a tile; it cuts the last dimensions of `joined`.
    """

    groups: tuple[tuple[int, ...], ...]
    joined: tuple[int, ...]
    tile: tuple[int, ...]

    @property
    def kept(self) -> int:
        """How many major dimensions stay as they are."""
        return len(self.joined) - len(self.tile)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tiles there are along each dimension that is cut."""
        return tuple(-(-size // tile) for size, tile in zip(self.joined[self.kept :], self.tile, strict=True))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes after tiling: kept dimensions, numbers of tiles, the tile."""
        return (*self.joined[: self.kept], *self.counts, *self.tile)

    def tiled(self, index: Sequence[Coordinate]) -> list[Coordinate | int]:
        """Where an element of the array is in `dimensions`: floor(e / t) ++ (e mod t)."""
        start, joined = 0, list[Coordinate | int]()
        for group in self.groups:
            joined.append(linear(index[start : start + len(group)], group))
            start += len(group)
        cut = list(zip(joined[self.kept :], self.tile, strict=True))
        return [*joined[: self.kept], *(e // t for e, t in cut), *(e % t for e, t in cut)]

    def untiled(
        self, index: Sequence[Coordinate | int]
    ) -> tuple[list[Coordinate | int], list[tuple[Coordinate | int, int]]]:
        """What lies at `index` in `dimensions`: where it is in the array, and where after joining.

        The latter are coordinates with the sizes below which they must be, or it is padding.
        """
        rank = len(self.tile)
        outer, inner = index[self.kept : self.kept + rank], index[self.kept + rank :]
        cut = [o * t + i for o, i, t in zip(outer, inner, self.tile, strict=True)]
        joined = [*index[: self.kept], *cut]
        found: list[Coordinate | int] = []
        for coordinate, group in zip(joined, self.groups, strict=True):
            found += unlinear(coordinate, group)
        return found, list(zip(joined, self.joined, strict=True))


def tile_level(dimensions: Sequence[int], tile: Sequence[int]) -> TileLevel:
    """What `tile` does to an array of these sizes.

    dimensions: physical order, major to minor.
    tile: sizes or `COMBINE`, for the minor-most dimensions. One with more dimensions than the array has takes
        the array as one with further major dimensions of size 1, as XLA does for `f32[]{:T(128)}`.

    Raises ShardyError for a size below 1 and for a joined dimension with none more minor.
    """
    wrong = next((size for size in tile if size < 1 and size != COMBINE), None)
    if wrong is not None:
        raise ShardyError(f"tile {tuple(tile)}: expected sizes of at least 1, got {wrong}")
    if tile and tile[-1] == COMBINE:
        raise ShardyError(f"tile {tuple(tile)}: the last dimension has no more minor one to be joined with")
    missing = max(0, len(tile) - len(dimensions))
    kept = max(0, len(dimensions) - len(tile))
    groups: list[tuple[int, ...]] = [(size,) for size in dimensions[:kept]]
    open_group: tuple[int, ...] = ()
    singles: list[tuple[int, ...]] = [()] * missing + [(size,) for size in dimensions[kept:]]
    for size, single in zip(tile, singles, strict=True):
        open_group += single
        if size != COMBINE:
            groups.append(open_group)
            open_group = ()
    return TileLevel(tuple(groups), tuple(map(prod, groups)), tuple(size for size in tile if size != COMBINE))


def checked_index(index: Sequence[Coordinate], bounds: Sequence[int]) -> list[Coordinate]:
    """The coordinates of an index, numpy's integers as Python's and its arrays as 64 bits wide.

    Raises ShardyError if there is not one a dimension, for what is no whole number, and where positions in
    an array with these bounds pass the 64 bits of numpy arrays.
    """
    if len(index) != len(bounds):
        raise ShardyError(
            f"an index into an array with bounds {tuple(bounds)} has {len(bounds)} coordinates,"
            f" got {len(index)}"
        )
    found = list(map(_coordinate, index))
    if prod(bounds) > _MAX_POSITION and any(isinstance(c, np.ndarray) for c in found):
        raise ShardyError(
            f"positions in an array with bounds {tuple(bounds)} pass 64 bits; ask for one at a time"
        )
    return found


def _coordinate(value: Coordinate) -> Coordinate:
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu":
            raise ShardyError(f"coordinates are whole numbers, got an array of {value.dtype}")
        return value.astype(np.int64, copy=False)
    try:
        return operator.index(value)
    except TypeError:
        raise ShardyError(f"coordinates are whole numbers, got {value!r}") from None


def linear(index: Sequence[Coordinate], bounds: Sequence[int]) -> Coordinate | int:
    """The position of an element in major-to-minor order; 0 of no coordinates."""
    if not bounds:
        return 0
    position = index[0]
    for coordinate, bound in zip(index[1:], bounds[1:], strict=True):
        position = position * bound + coordinate
    return position


def unlinear(position: Coordinate | int, bounds: Sequence[int]) -> list[Coordinate | int]:
    """The coordinates of an element by its position in major-to-minor order; the first takes what is left."""
    found: list[Coordinate | int] = []
    for bound in reversed(bounds[1:]):
        size = max(bound, 1)
        found.append(position % size)
        position = position // size
    return [position, *reversed(found)] if bounds else []
