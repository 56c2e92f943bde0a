"""Where an element lies: the formulas of tiled layouts, on plain sizes in physical order.

An index is a coordinate for each dimension: a number, a numpy array (the coordinates of many elements), or an
expression of `indexing/`; the result is of the same kind. Not here: logical order (`physical.py`).

>>> linear_index((1, 1, 0, 1), (2, 3, 2, 2)), linear_index_with_tile((2, 3), (3, 5), (2, 2))
(17, 17)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardy_py.layout.tile_level import Coordinate, TileLevel, checked_index, linear, tile_level


def linear_index(index: Sequence[Coordinate], bounds: Sequence[int]) -> Coordinate:
    """The position of element (e_n, ..., e_1) in an array with bounds (d_n, ..., d_1), d_1 the minor-most.

    e_n * d_{n-1} * ... * d_1 + e_{n-1} * d_{n-2} * ... * d_1 + ... + e_1; 0 of a scalar.

    Raises ShardyError if there is not one whole number a dimension, and where arrays would pass 64 bits.
    """
    return cast(Coordinate, linear(checked_index(index, bounds), bounds))


def linear_index_with_tile(
    index: Sequence[Coordinate], bounds: Sequence[int], tile: Sequence[int]
) -> Coordinate:
    """The position of an element in an array laid out in tiles.

    linear_index(floor(e / t) ++ (e mod t), ceil(d / t) ++ t). A tile of lower rank is one of the minor-most
    dimensions; `COMBINE` (-1) in it joins a dimension with the next more minor one.

    Raises ShardyError as `linear_index` does, and for a tile that is none.
    """
    level = tile_level(bounds, tile)
    tiled = cast("list[Coordinate]", level.tiled(checked_index(index, bounds)))
    return cast(Coordinate, linear(checked_index(tiled, level.dimensions), level.dimensions))


def tile_levels(dimensions: Sequence[int], tiles: Sequence[Sequence[int]]) -> tuple[TileLevel, ...]:
    """Repeated tiling: each tile cuts the result of the one before."""
    levels: list[TileLevel] = []
    for tile in tiles:
        levels.append(tile_level(dimensions, tile))
        dimensions = levels[-1].dimensions
    return tuple(levels)
