"""Default layouts of targets, and the bytes of an array with padding and without.

On a TPU the two minor-most dimensions are split into tiles of a vector register's size: 8 rows of 128 words
of 32 bits; narrower elements of neighbouring rows share a word. docs/layout.md has the table. Not here:
moving data (`pack.py`), sums over a program (`report/`).

>>> from shardy_py.indexing.layout.text import parse_shape
>>> shape = default_layout(parse_shape("bf16[3,5]"))
>>> print(shape, unpadded_bytes(shape), padded_bytes(shape), f"{padding_share(shape):.1%}")
bf16[3,5]{1,0:T(4,128)(2,1)} 30 1024 97.1%
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Literal, get_args

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.indexing.layout.tile_level import check_rank
from shardy_py.indexing.layout.values import ArrayShape, BufferShape, Layout, Shape, Tile, TupleShape

Target = Literal["tpu", "linear"]
TARGETS: tuple[Target, ...] = get_args(Target)

SUBLANES, LANES, WORD_BITS = 8, 128, 32
"""A TPU's vector register: rows, words in a row, bits of a word."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """The bytes of an array in memory: with padding, and of its elements alone, packed."""

    padded: int
    unpadded: int

    @property
    def padding(self) -> int:
        """The bytes of padding."""
        return self.padded - self.unpadded

    @property
    def padding_share(self) -> float:
        """The share of padding: from 0 to below 1."""
        return self.padding / self.padded if self.padded else 0.0


def default_layout(shape: ArrayShape, target: str = "tpu", *, element_size_bits: int = 0) -> ArrayShape:
    """The array with the layout of a target: row-major, in tiles on "tpu", without on "linear".

    element_size_bits: bits an element takes; 0: those of its type. 1 gives `pred` its denser form.
    Raises ShardyError for an unknown target, too small an element size, and unbounded dimensions.
    """
    if target not in TARGETS:
        raise ShardyError.unknown("target", target, TARGETS)
    row = element_type(shape.element_type)
    bits = element_size_bits or row.bits
    stated_bits = 0 if bits == row.bits and bits % 8 == 0 else bits
    plain = Layout(tuple(reversed(range(len(shape.dimensions)))), element_size_bits=stated_bits)
    linear = replace(shape, layout=plain)
    _check(linear)
    if target == "linear":
        return linear
    return replace(linear, layout=replace(plain, tiles=_tpu_tiles(shape.dimensions, bits)))


def _tpu_tiles(dimensions: tuple[int, ...], bits: int) -> tuple[Tile, ...]:
    """The tiles of a row-major array on a TPU; an element of more bits than a word counts as one word.

    Two dimensions and more: `T(8,128)`, fewer rows if the second-minor dimension has at most 4 ("compact
    second minor"), then `(n,1)` for the n elements that share a word. One dimension: its rows of 128 are the
    second-minor dimension. No dimension: one row of words.
    """
    packing = max(1, WORD_BITS // bits)
    if not dimensions:
        return (Tile((packing * LANES,)),)
    packed = (Tile((packing, 1)),) if packing > 1 else ()
    if len(dimensions) == 1:
        rows = _tile_rows(-(-dimensions[0] // LANES), packing, (1, 2, 4))
        return (Tile((rows * LANES,)), *((Tile((LANES,)), *packed) if packed else ()))
    return (Tile((_tile_rows(dimensions[-2], packing, (2, 4)), LANES)), *packed)


def _tile_rows(rows: int, packing: int, small: tuple[int, ...]) -> int:
    """The smallest of `small` that holds `rows`, else a register's rows; whole words in any case."""
    return max(packing, next((size for size in small if rows <= size), SUBLANES))


def element_bits(shape: ArrayShape) -> int:
    """The bits of an element: `E(n)` of the layout, else those of its type (8 for `pred`, 4 for `s4`).

    Raises ShardyError if `E(n)` is too small for the type.
    """
    row = element_type(shape.element_type)
    stated = shape.layout.element_size_bits if shape.layout else 0
    if stated and stated < row.value_bits:
        bits = f"at least {row.value_bits} bits for {row.name}"
        raise ShardyError.unexpected("element size E", expected=bits, got=f"{stated}")
    return stated or row.bits


def unpadded_bytes(shape: Shape) -> int:
    """The bytes of all elements, with the bits of their type (or a smaller `E(n)`), rounded up.

    For a tuple the sum of its parts. Raises ShardyError for unbounded dimensions.
    """
    if isinstance(shape, ArrayShape):
        _check(shape)
        bits = min(element_bits(shape), element_type(shape.element_type).bits)
        return -(-prod(shape.dimensions) * bits // 8)
    return sum(map(unpadded_bytes, _parts(shape)))


def padded_bytes(shape: Shape) -> int:
    """The bytes of the buffer of an array: padded tiles and tail, elements of `E(n)` bits, metadata (`M(n)`).

    An array without a layout is row-major and packed. For a tuple the sum of its parts. Raises ShardyError
    for layouts without fixed offsets (sparse, not a permutation) and for unbounded dimensions.
    """
    if isinstance(shape, ArrayShape):
        _check(shape)
        prefix = shape.layout.dynamic_shape_metadata_prefix_bytes if shape.layout else 0
        return prefix + -(-shape.placement.size * element_bits(shape) // 8)
    return sum(map(padded_bytes, _parts(shape)))


def padding_share(shape: Shape) -> float:
    """The share of padding in the buffer of a shape with a layout: from 0 to below 1."""
    return Bytes(padded_bytes(shape), unpadded_bytes(shape)).padding_share


@SESSION.cache(2048)
def layout_bytes(element: str, dimensions: tuple[int, ...], target: str = "tpu") -> Bytes:
    """The bytes of an array with the layout of a target; element: as for `element_type`.

    Raises ShardyError for an unknown element type or target, and for a negative size.

    >>> layout_bytes("i1", (3, 5), "tpu"), layout_bytes("complex<f32>", (3, 5), "linear")
    (Bytes(padded=512, unpadded=15), Bytes(padded=120, unpadded=120))
    """
    shape = default_layout(ArrayShape(element_type(element).name, dimensions), target)
    return Bytes(padded_bytes(shape), unpadded_bytes(shape))


def _parts(shape: Shape) -> tuple[Shape, ...]:
    if isinstance(shape, TupleShape):
        return shape.elements
    return (shape.element,) if isinstance(shape, BufferShape) else ()


def _check(shape: ArrayShape) -> None:
    check_rank(len(shape.dimensions))
    if any(size < 0 for size in shape.dimensions):
        raise ShardyError.unsupported(f"the size in bytes of the unbounded array {shape}")
    element_bits(shape)
