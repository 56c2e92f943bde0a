"""The arithmetic of tiles: dimensions joined and split into tiles, and indices converted both ways.

Sizes and indices are in physical order, major to minor. An index is a coordinate for each dimension: a
number, a numpy array (the coordinates of many elements) or an expression of `indexing/`; the result is of the
same kind. Not here: whole layouts, logical order (`placement.py`).

>>> level = tile_level((2, 7, 8, 11, 10), (-1, -1, 2, -1, 3))
>>> level.joined, level.tile, level.dimensions
((112, 110), (2, 3), (56, 37, 2, 3))
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.indexing import Expr

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMBINE = -1
"""In a tile: the dimension is joined with the next more minor one (`*`; XLA's kCombineDimension)."""

MOST_TILES = 32
"""Tiles of one layout; XLA's have three."""
MOST_DIMENSIONS = 200
"""Dimensions with and without tiling. Positions in arrays of so many have fewer digits than Python prints."""

_MAX_POSITION = (1 << 63) - 1
"""The largest number of an array of positions."""

IntArray: TypeAlias = "NDArray[np.int64]"
Coordinate = TypeVar("Coordinate", int, "IntArray", Expr)
Undone = tuple[list[Coordinate | int], list[tuple[Coordinate | int, int]]]


@dataclass(frozen=True, slots=True)
class TileLevel:
    """The effect of one tile on an array.

    groups: the sizes of the dimensions that each dimension of `joined` is made of, major to minor; an empty
        group is a dimension of size 1 that the tile has and the array lacks.
    joined: the array's sizes after joining.
    tile: the sizes of a tile; it splits the last dimensions of `joined`.
    """

    groups: tuple[tuple[int, ...], ...]
    joined: tuple[int, ...]
    tile: tuple[int, ...]

    @property
    def kept(self) -> int:
        """The number of major dimensions that are not tiled."""
        return len(self.joined) - len(self.tile)

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of tiles along each tiled dimension."""
        return tuple(-(-size // tile) for size, tile in zip(self.joined[self.kept :], self.tile, strict=True))

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes after tiling: kept dimensions, tile counts, tile sizes."""
        return (*self.joined[: self.kept], *self.counts, *self.tile)

    def tiled(self, index: Sequence[Coordinate]) -> list[Coordinate | int]:
        """The index in `dimensions` of an element of the array: floor(e / t) ++ (e mod t)."""
        start, joined = 0, list[Coordinate | int]()
        for group in self.groups:
            joined.append(linear(index[start : start + len(group)], group))
            start += len(group)
        cut = list(zip(joined[self.kept :], self.tile, strict=True))
        return [*joined[: self.kept], *(e // t for e, t in cut), *(e % t for e, t in cut)]

    def untiled(self, index: Sequence[Coordinate | int]) -> Undone[Coordinate]:
        """The index in the array of what is at `index` in `dimensions`, and its coordinates after joining.

        The latter come with sizes; one that is not below its size belongs to padding.
        """
        rank = len(self.tile)
        outer, inner = index[self.kept : self.kept + rank], index[self.kept + rank :]
        cut = [o * t + i for o, i, t in zip(outer, inner, self.tile, strict=True)]
        joined = [*index[: self.kept], *cut]
        coordinates: list[Coordinate | int] = []
        for coordinate, group in zip(joined, self.groups, strict=True):
            coordinates += unlinear(coordinate, group)
        return coordinates, list(zip(joined, self.joined, strict=True))


def tile_level(dimensions: Sequence[int], tile: Sequence[int]) -> TileLevel:
    """The effect of `tile`, sizes or `COMBINE`, on the minor-most dimensions of an array of these sizes.

    A tile of higher rank than the array adds major dimensions of size 1, as in XLA's `f32[]{:T(128)}`.
    Raises ShardyError for a size below 1 and if the minor-most dimension is to be joined.
    """
    text = f"tile {tuple(tile)}"
    wrong = next((size for size in tile if size < 1 and size != COMBINE), None)
    if wrong is not None:
        expected, remedy = "sizes of at least 1", f"{COMBINE} combines"
        raise ShardyError.unexpected(text, expected=expected, got=f"{wrong}", remedy=remedy)
    if tile and tile[-1] == COMBINE:
        raise ShardyError(f"{text}: the minor-most dimension has no dimension to combine with")
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
    """The coordinates of an index, with numpy's integers as Python's and its arrays 64 bits wide.

    Raises ShardyError unless there is one integer a dimension, and if positions in an array with these bounds
    exceed the 64 bits of numpy arrays.
    """
    array = f"an array with bounds {tuple(bounds)}"
    if len(index) != len(bounds):
        expected = f"{len(bounds)} coordinates"
        raise ShardyError.unexpected(f"index into {array}", expected=expected, got=f"{len(index)}")
    coordinates = list(map(_coordinate, index))
    if prod(bounds) > _MAX_POSITION and any(isinstance(c, np.ndarray) for c in coordinates):
        raise ShardyError(f"positions in {array} exceed 64 bits; compute one at a time")
    return coordinates


def _coordinate(value: Coordinate) -> Coordinate:
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu":
            raise ShardyError.unexpected("coordinates", expected="integers", got=f"an array of {value.dtype}")
        return value.astype(np.int64, copy=False)
    try:
        return operator.index(value)
    except TypeError:
        raise ShardyError.unexpected("coordinates", expected="integers", got=f"{value!r}") from None


def linear(index: Sequence[Coordinate], bounds: Sequence[int]) -> Coordinate | int:
    """The position of an element in major-to-minor order; 0 without coordinates."""
    if not bounds:
        return 0
    position = index[0]
    for coordinate, bound in zip(index[1:], bounds[1:], strict=True):
        position = position * bound + coordinate
    return position


def unlinear(position: Coordinate | int, bounds: Sequence[int]) -> list[Coordinate | int]:
    """The coordinates of the element at a position in major-to-minor order; the first one is not bounded."""
    coordinates: list[Coordinate | int] = []
    for bound in reversed(bounds[1:]):
        size = max(bound, 1)
        coordinates.append(position % size)
        position = position // size
    return [position, *reversed(coordinates)] if bounds else []


def linear_index(index: Sequence[Coordinate], bounds: Sequence[int]) -> Coordinate:
    """The position of element (e_n, ..., e_1) in an array with bounds (d_n, ..., d_1), d_1 the minor-most.

    e_n * d_{n-1} * ... * d_1 + e_{n-1} * d_{n-2} * ... * d_1 + ... + e_1; 0 for a scalar.

    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2))
    17

    Raises ShardyError unless there is one integer a dimension, and if positions in arrays exceed 64 bits.
    """
    return cast(Coordinate, linear(checked_index(index, bounds), bounds))


def linear_index_with_tile(
    index: Sequence[Coordinate], bounds: Sequence[int], tile: Sequence[int]
) -> Coordinate:
    """The position of an element in a tiled array.

    linear_index(floor(e / t) ++ (e mod t), ceil(d / t) ++ t). A tile of lower rank covers the minor-most
    dimensions; `COMBINE` (-1) in it joins a dimension with the next more minor one.

    >>> linear_index_with_tile((2, 3), (3, 5), (2, 2))
    17

    Raises ShardyError as `linear_index` does, and for an invalid tile.
    """
    level = tile_level(bounds, tile)
    tiled = cast("list[Coordinate]", level.tiled(checked_index(index, bounds)))
    return cast(Coordinate, linear(checked_index(tiled, level.dimensions), level.dimensions))


def tile_levels(dimensions: Sequence[int], tiles: Sequence[Sequence[int]]) -> tuple[TileLevel, ...]:
    """Repeated tiling: each tile splits the result of the one before.

    Raises ShardyError as `tile_level`, and for more than `MOST_TILES` and `MOST_DIMENSIONS`.
    """
    if len(tiles) > MOST_TILES:
        raise ShardyError.unexpected("tiles T", expected=f"at most {MOST_TILES}", got=f"{len(tiles)}")
    levels: list[TileLevel] = []
    for tile in tiles:
        check_rank(len(dimensions) + len(tile), "dimensions after tiling")
        levels.append(tile_level(dimensions, tile))
        dimensions = levels[-1].dimensions
    return tuple(levels)


def check_rank(rank: int, what: str = "dimensions of an array in memory") -> None:
    """Raises ShardyError for more than `MOST_DIMENSIONS`."""
    if rank > MOST_DIMENSIONS:
        raise ShardyError.unexpected(what, expected=f"at most {MOST_DIMENSIONS}", got=f"{rank}")
