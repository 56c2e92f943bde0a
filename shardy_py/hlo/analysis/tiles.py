"""Tiles: from a tile of a result to the tiles of the operands that it needs, or the reverse.

>>> from shardy_py.ops import OpRecord, TensorType
>>> record = OpRecord("stablehlo.transpose", (TensorType((64, 32)),), (TensorType((32, 64)),),
...                   {"permutation": (1, 0)})
>>> print(propagate_tile(StridedTile((8, 0), (8, 16)), record)[0])
offsets (0, 8), sizes (16, 8), strides (1, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hlo.analysis.function import Function, function_of
from shardy_py.hlo.analysis.fusion import function_maps
from shardy_py.hlo.analysis.image import Image, image_of
from shardy_py.hlo.analysis.maps import Direction, sizes_of
from shardy_py.hlo.analysis.strided import Progression, StridedBox, merged, whole
from shardy_py.hlo.analysis.utilization import exact_union
from shardy_py.indexing import Expr, IndexMap, Interval, Variable, dim, range_var
from shardy_py.ops import OpRecord


@dataclass(frozen=True)
class StridedTile:
    """`size` indices from `offset` on, `stride` apart, in each dimension of a tensor.

    strides: empty: all 1. is_exact: False if some elements may not be needed.
    """

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...] = ()
    is_exact: bool = True

    @property
    def box(self) -> StridedBox:
        """The elements."""
        strides = self.strides or (1,) * len(self.sizes)
        return StridedBox(tuple(map(Progression, self.offsets, strides, self.sizes)))

    def __str__(self) -> str:
        text = f"offsets {self.offsets}, sizes {self.sizes}, strides {self.box.strides}"
        return text if self.is_exact else f"{text} (over-approximated)"


def propagate_tile(
    tile: StridedTile,
    subject: Function | OpRecord,
    *,
    number: int = 0,
    direction: Direction = "output-to-input",
) -> tuple[StridedTile | None, ...]:
    """The tile of each operand that a tile of result `number` needs; None for an operand it does not read.

    The other direction returns the tile of each result that a tile of operand `number` reaches.
    """
    grid = function_maps(subject, direction)
    function = subject if isinstance(subject, Function) else function_of(subject)
    here, there = function.result_types, function.parameters
    if direction == "input-to-output":
        here, there = there, here
    sizes = sizes_of(here[number])
    if len(tile.sizes) != len(sizes) or not whole(sizes).covers(tile.box):
        raise ShardyError(f"tile {tile} outside a tensor of sizes {sizes}")
    pairs = zip(grid[number], there, strict=True)
    return tuple(tile_of(maps, tile, sizes_of(tensor)) for maps, tensor in pairs)


def tile_of(maps: Sequence[IndexMap], tile: StridedTile, sizes: tuple[int, ...]) -> StridedTile | None:
    """The smallest tile of a tensor of `sizes` that holds all elements that the maps reach from `tile`."""
    images = [image_of(_on_tile(m, tile)) for m in maps]
    images = [image for image in images if image.count]
    if not images:
        return None
    box = merged([image.box for image in images])
    is_exact = tile.is_exact and _fills(images, box, sizes)
    return StridedTile(box.offsets, box.sizes, box.strides, is_exact)


def _fills(images: Sequence[Image], box: StridedBox, sizes: tuple[int, ...]) -> bool:
    """Returns whether the union of the images is the box."""
    if any(image.is_box and image.count == box.count for image in images):
        return True
    return not any(image.is_bound for image in images) and exact_union(images, sizes)[0] == box.count


def _on_tile(index_map: IndexMap, tile: StridedTile) -> IndexMap:
    """The map on the elements of the tile, numbered within it, with the constraints of its domain."""
    places = [dim(i) * p.step + p.start for i, p in enumerate(tile.box.dimensions)]
    substituted = index_map.substituted({dim(i): place for i, place in enumerate(places)})
    domain = zip(places, index_map.dims, strict=True)
    dims = tuple(Interval(0, size - 1) for size in tile.sizes)
    return replace(substituted, dims=dims, constraints=(*substituted.constraints, *domain))


@dataclass(frozen=True)
class SymbolicTile:
    """The tiles of an operand for all tiles of a result: d0, d1, ... are the indices of the result's tile.

    offsets: the map from a tile's indices to its offsets. sizes, strides: of all tiles; tiles at the end may
    exceed the tensor. is_exact: whether all elements of tiles inside the tensor are needed.
    """

    offsets: IndexMap
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    is_exact: bool = True


def symbolic_tile(index_map: IndexMap, tile_sizes: Sequence[int]) -> SymbolicTile:
    """The tiles that a map reaches from the tiles of its domain, of `tile_sizes` from 0 on.

    >>> from shardy_py.indexing import parse_map
    >>> m = parse_map("(d0, d1)[s0] -> (d1 * 2, s0), domain: d0 in [0, 63], d1 in [0, 31], s0 in [0, 7]")
    >>> tile = symbolic_tile(m, (16, 8))
    >>> str(tile.offsets).splitlines()[0], tile.sizes, tile.strides
    ('(d0, d1) -> (d1 * 16, 0),', (8, 8), (2, 1))
    """
    if len(tile_sizes) != len(index_map.dims) or any(size < 1 for size in tile_sizes):
        expected = f"a positive one for each of {len(index_map.dims)} dimensions"
        raise ShardyError.unexpected("tile sizes", expected=expected, got=f"{tuple(tile_sizes)}")
    index_map = index_map.simplified
    counts = [-(-(i.high + 1) // size) for i, size in zip(index_map.dims, tile_sizes, strict=True)]
    inner = len(index_map.ranges)
    renamed: dict[Variable, Expr] = {
        dim(i): dim(i) * size + range_var(inner + i) for i, size in enumerate(tile_sizes)
    }
    dims = tuple(Interval(0, count - 1) for count in counts)
    within = tuple(Interval(0, size - 1) for size in tile_sizes)
    substituted = index_map.substituted(renamed)
    tiled = IndexMap(substituted.results, dims, (*index_map.ranges, *within), index_map.runtimes).simplified
    is_exact = not substituted.constraints
    outer, inner_parts = zip(*map(_separated, tiled.results), strict=True) if tiled.results else ((), ())
    within_tile = image_of(IndexMap(inner_parts, tiled.dims, tiled.ranges, tiled.runtimes))
    is_exact &= within_tile.is_box and all(v.kind == "s" for part in inner_parts for v in part.variables)
    starts = tuple(o + p.start for o, p in zip(outer, within_tile.box.dimensions, strict=True))
    offsets = IndexMap(starts, dims, (), tiled.runtimes)
    return SymbolicTile(offsets, within_tile.box.sizes, within_tile.box.strides, is_exact)


def _separated(result: Expr) -> tuple[Expr, Expr]:
    """The part of an expression that depends on the tile only, and the rest."""
    outer = result * 0
    for atom, factor in result.terms:
        if not any(v.kind == "s" for v in atom.variables):
            outer = outer + atom * factor
    return outer, result - outer
