"""Where each element of an array lies in its buffer, and which element lies at an offset.

A `Placement` is made once for an array and a layout (`Layout.placement`); what it answers for one element it
answers for numpy arrays of coordinates and for symbolic ones too. Not here: moving data (`pack.py`), the
formulas of one tile (`tile_level.py`).

>>> place = placement((3, 5), (1, 0), ((2, 2),))
>>> place.offset((2, 3)), place.element(17), place.element(23), place.size
(17, (2, 3), None, 24)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shardy_py.errors import ShardyError
from shardy_py.indexing import Expr, IndexMap, constant, dim, extent
from shardy_py.layout.linear_index import linear_index, tile_levels
from shardy_py.layout.tile_level import Coordinate, IntArray, TileLevel, checked_index, unlinear

_Undone = tuple[list[Coordinate | int], list[tuple[Coordinate | int, int]]]


@dataclass(frozen=True, slots=True)
class Placement:
    """The way between the elements of an array and the offsets in its buffer, both in elements.

    dimensions: logical sizes, major first.
    minor_to_major: the logical dimensions, the minor-most first.
    levels: what each tile does, to the array in physical order and to what the tiles before have made of it.
    size: of the buffer, padding included.
    """

    dimensions: tuple[int, ...]
    minor_to_major: tuple[int, ...]
    levels: tuple[TileLevel, ...]
    size: int

    @property
    def physical_dimensions(self) -> tuple[int, ...]:
        """The sizes in the order of memory, major to minor, before tiling."""
        return tuple(self.dimensions[i] for i in reversed(self.minor_to_major))

    @property
    def tiled_dimensions(self) -> tuple[int, ...]:
        """The sizes after the last tile."""
        return self.levels[-1].dimensions if self.levels else self.physical_dimensions

    def offset(self, index: Sequence[Coordinate]) -> Coordinate:
        """Where an element lies.

        index: a coordinate for each logical dimension, all of one kind: numbers, numpy arrays or expressions.

        Raises ShardyError for a coordinate outside the array, and where offsets pass 64 bits in numpy arrays.
        """
        logical = checked_index(index, self.dimensions)
        for i, (coordinate, size) in enumerate(zip(logical, self.dimensions, strict=True)):
            _check(coordinate, size, f"dimension {i}")
        place: list[Coordinate] = [logical[i] for i in reversed(self.minor_to_major)]
        for level in self.levels:
            place = cast("list[Coordinate]", level.tiled(place))
        return linear_index(place, self.tiled_dimensions)

    def element(self, offset: int) -> tuple[int, ...] | None:
        """The logical index of what lies at `offset`; None of padding.

        Raises ShardyError for an offset outside the buffer.
        """
        (offset,) = checked_index((offset,), (self.size,))
        _check(offset, self.size, "the buffer")
        index, landing = self._undone(offset)
        return tuple(index) if all(coordinate < size for coordinate, size in landing) else None

    def elements(self, offsets: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Logical indices [rank, ...] of what lies at `offsets` [...], and what of it is no padding [...].

        Indices of padding are -1. Raises ShardyError as `element` does.
        """
        (offsets,) = checked_index((offsets,), (self.size,))
        _check(offsets, self.size, "the buffer")
        index, landing = self._undone(offsets)
        inside = np.ones(offsets.shape, dtype=np.bool_)
        for coordinate, size in landing:
            inside &= np.asarray(coordinate < size)
        found = np.empty((len(index), *offsets.shape), dtype=np.int64)
        for i, coordinates in enumerate(index):
            found[i] = np.where(inside, coordinates, -1)
        return found, inside

    def indexing_map(self) -> IndexMap:
        """From the logical index to the offset, simplified."""
        return self.direct_map().simplified

    def direct_map(self) -> IndexMap:
        """From the logical index to the offset as it is computed, dimensions of size 1 included."""
        dims = tuple(map(extent, self.dimensions))
        offset: Expr | int = self.offset(tuple(map(dim, range(len(dims)))))
        return IndexMap((_expression(offset),), dims)

    def inverse_map(self) -> IndexMap:
        """From the offset to the logical index, simplified; padding lies outside its domain."""
        return self.digit_map().compose(self.element_map()).simplified

    def digit_map(self) -> IndexMap:
        """From the offset to the index in `tiled_dimensions`; the padded tail lies outside its domain."""
        results = tuple(map(_expression, unlinear(dim(0), self.tiled_dimensions)))
        whole = extent(prod(self.tiled_dimensions))
        return IndexMap(results, (whole,))

    def element_map(self) -> IndexMap:
        """From the index in `tiled_dimensions` to the logical index; padding lies outside its domain."""
        dims = tuple(map(extent, self.tiled_dimensions))
        index, landing = self._untiled([dim(i) for i in range(len(dims))])
        constraints = tuple((_expression(coordinate), extent(size)) for coordinate, size in landing)
        return IndexMap(tuple(map(_expression, index)), dims, constraints=constraints)

    def _undone(self, offset: Coordinate) -> _Undone[Coordinate]:
        """The logical index of what lies at `offset`, and coordinates below whose sizes it must lie."""
        tiled = unlinear(offset, self.tiled_dimensions)
        index, landing = self._untiled(tiled)
        return index, [(offset, prod(self.tiled_dimensions)), *landing]

    def _untiled(self, index: Sequence[Coordinate | int]) -> _Undone[Coordinate]:
        landing: list[tuple[Coordinate | int, int]] = []
        index = list(index)
        for level in reversed(self.levels):
            index, joined = level.untiled(index)
            landing += joined
        logical = dict(zip(reversed(self.minor_to_major), index, strict=True))
        return [logical[i] for i in range(len(logical))], landing


@lru_cache(maxsize=4096)
def placement(
    dimensions: tuple[int, ...],
    minor_to_major: tuple[int, ...],
    tiles: tuple[tuple[int, ...], ...] = (),
    tail_padding_alignment: int = 1,
) -> Placement:
    """Where elements lie in an array of these sizes.

    Raises ShardyError if `minor_to_major` is no permutation of the dimensions, for a size that is not known,
    and for a tile that cannot be one.
    """
    if sorted(minor_to_major) != list(range(len(dimensions))):
        raise ShardyError(
            f"minor_to_major must list each of the {len(dimensions)} dimensions once, got {minor_to_major}"
        )
    if min(dimensions, default=0) < 0:
        raise ShardyError(f"an array with an unbounded dimension has no places, got sizes {dimensions}")
    physical = tuple(dimensions[i] for i in reversed(minor_to_major))
    levels = tile_levels(physical, tiles)
    size = prod(levels[-1].dimensions if levels else physical)
    size = -(-size // tail_padding_alignment) * tail_padding_alignment
    return Placement(dimensions, minor_to_major, levels, size)


def _expression(value: Expr | int) -> Expr:
    return constant(value) if isinstance(value, int) else value


def _check(coordinate: Coordinate, size: int, where: str) -> None:
    if isinstance(coordinate, Expr):
        return
    low = high = coordinate
    if isinstance(coordinate, np.ndarray):
        if not coordinate.size:
            return
        low, high = coordinate.min(), coordinate.max()
    if low < 0 or high >= size:
        raise ShardyError(f"{where} has the coordinates 0 to {size - 1}, got {low if low < 0 else high}")
