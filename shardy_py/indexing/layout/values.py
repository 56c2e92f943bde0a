"""Shapes and layouts of XLA as plain values; `str` prints them as XLA does, `f32[3,5]{1,0:T(2,2)}`.

Not here: reading text (`text.py`), offsets of elements (`placement.py`), default layouts (`formats.py`).

>>> shape = ArrayShape("f32", (3, 5), layout=Layout((1, 0), (Tile((2, 2)),)))
>>> str(shape), shape.layout.minor_to_major
('f32[3,5]{1,0:T(2,2)}', (1, 0))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import mul

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing import IndexMap
from shardy_py.indexing.layout.element_types import ELEMENT_TABLE
from shardy_py.indexing.layout.placement import BufferPlacement, placement
from shardy_py.indexing.layout.tile_level import COMBINE

UNBOUNDED = -1
"""The size of an unbounded dimension: `?`, always dynamic."""

ELEMENT_TYPES = frozenset(ELEMENT_TABLE)
OTHER_KINDS = frozenset(("token", "opaque"))
_MAX_BYTES = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile: sizes in physical order, major to minor; `COMBINE` joins a dimension with the next one."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        wrong = next((size for size in self.sizes if size < 0 and size != COMBINE), None)
        if wrong is not None:
            raise ShardyError(f"invalid tile size {wrong}: expected sizes from 1, or '*'")

    def __str__(self) -> str:
        return f"({_listed('*' if size == COMBINE else size for size in self.sizes)})"


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """The split of one dimension over memories: the indices at which a new part starts.

    dimension: in physical order, the major-most 0.
    """

    dimension: int
    split_indices: tuple[int, ...]

    def __str__(self) -> str:
        return f"({self.dimension}:{_listed(self.split_indices)})"


@dataclass(frozen=True, slots=True)
class Layout:
    """A memory layout.

    minor_to_major: the logical dimensions, the minor-most first.
    tiles: each applies to the result of the one before.
    element_size_bits: of an element; 0: those of its type.
    memory_space: 0 is the default one.
    tail_padding_alignment: the size is rounded up to a multiple of it, in elements.
    dim_level_types: "D", "C", "S", ... by dimension, in XLA's spelling; empty: all dense.
    index_primitive_type, pointer_primitive_type: of sparse arrays; "": none.
    physical_shape: of sparse arrays; None: none.
    split_configs: splits of dimensions over memories.
    dynamic_shape_metadata_prefix_bytes: bytes before the data for the sizes of dynamic dimensions.
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

    def __post_init__(self) -> None:
        if self.tail_padding_alignment < 1:
            what, got = "tail padding alignment L", f"{self.tail_padding_alignment}"
            raise ShardyError.unexpected(what, expected="at least 1", got=got)
        if self.dim_level_types and len(self.dim_level_types) != len(self.minor_to_major):
            expected = f"one for each of {len(self.minor_to_major)} dimensions"
            raise ShardyError.unexpected(
                "level types D", expected=expected, got=f"{len(self.dim_level_types)}"
            )
        if self.physical_shape is not None and not self.is_sparse:
            raise ShardyError("physical shape P of a dense array; give its level types with D(...)")

    @property
    def is_sparse(self) -> bool:
        """Returns whether some dimension is not dense."""
        return any(not kind.startswith("D") for kind in self.dim_level_types)

    def placement(self, dimensions: Sequence[int]) -> BufferPlacement:
        """The offsets of the elements of an array of these logical sizes.

        Raises ShardyError if the rank is another, the layout sparse, a size unbounded or a tile invalid.
        """
        if self.is_sparse:
            raise ShardyError.unsupported(f"placement of a sparse array, levels {self.dim_level_types},")
        tiles = tuple(tile.sizes for tile in self.tiles)
        return placement(tuple(dimensions), self.minor_to_major, tiles, self.tail_padding_alignment)

    def indexing_map(self, shape: ArrayShape | Sequence[int]) -> IndexMap:
        """From the logical index to the offset in the buffer, in elements, simplified.

        shape: an array, whose own layout is ignored, or logical sizes. Raises ShardyError as `placement`.

        >>> print(Layout((1, 0), (Tile((2, 2)),)).indexing_map((4, 8)))
        (d0, d1) -> (d0 * 2 + d1 + (d0 floordiv 2) * 12 + (d1 floordiv 2) * 2),
        domain:
        d0 in [0, 3],
        d1 in [0, 7]
        """
        dimensions = shape.dimensions if isinstance(shape, ArrayShape) else shape
        return self.placement(dimensions).indexing_map()

    def __str__(self) -> str:
        parts = (
            (self.dim_level_types, f"D({_listed(self.dim_level_types)})"),
            (self.tiles, "T" + "".join(map(str, self.tiles))),
            (self.tail_padding_alignment != 1, f"L({self.tail_padding_alignment})"),
            (self.index_primitive_type, f"#({self.index_primitive_type})"),
            (self.pointer_primitive_type, f"*({self.pointer_primitive_type})"),
            (self.element_size_bits, f"E({self.element_size_bits})"),
            (self.memory_space, f"S({self.memory_space})"),
            (self.split_configs, "SC" + "".join(map(str, self.split_configs))),
            (self.physical_shape is not None, f"P({self.physical_shape})"),
            (self.dynamic_shape_metadata_prefix_bytes > 0, f"M({self.dynamic_shape_metadata_prefix_bytes})"),
        )
        suffix = "".join(text for stated, text in parts if stated)
        return f"{{{_listed(self.minor_to_major)}{':' * bool(suffix)}{suffix}}}"


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """An array: element type in XLA's lower-case spelling (`f32`, `bf16`, `pred`), sizes major first.

    dynamic: by dimension, whether its size is only a bound (`<=n`); empty: none is.
    layout: None if unspecified.
    """

    element_type: str
    dimensions: tuple[int, ...]
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None

    def __post_init__(self) -> None:
        rank = len(self.dimensions)
        if self.element_type not in ELEMENT_TYPES:
            raise ShardyError.unknown("element type", self.element_type, ELEMENT_TABLE)
        if self.dynamic and len(self.dynamic) != rank:
            expected = f"one flag for each of {rank} dimensions"
            raise ShardyError.unexpected("dynamic", expected=expected, got=f"{self.dynamic}")
        for i, size in enumerate(self.dimensions):
            if size < 0 and not (size == UNBOUNDED and self.dynamic and self.dynamic[i]):
                raise ShardyError(f"dimension {i} has negative size {size}")
        if self.layout is not None and len(self.layout.minor_to_major) != rank:
            got = f"{len(self.layout.minor_to_major)}"
            raise ShardyError.unexpected("layout", expected=f"{rank} dimensions", got=got)

    @property
    def placement(self) -> BufferPlacement:
        """The offsets of the elements; row-major without a layout. Raises as `Layout.placement`."""
        if self.layout is None:
            return placement(self.dimensions, tuple(reversed(range(len(self.dimensions)))))
        return self.layout.placement(self.dimensions)

    def __str__(self) -> str:
        dynamic = self.dynamic or (False,) * len(self.dimensions)
        sizes = _listed(
            "?" if size == UNBOUNDED else f"<={size}" if bound else size
            for size, bound in zip(self.dimensions, dynamic, strict=True)
        )
        # XLA omits the layout `{}` of a scalar, which it could not read back.
        layout = str(self.layout) if self.layout else ""
        return f"{self.element_type}[{sizes}]{'' if layout == '{}' else layout}"


