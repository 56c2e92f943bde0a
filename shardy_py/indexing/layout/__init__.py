"""Memory layouts of XLA: shapes with tiled layouts, offsets of elements, bytes with padding.

Values (`values.py`) and mathematics only: neither IR nor shardings are known here.
"""

from shardy_py.indexing.layout.bitcast import is_bitcast, offset_map
from shardy_py.indexing.layout.element_types import ElementType, element_type, element_type_of
from shardy_py.indexing.layout.formats import (
    TARGETS,
    Bytes,
    default_layout,
    layout_bytes,
    padded_bytes,
    padding_share,
    unpadded_bytes,
)
from shardy_py.indexing.layout.pack import Pad, Reshape, Step, Transpose, pack, relayout_steps, unpack
from shardy_py.indexing.layout.placement import BufferPlacement
from shardy_py.indexing.layout.text import HloCursor, parse_array, parse_shape, read_shape
from shardy_py.indexing.layout.tile_level import COMBINE, check_rank, linear_index, linear_index_with_tile
from shardy_py.indexing.layout.values import (
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

__all__ = [
    "COMBINE",
    "ELEMENT_TYPES",
    "TARGETS",
    "UNBOUNDED",
    "ArrayShape",
    "BufferPlacement",
    "BufferShape",
    "Bytes",
    "ElementType",
    "HloCursor",
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
    "check_rank",
    "default_layout",
    "element_type",
    "element_type_of",
    "faults",
    "is_bitcast",
    "layout_bytes",
    "linear_index",
    "linear_index_with_tile",
    "offset_map",
    "pack",
    "padded_bytes",
    "padding_share",
    "parse_array",
    "parse_shape",
    "read_shape",
    "relayout_steps",
    "unpack",
    "unpadded_bytes",
]
