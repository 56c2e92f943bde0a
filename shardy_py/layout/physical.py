"""A layout as steps of numpy from a logical array to its flat buffer: transpose, reshape, pad at the end.

Not here: running the steps, forwards or backwards (`pack.py`); the offset of one element (`placement.py`).

>>> from shardy_py.layout.values import Layout, Tile
>>> for step in relayout_steps((3, 5), Layout((1, 0), (Tile((2, 2)),))):
...     print(step)
Pad(high=(1, 1), dimensions=(4, 6))
Reshape(dimensions=(2, 2, 3, 2))
Transpose(permutation=(0, 2, 1, 3), dimensions=(2, 3, 2, 2))
Reshape(dimensions=(24,))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from shardy_py.layout.tile_level import TileLevel
from shardy_py.layout.values import Layout


@dataclass(frozen=True, slots=True)
class Transpose:
    """Dimension i of the result is dimension permutation[i]; dimensions: the sizes after it."""

    permutation: tuple[int, ...]
    dimensions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
    """dimensions: the sizes after it."""

    dimensions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pad:
    """high: elements of padding at the end of each dimension; dimensions: the sizes after it."""

    high: tuple[int, ...]
    dimensions: tuple[int, ...]


Step = Transpose | Reshape | Pad


def relayout_steps(dimensions: Sequence[int], layout: Layout) -> tuple[Step, ...]:
    """The steps from a logical array of these sizes to its flat buffer, without those that have no effect.

    A transpose to physical order; for each tile a reshape that joins dimensions, a pad to whole tiles, a
    reshape that splits dimensions and a transpose that gathers the tiles; a reshape to one dimension and the
    padding of its tail. Raises ShardyError for a layout that is no permutation of the dimensions, or sparse.
    """
    place = layout.placement(dimensions)
    steps: list[Step] = [Transpose(tuple(reversed(layout.minor_to_major)), place.physical_dimensions)]
    for level in place.levels:
        steps += _tile_steps(level)
    whole = prod(place.tiled_dimensions)
    steps += [Reshape((whole,)), Pad((place.size - whole,), (place.size,))]
    before = [tuple(dimensions), *(step.dimensions for step in steps)]
    return tuple(step for step, sizes in zip(steps, before, strict=False) if not _is_identity(step, sizes))


def _tile_steps(level: TileLevel) -> list[Step]:
    kept, rank = level.kept, len(level.tile)
    major = level.joined[:kept]
    whole = (*major, *(count * size for count, size in zip(level.counts, level.tile, strict=True)))
    split = (*major, *(part for pair in zip(level.counts, level.tile, strict=True) for part in pair))
    order = (*range(kept), *range(kept, kept + 2 * rank, 2), *range(kept + 1, kept + 2 * rank, 2))
    pad = Pad(tuple(new - old for new, old in zip(whole, level.joined, strict=True)), whole)
    return [Reshape(level.joined), pad, Reshape(split), Transpose(order, level.dimensions)]


def _is_identity(step: Step, dimensions: tuple[int, ...]) -> bool:
    if isinstance(step, Transpose):
        return step.permutation == tuple(range(len(dimensions)))
    return step.dimensions == dimensions