@dataclass(frozen=True, slots=True)
class TupleShape:
    """Several shapes as one value."""

    elements: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class BufferShape:
    """A buffer that holds an array: `b(f32[4])`."""

    element: ArrayShape

    def __str__(self) -> str:
        return f"b({self.element})"


@dataclass(frozen=True, slots=True)
class OtherShape:
    """A shape without elements: `token[]`, `opaque[]`."""

    kind: str

    def __post_init__(self) -> None:
        if self.kind not in OTHER_KINDS:
            raise ShardyError.unknown("kind of shape", self.kind, sorted(OTHER_KINDS))

    def __str__(self) -> str:
        return f"{self.kind}[]"


Shape = ArrayShape | TupleShape | BufferShape | OtherShape


def _listed(items: Iterable[object]) -> str:
    return ",".join(map(str, items))


@SESSION.cache(1 << 12)
def faults(shape: ArrayShape) -> tuple[str, ...]:
    """The faults of an array: of its size in bytes, then of each part of its layout.

    These are the checks of XLA's `ValidateShape`, which apply to elements of tuples only.

    >>> faults(ArrayShape("f32", (3, 5), (), Layout((1, 1))))
    ('minor_to_major: expected a permutation of 2 dimensions, got (1, 1)',)
    """
    element_bytes = max(1, ELEMENT_TABLE[shape.element_type].bits // 8)
    bounded = (size for size in shape.dimensions if size != UNBOUNDED)
    products = tuple(accumulate(bounded, mul, initial=1))
    text = f"array of {shape.element_type} with sizes {shape.dimensions}: more than 2^63 - 1 bytes"
    of_size = (text,) if max(*products, products[-1] * element_bytes) > _MAX_BYTES else ()
    return (*of_size, *_layout_faults(shape.layout, shape.dimensions)) if shape.layout else of_size


def _layout_faults(layout: Layout, dimensions: tuple[int, ...]) -> Iterator[str]:
    order, count = layout.minor_to_major, len(dimensions)
    if sorted(order) != list(range(count)):
        yield f"minor_to_major: expected a permutation of {count} dimensions, got {order}"
    for tile in layout.tiles:
        if not tile.sizes or any(size < 1 and size != COMBINE for size in tile.sizes):
            yield f"tile T: expected sizes of at least 1, got {tile}"
    if (layout.index_primitive_type or layout.pointer_primitive_type) and not layout.is_sparse:
        yield "index and pointer types #, * of a dense array"
    if layout.element_size_bits < 0:
        yield f"element size E: expected at least 0 bits, got {layout.element_size_bits}"
    yield from _split_faults(layout, dimensions)


def _split_faults(layout: Layout, dimensions: tuple[int, ...]) -> Iterator[str]:
    order = layout.minor_to_major[::-1]
    is_order = sorted(order) == list(range(len(dimensions)))
    # Splits are of physical dimensions.
    sizes = tuple(dimensions[i] for i in order) if is_order else dimensions
    seen: set[int] = set()
    for split in layout.split_configs:
        at, indices, what = split.dimension, split.split_indices, "split configuration SC"
        if not 0 <= at < len(dimensions):
            yield f"{what}: unknown dimension {at}"
            continue
        if at in seen:
            yield f"{what}: dimension {at} is split twice"
        seen.add(at)
        outside = [i for i in indices if not 0 < i < sizes[at]]
        if outside:
            yield f"{what}: expected indices from 1 to {sizes[at] - 1} for dimension {at}, got {outside[0]}"
        if any(later <= earlier for earlier, later in pairwise(indices)):
            yield f"{what}: expected increasing indices for dimension {at}, got {indices}"
