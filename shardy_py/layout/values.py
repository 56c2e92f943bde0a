"""Shapes and layouts of XLA as plain values: what the text `f32[3,5]{1,0:T(2,2)}` says.

Not here: the text itself (`text.py`), where an element lies (`linear_index.py`), which layout an array gets
(`formats.py`).

>>> Layout((1, 0), (Tile((2, 2)),)).minor_to_major
(1, 0)
"""

from __future__ import annotations

from dataclasses import dataclass

COMBINE = -1
"""In a tile: the dimension is joined with the next more minor one (`*`; XLA's kCombineDimension)."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile: sizes in physical order, major to minor; `COMBINE` joins a dimension with the next one."""

    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """How one dimension is split over memories: the indices at which a new part starts."""

    dimension: int
    split_indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array lies in memory.

    minor_to_major: the logical dimensions, the minor-most first.
    tiles: applied one after the other, each to the result of the one before.
    element_size_bits: bits an element takes; 0: those of its type.
    memory_space: 0 is the default one.
    tail_padding_alignment: the size of the whole is rounded up to a multiple of it, in elements; 1: not.
    dim_level_types: "D", "C", "S", ... a dimension, as XLA spells them; empty: all dense.
    index_primitive_type, pointer_primitive_type: of sparse arrays; "": none.
    physical_shape: of sparse arrays; None: none.
    split_configs: how dimensions are split over memories.
    dynamic_shape_metadata_prefix_bytes: bytes before the data that hold the sizes of dynamic dimensions.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[Tile, ...] = ()
    element_size_bits: int = 0
    memory_space: int = 0
    tail_padding_alignment: int = 1
    dim_level_types: tuple[str, ...] = ()
    index_primitive_type: str = ""
    pointer_primitive_type: str = ""
    physical_shape: Shape | None = None
    split_configs: tuple[SplitConfig, ...] = ()
    dynamic_shape_metadata_prefix_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """An array: element type in XLA's lower-case spelling (`f32`, `bf16`, `pred`), sizes major first.

    dynamic: by dimension, whether its size is only a bound (`<=n`); empty: none is.
    layout: None where the text gives none.
    """

    element_type: str
    dimensions: tuple[int, ...]
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class TupleShape:
    """Several shapes as one value."""

    elements: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class OtherShape:
    """What holds no elements: `token[]`, `opaque[]`."""

    kind: str


Shape = ArrayShape | TupleShape | OtherShape
