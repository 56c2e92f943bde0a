"""Dense elements: their bytes and their text.

An attribute that repeats one value (a splat) holds that value once, whatever its type's size, so that a splat
of 10^12 elements costs nothing. Elements lie in row-major order, little-endian, sign-extended to whole bytes;
i1 takes a byte.

Not here: reading them (`literal_reader.py`), `array<...>` (`attribute_reader.py`).

>>> from xdsl.dialects.builtin import TensorType, i8
>>> dense_text(make_dense(TensorType(i8, [2, 2]), bytes([1, 2, 3, 255])))
'dense<[[1, 2], [3, -1]]>'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IndexType, IntegerType, Signedness
from xdsl.ir import Attribute

from shardy_py.mlir.text.builtin_attributes import is_complex, is_integer, is_integral
from shardy_py.mlir.text.float_formats import FORMATS, float_text

HEX_THRESHOLD = 100
"""More elements than these print as hexadecimal, unless they are a splat."""

_MAX_DIGITS = 4000
_INDEX_WIDTH = 64


def _element_width(element: Attribute) -> int:
    if isinstance(element, IndexType):
        return _INDEX_WIDTH
    if is_integer(element):
        return element.width.data
    return FORMATS[element.name].width


def element_size(element: Attribute) -> int:
    """Bytes of one element as stored here."""
    if is_complex(element):
        return 2 * element_size(element.element_type)
    return max((_element_width(element) + 7) // 8, 1)


def _is_unsigned(element: Attribute) -> bool:
    return is_integer(element) and (element.width.data == 1 or element.signedness.data is Signedness.UNSIGNED)


def _integer_bytes(value: int, element: IntegerType | IndexType) -> bytes | None:
    """The bytes of an integer, None if it does not fit its type (signless types: in either reading)."""
    width = _element_width(element)
    has_sign = isinstance(element, IndexType) or element.signedness.data is Signedness.SIGNED
    is_unsigned = is_integer(element) and element.signedness.data is Signedness.UNSIGNED
    low = 0 if is_unsigned or not width else -1 << (width - 1)
    high = (1 << (width - 1 if has_sign and width else width)) - 1
    return store_integer(value, element) if low <= value <= high else None


def literal_bytes(token: str, negated: bool, element: IntegerType | IndexType) -> bytes | None:
    """The bytes of an integer literal, None if it does not fit its type, or is `-0`."""
    if len(token) > _MAX_DIGITS:
        return None
    value = int(token, 16) if token[:2] == "0x" else int(token)
    return None if negated and not value else _integer_bytes(-value if negated else value, element)


def store_integer(value: int, element: Attribute) -> bytes:
    """The bytes of the integer whose lowest bits are those of `value`."""
    width = _element_width(element)
    value &= (1 << width) - 1
    if width and not _is_unsigned(element) and value >> (width - 1):
        value -= 1 << width
    return value.to_bytes(element_size(element), "little", signed=value < 0)


def load_integer(data: bytes, element: Attribute) -> int:
    """The integer with those bytes."""
    return int.from_bytes(data, "little", signed=not _is_unsigned(element))


def _integer_text(data: bytes, element: Attribute) -> str:
    if is_integer(element) and element.width.data == 1:
        return "true" if data[0] else "false"
    return str(load_integer(data, element))


def element_printer(element: Attribute) -> Callable[[bytes], str]:
    """The function that prints one element of that type."""
    if is_complex(element):
        inner = element_printer(element.element_type)
        half = element_size(element.element_type)
        return lambda data: f"({inner(data[:half])},{inner(data[half:])})"
    if is_integral(element):
        return partial(_integer_text, element=element)
    return partial(float_text, name=element.name)


def make_dense(type_: Attribute, data: bytes) -> DenseIntOrFPElementsAttr:
    """The attribute with that type and those bytes: one element (a splat) or all.

    Made without xDSL's checks, which know fewer types than MLIR.
    """
    made = object.__new__(DenseIntOrFPElementsAttr)
    vars(made).update(type=type_, data=BytesAttr(data))
    return made


def elements_type(attribute: DenseIntOrFPElementsAttr) -> tuple[tuple[int, ...], Attribute]:
    """Shape and element type."""
    shaped = attribute.type
    return shaped.get_shape(), shaped.element_type


def is_splat(attribute: DenseIntOrFPElementsAttr) -> bool:
    """True if all elements have the same value."""
    data = attribute.data.data
    size = element_size(elements_type(attribute)[1])
    return len(data) == size or (len(data) > size and data == data[:size] * (len(data) // size))


def dense_text(attribute: DenseIntOrFPElementsAttr) -> str:
    """`dense<...>`, without the type behind it."""
    shape, element = elements_type(attribute)
    data = attribute.data.data
    if not data:
        return "dense<>"
    size = element_size(element)
    show = element_printer(element)
    if is_splat(attribute):
        return f"dense<{show(data[:size])}>"
    if prod(shape) > HEX_THRESHOLD:
        return f'dense<"0x{_unextended(data, element).hex().upper()}">'
    texts = iter([show(data[i : i + size]) for i in range(0, len(data), size)])
    return f"dense<{_nested_text(shape, texts)}>"


def _unextended(data: bytes, element: Attribute) -> bytes:
    """The data as MLIR stores it: the bits above an element's width are zero."""
    scalar = element.element_type if is_complex(element) else element
    width, size = _element_width(scalar), element_size(scalar)
    if width % 8 == 0:
        return data
    mask = ((1 << width) - 1).to_bytes(size, "little") * (len(data) // size)
    return (int.from_bytes(data, "little") & int.from_bytes(mask, "little")).to_bytes(len(data), "little")


def _nested_text(shape: tuple[int, ...], texts: Iterator[str]) -> str:
    if not shape:
        return next(texts)
    return "[" + ", ".join([_nested_text(shape[1:], texts) for _ in range(shape[0])]) + "]"
