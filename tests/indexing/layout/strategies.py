"""Random shapes: small arrays in any order with tiles of any rank, joined dimensions, padded tails."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shardy_py.indexing.layout import (
    COMBINE,
    ELEMENT_TYPES,
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    Layout,
    OtherShape,
    Shape,
    SplitConfig,
    Tile,
    TupleShape,
    faults,
)

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


def numbers(least: int = 0) -> st.SearchStrategy[int]:
    return st.integers(least, 1 << 40)


@st.composite
def dressed_layouts(draw: st.DrawFn, rank: int, *, sparse: bool) -> Layout:
    """Layouts with any parts; `sparse`: with those of sparse arrays, which newer XLA drops."""
    levels: tuple[str, ...] = ()
    if sparse and rank and draw(st.booleans()):
        kinds = st.sampled_from(("D", "C", "S", "C+", "S~", "H+~"))
        levels = tuple(draw(kinds) for _ in range(rank))
    is_sparse = any(level != "D" for level in levels)
    widths = st.sampled_from(("", "", "u8", "u32"))
    splits = st.builds(SplitConfig, st.integers(0, 5), st.lists(numbers(), max_size=3).map(tuple))
    return Layout(
        tuple(draw(st.permutations(range(rank)))),
        tuple(draw(st.lists(tiles(rank), max_size=3))),
        element_size_bits=draw(st.sampled_from((0, 0, 4, 32))),
        memory_space=draw(st.sampled_from((0, 0, 1, 5))),
        tail_padding_alignment=draw(st.sampled_from((1, 1, 128))),
        dim_level_types=levels,
        index_primitive_type=draw(widths),
        pointer_primitive_type=draw(widths),
        physical_shape=draw(shapes(depth=1)) if is_sparse and draw(st.booleans()) else None,
        split_configs=tuple(draw(st.lists(splits, max_size=2))),
        dynamic_shape_metadata_prefix_bytes=draw(st.sampled_from((0, 0, 8))),
    )


@st.composite
def dressed_arrays(draw: st.DrawFn, *, sparse: bool = True) -> ArrayShape:
    """Arrays whose layout has any parts."""
    sizes = draw(st.lists(st.one_of(st.integers(0, 9), numbers(), st.just(UNBOUNDED)), max_size=5))
    dynamic = tuple(size == UNBOUNDED or draw(st.booleans()) for size in sizes)
    layout = draw(st.none() | dressed_layouts(len(sizes), sparse=sparse))
    if layout is not None and str(layout) == "{}":
        layout = None
    element = draw(st.sampled_from(sorted(ELEMENT_TYPES)))
    return ArrayShape(element, tuple(sizes), dynamic if any(dynamic) else (), layout)


def shapes(*, depth: int = 3, sparse: bool = True) -> st.SearchStrategy[Shape]:
    """Shapes of every kind."""
    array = dressed_arrays(sparse=sparse)
    leaves = st.one_of(
        array,
        array,
        st.builds(BufferShape, array),
        st.builds(OtherShape, st.sampled_from(("token", "opaque"))),
    )
    if depth == 0:
        return leaves
    inner = st.deferred(lambda: shapes(depth=depth - 1, sparse=sparse))
    return leaves | st.builds(TupleShape, st.lists(inner.filter(_fits_a_tuple), max_size=3).map(tuple))


def _fits_a_tuple(shape: Shape) -> bool:
    array = shape.element if isinstance(shape, BufferShape) else shape
    return not isinstance(array, ArrayShape) or not faults(array)
