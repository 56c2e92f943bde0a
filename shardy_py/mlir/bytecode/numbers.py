"""Numbers and dense elements in bytecode.

A number of at most 8 bits is a byte, one of at most 64 bits a signed integer, a wider one several. Elements
are as MLIR keeps them in memory, those of i1 packed into bits; a single element is repeated.

Not here: attributes and types around them (`builtin.py`, `vhlo.py`).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import builtin
from xdsl.dialects.builtin import FloatAttr, FloatData, IntegerAttr
from xdsl.ir import Attribute

from shardy_py.mlir.bytecode.encoding import ByteCursor
from shardy_py.mlir.bytecode.entries import EntryReader
from shardy_py.mlir.text.builtin_attributes import is_complex, is_integer, is_integral, string_attribute
from shardy_py.mlir.text.dense import element_size, load_integer, make_dense, store_integer
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.typed import element_type_of

_INDEX_BITS = 64
_SHAPED = (builtin.TensorType, builtin.VectorType, builtin.MemRefType)


def is_number(type_: Attribute) -> bool:
    """True if a type is one of integers, floats or indices."""
    return is_integral(type_) or type_.name in FORMATS


def _bits(cursor: ByteCursor, width: int) -> int:
    """The bits of a number of that width."""
    if width <= 8:
        found = cursor.byte()
    elif width <= 64:
        found = cursor.signed()
    else:
        words = [cursor.signed() % (1 << 64) for _ in range(cursor.count("words"))]
        found = sum(word << (64 * index) for index, word in enumerate(words))
    return found & ((1 << width) - 1)


def read_integer(reader: EntryReader) -> Attribute:
    """An integer attribute: its type, and its bits."""
    type_ = reader.type()
    if not is_integral(type_):
        reader.fail("expected an integer or index type")
    width = type_.width.data if is_integer(type_) else _INDEX_BITS
    data = store_integer(_bits(reader, width), type_)
    return IntegerAttr.new((builtin.IntAttr(load_integer(data, type_)), type_))


def read_float(reader: EntryReader) -> Attribute:
    """A float attribute: its type, and its bits."""
    type_ = reader.type()
    form = FORMATS.get(type_.name)
    if form is None:
        reader.fail("expected a float type")
    return FloatAttr.new((FloatData(form.kept(_bits(reader, form.width))), type_))


def read_dense_array(reader: EntryReader) -> Attribute:
    """`array<...>`: the type of its elements, their number, their bytes."""
    element = reader.type()
    start = reader.at
    if not is_number(element) or isinstance(element, builtin.IndexType):
        reader.fail("expected an integer or float type")
    if is_integer(element) and element.width.data != 1 and (element.width.data % 8 or not element.width.data):
        reader.fail("element type bitwidth must be a multiple of 8")
    count, data = reader.varint(), reader.blob()
    if len(data) != count * element_size(element):
        reader.fail(f"expected {count} elements, got {len(data)} bytes", start)
    if is_integer(element) and element.width.data == 1:
        data = bytes(map(bool, data))
    return builtin.DenseArrayBase.new((element, builtin.BytesAttr(data)))


def read_dense(reader: EntryReader) -> Attribute:
    """`dense<...>`: its type, and its elements."""
    type_ = reader.type()
    shape, element = _shaped(reader, type_)
    return make_dense(type_, _elements(reader, prod(shape), element, reader.blob()))


def read_resource(reader: EntryReader) -> Attribute:
    """`dense_resource<...>`: its type, and the number of the resource."""
    type_ = reader.type()
    _shaped(reader, type_)
    index = reader.varint()
    handles = reader.entries.handles
    if index >= len(handles):
        reader.fail(f"invalid resource {index}: the file has {len(handles)}")
    return builtin.DenseResourceAttr.new((string_attribute(handles[index]), type_))


def _shaped(reader: EntryReader, type_: Attribute) -> tuple[tuple[int, ...], Attribute]:
    """The shape and the element type of a type that must have a static shape."""
    shape = type_.get_shape() if isinstance(type_, builtin.ShapedType) else None
    if type(type_) not in _SHAPED or shape is None or any(size < 0 for size in shape):
        reader.fail("expected a shaped type with a static shape")
    return shape, element_type_of(type_)


def _elements(reader: EntryReader, count: int, element: Attribute, data: bytes) -> bytes:
    """So many dense elements as they are kept here, one if all are alike, from MLIR's bytes of them."""
    scalar = element.element_type if is_complex(element) else element
    if not is_number(scalar):
        reader.fail("elements of this type are not supported")
    size = element_size(element)
    is_bits = is_integer(element) and element.width.data == 1
    if is_bits:
        data = _unpacked(data, count)
    if len(data) not in (size, size * count):
        reader.fail(f"expected {count} elements of {size} bytes, got {len(data)} bytes")
    if is_integer(scalar) and scalar.width.data % 8 and not is_bits:
        step = element_size(scalar)
        pieces = [data[start : start + step] for start in range(0, len(data), step)]
        data = b"".join([store_integer(int.from_bytes(piece, "little"), scalar) for piece in pieces])
    if len(data) > size and data == data[:size] * (len(data) // size):
        data = data[:size]
    return data


def _unpacked(data: bytes, count: int) -> bytes:
    """The elements of i1, a byte each, from the forms that were ever written.

    Those are bits, one byte of ones for all, and a byte each.
    """
    if data == b"\xff":
        return b"\1"
    if len(data) == (count + 7) // 8 and len(data) != count:
        return bytes([byte >> bit & 1 for byte in data for bit in range(8)][:count])
    return bytes(map(bool, data))
