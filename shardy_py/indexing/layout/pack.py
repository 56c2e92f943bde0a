"""Copies arrays into their buffers and back; a layout as steps of numpy: transpose, reshape, pad at the end.

Elements narrower than a byte fill it from the low-order bits, as in XLA's `PackIntN`. That continues a
little-endian word: `(8,128)(8,1)` puts eight rows of s4 into a word in the order in which `(8,128)(2,1)` puts
two of bf16, so a bitcast of bytes to narrower elements moves nothing.

Layouts without digits (`mixed_radix.py`) are copied element by element, by offsets.

>>> from shardy_py.indexing.layout.values import Tile
>>> layout = Layout((1, 0), (Tile((2, 2)),))
>>> pack(np.arange(15, dtype=np.float32).reshape(3, 5), layout, fill=-1).astype(int).tolist()
[0, 1, 5, 6, 2, 3, 7, 8, 4, -1, 9, -1, 10, 11, -1, -1, 12, 13, -1, -1, 14, -1, -1, -1]
>>> for step in relayout_steps((3, 5), layout):
...     print(step)
Pad(high=(1, 1), dimensions=(4, 6))
Reshape(dimensions=(2, 2, 3, 2))
Transpose(permutation=(0, 2, 1, 3), dimensions=(2, 3, 2, 2))
Reshape(dimensions=(24,))

Not here: the offset of one element (`placement.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.element_types import element_type, element_type_of
from shardy_py.indexing.layout.mixed_radix import by_value, digit_order, element_views, padding_views, slabs
from shardy_py.indexing.layout.placement import BufferPlacement
from shardy_py.indexing.layout.tile_level import TileLevel
from shardy_py.indexing.layout.values import ArrayShape, Layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from shardy_py.base.arrays import AnyArray, AnyDtype

Octets: TypeAlias = "NDArray[np.uint8]"
Buffer: TypeAlias = "bytes | bytearray | memoryview | AnyArray"


def pack(array: ArrayLike, layout: Layout, fill: object = 0) -> AnyArray:
    """The flat buffer of an array of any numpy or ml_dtypes type; fill: the value of padding.

    Returns the elements in physical order, or the bytes of the buffer if the layout (`E(n)`) or the type (s4,
    u2, ...) gives elements another size than numpy. `M(n)` bytes of metadata are not part of it. Raises
    ShardyError for a layout of another rank, an `E(n)` that is neither 1, 2, 4 nor whole bytes or is below
    the type's bits, and a fill that the type cannot hold.
    """
    source = np.asarray(array)
    bits = _bits(source.dtype, layout)
    place = layout.placement(source.shape)
    dtype = source.dtype  # numpy copies its own types fast, unlike those of ml_dtypes
    cell = np.dtype(f"u{dtype.itemsize}") if dtype.itemsize in (1, 2, 4, 8) and not dtype.hasobject else dtype
    cells = _packed(source.view(cell), layout, place, _fill(fill, source.dtype).view(cell))
    if bits < 8:
        return pack_bits(cells, bits)
    elements = cells.view(source.dtype)
    return elements if bits == 8 * source.itemsize else widen(elements, bits // 8)


def unpack(
    buffer: Buffer, layout: Layout, shape: ArrayShape | Sequence[int], dtype: DTypeLike | None = None
) -> AnyArray:
    """The array in a flat buffer of elements in physical order, or of bytes: the inverse of `pack`.

    shape: logical sizes; the layout of an `ArrayShape` is ignored. dtype: by default that of the shape or the
    buffer. Raises ShardyError as `pack` does, and for a buffer of another length than the layout's.
    """
    flat = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
    dimensions = tuple(shape.dimensions if isinstance(shape, ArrayShape) else shape)
    if dtype is not None:
        element = np.dtype(dtype)
    else:
        element = element_type(shape.element_type).dtype if isinstance(shape, ArrayShape) else flat.dtype
    place = layout.placement(dimensions)
    bits = _bits(element, layout)
    flat = _of_length(flat, place.size, bits, element)
    if bits < 8:
        return _unpacked(unpack_bits(flat, bits, place.size), layout, place).view(element)
    own = flat if bits == 8 * element.itemsize else narrow(flat, bits // 8, element)
    return _unpacked(own, layout, place)


def _packed(array: AnyArray, layout: Layout, place: BufferPlacement, fill: AnyArray) -> AnyArray:
    digits = digit_order(place)
    buffer = np.empty(place.size, array.dtype)
    if digits is None:
        buffer[:] = fill
        buffer[_offsets(place)] = array
        return buffer
    tiled = buffer[: prod(place.tiled_dimensions)].reshape([digit.size for digit in digits.order])
    joined = array.transpose(layout.minor_to_major[::-1]).reshape(digits.joined)
    for pair in element_views(digits, joined, tiled):
        for elements, places in by_value(pair):
            places[...] = elements
    for places in padding_views(digits, tiled):
        places[...] = fill
    buffer[tiled.size :] = fill
    return buffer


def _unpacked(buffer: AnyArray, layout: Layout, place: BufferPlacement) -> AnyArray:
    digits = digit_order(place)
    if digits is None:
        return buffer[_offsets(place)]
    order = layout.minor_to_major[::-1]
    tiled = buffer[: prod(place.tiled_dimensions)].reshape([digit.size for digit in digits.order])
    if digits.joined == place.physical_dimensions:
        array = np.empty(place.dimensions, buffer.dtype)
        joined = array.transpose(order)
    else:
        # Joined dimensions are views only of an array in physical order.
        physical = np.empty(place.physical_dimensions, buffer.dtype)
        array, joined = physical.transpose(np.argsort(order)), physical.reshape(digits.joined)
    for pair in element_views(digits, joined, tiled):
        near = np.empty(0, array.dtype)
        for elements, places in slabs(pair):
            if elements.flags.c_contiguous:
                elements[...] = places
                continue
            # Reading a slab in the order of memory first is much faster than from many tiles in turn.
            if near.shape != places.shape:
                near = np.empty(places.shape, array.dtype)
            near[...] = places
            for own, read in by_value((elements, near)):
                own[...] = read
    return array


def _offsets(place: BufferPlacement) -> NDArray[np.int64]:
    """[*dimensions]: the offset of each element."""
    coordinates = np.indices(place.dimensions, np.int64, sparse=True)
    return np.broadcast_to(place.offset(coordinates), place.dimensions)


def _bits(dtype: AnyDtype, layout: Layout) -> int:
    """The bits of an element in the buffer."""
    row = element_type_of(dtype)
    least, natural = (row.value_bits, row.bits) if row else (8 * dtype.itemsize, 8 * dtype.itemsize)
    bits = layout.element_size_bits or natural
    if bits < least or (bits not in (1, 2, 4) and bits % 8):
        what = f"element size E of {row.name if row else dtype}"
        expected = f"1, 2, 4 or a multiple of 8 bits, at least {least}"
        raise ShardyError.unexpected(what, expected=expected, got=f"{bits}")
    return bits


def _fill(fill: object, dtype: AnyDtype) -> AnyArray:
    try:
        return np.full((), fill, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShardyError(f"invalid fill {fill!r} for padding of {dtype}: {error}") from error


def _of_length(flat: AnyArray, size: int, bits: int, element: AnyDtype) -> AnyArray:
    """The buffer as elements if numpy has elements of this size, else as bytes; its length is checked."""
    size_bytes = -(-size * bits // 8)
    if flat.ndim != 1 or flat.nbytes != size_bytes:
        what, expected = f"buffer of {size} elements of {bits} bits", f"one dimension and {size_bytes} bytes"
        raise ShardyError.unexpected(what, expected=expected, got=f"{flat.nbytes} in shape {flat.shape}")
    wanted = element if bits == 8 * element.itemsize else np.dtype(np.uint8)
    return flat if flat.dtype == wanted else np.ascontiguousarray(flat).view(wanted)


# ---------------------------------------------------------------------- narrow and wide elements


def pack_bits(elements: Octets, bits: int) -> Octets:
    """Packs elements of 1, 2 or 4 bits, each in the low-order bits of a byte, into ceil(n * bits / 8) bytes.

    >>> pack_bits(np.array([1, 2, 3], np.uint8), 4).tolist()
    [33, 3]
    """
    if bits == 1:
        return np.packbits(elements & 1, bitorder="little")
    a_byte, mask = 8 // bits, (1 << bits) - 1
    packed = np.zeros(-(-elements.size // a_byte), np.uint8)
    for position in range(a_byte):
        part = elements[position::a_byte] & mask
        packed[: part.size] |= part << (position * bits)
    return packed


def unpack_bits(packed: Octets, bits: int, count: int) -> Octets:
    """The first `count` elements of 1, 2 or 4 bits, each in the low-order bits of a byte of its own."""
    if bits == 1:
        return np.unpackbits(packed, count=count, bitorder="little")
    a_byte, mask = 8 // bits, (1 << bits) - 1
    elements = np.empty(packed.size * a_byte, np.uint8)
    for position in range(a_byte):
        np.bitwise_and(packed >> (position * bits), mask, out=elements[position::a_byte])
    return elements[:count]


def widen(elements: AnyArray, size_bytes: int) -> Octets:
    """Each element in `size_bytes` bytes: its own bytes, little-endian, then zeros."""
    own = elements.astype(elements.dtype.newbyteorder("<"), copy=False)
    wide = np.zeros((elements.size, size_bytes), np.uint8)
    wide[:, : own.itemsize] = own.view(np.uint8).reshape(elements.size, own.itemsize)
    return wide.reshape(-1)


def narrow(wide: Octets, size_bytes: int, dtype: AnyDtype) -> AnyArray:
    """The elements of a type from `size_bytes` bytes each: the inverse of `widen`."""
    own = np.ascontiguousarray(wide.reshape(-1, size_bytes)[:, : dtype.itemsize]).reshape(-1)
    return own.view(dtype.newbyteorder("<")).astype(dtype, copy=False)


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
    padding of its tail. Raises ShardyError for a sparse layout, and one that does not permute the dimensions.
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
