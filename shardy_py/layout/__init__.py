"""Memory layouts of XLA: shapes with tiled layouts, where each element lies, what an array takes with padding.

Values (`values.py`) and mathematics only: neither IR nor shardings are known here.
"""

from shardy_py.layout.values import (
    COMBINE,
    ArrayShape,
    Layout,
    OtherShape,
    Shape,
    SplitConfig,
    Tile,
    TupleShape,
)

__all__ = ["COMBINE", "ArrayShape", "Layout", "OtherShape", "Shape", "SplitConfig", "Tile", "TupleShape"]
