"""Memory layouts of XLA: shapes with tiled layouts, where elements lie, what an array takes with padding.

Values (`values.py`) and mathematics only: neither IR nor shardings are known here.
"""

from shardy_py.layout.linear_index import linear_index, linear_index_with_tile
from shardy_py.layout.physical import (
    Pad,
    Reshape,
    Step,
    Transpose,
    physical_size,
    relayout_steps,
)
from shardy_py.layout.text import parse_shape, read_shape
from shardy_py.layout.tile_level import COMBINE
from shardy_py.layout.tokens import Cursor
from shardy_py.layout.values import (
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
)

__all__ = [
    "COMBINE",
    "ELEMENT_TYPES",
    "UNBOUNDED",
    "ArrayShape",
    "BufferShape",
    "Cursor",
    "Layout",
    "OtherShape",
    "Pad",
    "Reshape",
    "Shape",
    "SplitConfig",
    "Step",
    "Tile",
    "Transpose",
    "TupleShape",
    "linear_index",
    "linear_index_with_tile",
    "parse_shape",
    "physical_size",
    "read_shape",
    "relayout_steps",
]
