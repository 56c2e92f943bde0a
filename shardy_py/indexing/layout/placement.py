"""The offset of each element of an array in its buffer, and the element at each offset.

A `BufferPlacement` is made once for an array and a layout (`Layout.placement`); it converts single elements,
numpy arrays of coordinates and symbolic ones. Not here: moving data (`pack.py`), the
formulas of one tile (`tile_level.py`).

>>> place = placement((3, 5), (1, 0), ((2, 2),))
>>> place.offset((2, 3)), place.element(17), place.element(23), place.size
(17, (2, 3), None, 24)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing import Expr, IndexMap, constant, dim, extent
from shardy_py.indexing.layout.tile_level import (
    Coordinate,
    IntArray,
    TileLevel,
    Undone,
    check_rank,
    checked_index,
    linear_index,
    tile_levels,
    unlinear,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BufferPlacement:
    """The correspondence between the elements of an array and the offsets in its buffer, in elements.

    dimensions: logical sizes, major first.
    minor_to_major: the logical dimensions, the minor-most first.
    levels: the tiles, first to last; the first one applies to the array in physical order.
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
        """The offset of an element; its coordinates are all numbers, numpy arrays or expressions.

        Raises ShardyError for a coordinate outside the array, and if offsets in numpy arrays exceed 64 bits.
        """
        logical = checked_index(index, self.dimensions)
        for i, (coordinate, size) in enumerate(zip(logical, self.dimensions, strict=True)):
            _check(coordinate, size, f"dimension {i}")
        place: list[Coordinate] = [logical[i] for i in reversed(self.minor_to_major)]
        for level in self.levels:
            place = cast("list[Coordinate]", level.tiled(place))
        return linear_index(place, self.tiled_dimensions)

    def element(self, offset: int) -> tuple[int, ...] | None:
        """The logical index at `offset`; None for padding. Raises ShardyError outside the buffer."""
        index, landing = self._undone(offset)
        return tuple(index) if all(coordinate < size for coordinate, size in landing) else None

    def elements(self, offsets: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Logical indices [rank, ...] of the elements at `offsets` [...], and a mask [...] of non-padding.

        Indices of padding are -1. Raises ShardyError as `element` does.
        """
        index, landing = self._undone(offsets)
        inside = np.ones(offsets.shape, dtype=np.bool_)
        for coordinate, size in landing:
            inside &= np.asarray(coordinate < size)
        elements = np.empty((len(index), *offsets.shape), dtype=np.int64)
        for i, coordinates in enumerate(index):
            elements[i] = np.where(inside, coordinates, -1)
        return elements, inside

    def indexing_map(self) -> IndexMap:
        """From the logical index to the offset, simplified."""
        return self.direct_map().simplified

    def direct_map(self) -> IndexMap:
        """From the logical index to the offset as it is computed, dimensions of size 1 included."""
        offset: Expr | int = self.offset(tuple(map(dim, range(len(self.dimensions)))))
        return IndexMap((_expression(offset),), tuple(map(extent, self.dimensions)))

    def digit_map(self) -> IndexMap:
        """From the offset to the index in `tiled_dimensions`; the padded tail is outside the domain."""
        results = tuple(map(_expression, unlinear(dim(0), self.tiled_dimensions)))
        return IndexMap(results, (extent(prod(self.tiled_dimensions)),))

    def element_map(self) -> IndexMap:
        """From the index in `tiled_dimensions` to the logical index; padding is outside the domain."""
        dims = tuple(map(extent, self.tiled_dimensions))
        index, landing = self._untiled([dim(i) for i in range(len(dims))])
        constraints = tuple((_expression(coordinate), extent(size)) for coordinate, size in landing)
        return IndexMap(tuple(map(_expression, index)), dims, constraints=constraints)

    def _undone(self, offset: Coordinate) -> Undone[Coordinate]:
        """The logical index at `offset`, and coordinates that are below their sizes unless padding."""
        (offset,) = checked_index((offset,), (self.size,))
        _check(offset, self.size, "the buffer")
        index, landing = self._untiled(unlinear(offset, self.tiled_dimensions))
        return index, [(offset, prod(self.tiled_dimensions)), *landing]

    def _untiled(self, index: Sequence[Coordinate | int]) -> Undone[Coordinate]:
        landing: list[tuple[Coordinate | int, int]] = []
        index = list(index)
        for level in reversed(self.levels):
            index, joined = level.untiled(index)
            landing += joined
        logical = dict(zip(reversed(self.minor_to_major), index, strict=True))
        return [logical[i] for i in range(len(logical))], landing


@SESSION.cache(1024)
def placement(
    dimensions: tuple[int, ...],
    minor_to_major: tuple[int, ...],
    tiles: tuple[tuple[int, ...], ...] = (),
    tail_padding_alignment: int = 1,
) -> BufferPlacement:
    """The placement of the elements of an array of these sizes.

    Raises ShardyError if `minor_to_major` is no permutation, for an unbounded size and for an invalid tile.
    """
    check_rank(len(dimensions))
    if sorted(minor_to_major) != list(range(len(dimensions))):
        expected = f"a permutation of {len(dimensions)} dimensions"
        raise ShardyError.unexpected("minor_to_major", expected=expected, got=f"{minor_to_major}")
    if min(dimensions, default=0) < 0:
        raise ShardyError.unsupported(f"placement of an unbounded array of sizes {dimensions}")
    physical = tuple(dimensions[i] for i in reversed(minor_to_major))
    levels = tile_levels(physical, tiles)
    size = prod(levels[-1].dimensions if levels else physical)
    size = -(-size // tail_padding_alignment) * tail_padding_alignment
    return BufferPlacement(dimensions, minor_to_major, levels, size)


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
        got = f"{low if low < 0 else high}"
        raise ShardyError.unexpected(where, expected=f"a coordinate from 0 to {size - 1}", got=got)
