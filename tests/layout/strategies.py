"""Random layouts: small arrays in any order, up to three tiles of any rank, joined dimensions, padded tails."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shardy_py.layout import COMBINE, ArrayShape, Layout, Tile

MAX_SIZE = 50_000


@st.composite
def tiles(draw: st.DrawFn, rank: int) -> Tile:
    sizes = [draw(st.sampled_from((COMBINE, 1, 2, 3, 4, 8))) for _ in range(draw(st.integers(0, rank + 1)))]
    return Tile((*sizes[:-1], abs(sizes[-1]))) if sizes else Tile(())


@st.composite
def arrays(draw: st.DrawFn, *, dimensions: tuple[int, ...] | None = None) -> ArrayShape:
    """Arrays with a layout whose buffers are small enough to be enumerated."""
    if dimensions is None:
        dimensions = tuple(draw(st.lists(st.integers(0, 9), max_size=4)))
    order = tuple(draw(st.permutations(range(len(dimensions)))))
    found: list[Tile] = []
    shape = ArrayShape("f32", dimensions, layout=Layout(order))
    for _ in range(draw(st.integers(0, 3))):
        tile = draw(tiles(max(len(dimensions), 1)))
        layout = Layout(order, (*found, tile), tail_padding_alignment=draw(st.sampled_from((1, 1, 7))))
        tiled = ArrayShape("f32", dimensions, layout=layout)
        if tiled.placement.size <= MAX_SIZE:
            found.append(tile)
            shape = tiled
    return shape


def elements(shape: ArrayShape) -> int:
    return prod(shape.dimensions)


def points(shape: ArrayShape) -> np.ndarray[Any, Any]:
    """All logical indices in row-major order: [elements, rank]."""
    rank = len(shape.dimensions)
    return np.moveaxis(np.indices(shape.dimensions), 0, -1).reshape(elements(shape), rank)
