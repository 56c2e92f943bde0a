"""Dense elements: their bytes, their text, both ways.

An attribute that repeats one value (a splat) holds that value once, whatever its type's size, so that a splat of
10^12 elements costs nothing. Elements lie in row-major order, little-endian; i1 takes a byte.

Not here: `array<...>` (`attribute_reader.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute

from shardy_py.text.float_formats import FORMATS
from shardy_py.text.numbers import float_text

if TYPE_CHECKING:
    from shardy_py.text.cursor import Cursor

HEX_THRESHOLD = 100
"""Dense elements that are no splat and more than these print as hexadecimal."""


def element_size(element: Any) -> int:
    """Bytes of one element as stored here."""
    if isinstance(element, ComplexType):
        return 2 * element_size(element.element_type)
    if isinstance(element, IndexType):
        return 8
    if isinstance(element, IntegerType):
        return (element.width.data + 7) // 8
    return FORMATS[element.name].size


def integer_bytes(value: int, element: IntegerType | IndexType) -> bytes | None:
    """The bytes of an integer, None if it does not fit its type (signed or unsigned reading)."""
    width = 64 if isinstance(element, IndexType) else element.width.data
    signedness = Signedness.SIGNLESS if isinstance(element, IndexType) else element.signedness.data
    low = 0 if signedness is Signedness.UNSIGNED else -(1 << (width - 1))
    high = (1 << (width - 1 if signedness is Signedness.SIGNED else width)) - 1
    if not low <= value <= high:
        return None
    size = element_size(element)
    if width == 1 or signedness is Signedness.UNSIGNED:
        return (value & ((1 << width) - 1)).to_bytes(size, "little")
    value &= (1 << width) - 1
    if value >> (width - 1):
        value -= 1 << width
    return value.to_bytes(size, "little", signed=True)


def integer_text(data: bytes, element: IntegerType | IndexType) -> str:
    """The text of one integer element."""
    if isinstance(element, IntegerType):
        if element.width.data == 1:
            return "true" if data[0] & 1 else "false"
        if element.signedness.data is Signedness.UNSIGNED:
            return str(int.from_bytes(data, "little") & ((1 << element.width.data) - 1))
    return str(int.from_bytes(data, "little", signed=True))


def element_printer(element: Attribute) -> Callable[[bytes], str]:
    """The function that prints one element of that type."""
    if isinstance(element, ComplexType):
        inner = element_printer(element.element_type)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]

        def print_complex(data: bytes) -> str:
            half = len(data) // 2
            return f"({inner(data[:half])},{inner(data[half:])})"

        return print_complex
    if isinstance(element, IntegerType | IndexType):
        return lambda data: integer_text(data, element)
    return partial(float_text, name=element.name)


def elements_type(attribute: DenseIntOrFPElementsAttr) -> tuple[tuple[int, ...], Attribute]:
    """Shape and element type."""
    shaped: Any = attribute.type
    return shaped.get_shape(), shaped.element_type


def is_splat(attribute: DenseIntOrFPElementsAttr) -> bool:
    """Whether all elements are one value."""
    data = attribute.data.data
    size = element_size(elements_type(attribute)[1])
    return len(data) == size or (len(data) > size and data == data[:size] * (len(data) // size))


def dense_text(attribute: DenseIntOrFPElementsAttr) -> str:
    """`dense<...>`, without the type behind it."""
    shape, element = elements_type(attribute)
    data = attribute.data.data
    size = element_size(element)
    if not data or prod(shape) == 0:
        return "dense<>"
    show = element_printer(element)
    if len(data) == size or is_splat(attribute):
        return f"dense<{show(data[:size])}>"
    count = len(data) // size
    if count > HEX_THRESHOLD:
        return f'dense<"0x{data.hex().upper()}">'
    texts = iter([show(data[i : i + size]) for i in range(0, len(data), size)])
    return f"dense<{_nested_text(shape, texts)}>"


def _nested_text(shape: tuple[int, ...], texts: Iterator[str]) -> str:
    if not shape:
        return next(texts)
    return "[" + ", ".join([_nested_text(shape[1:], texts) for _ in range(shape[0])]) + "]"


def make_dense(type_: Attribute, data: bytes) -> DenseIntOrFPElementsAttr:
    """The attribute with that type and those bytes: one element (a splat) or all."""
    return DenseIntOrFPElementsAttr(type_, BytesAttr(data))  # pyright: ignore[reportArgumentType]


def read_dense(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    """`dense<...> : type`, the cursor on `dense`."""
    start = cursor.offset
    cursor.advance()
    cursor.expect("<")
    literal = _Literal(cursor)
    if not cursor.at(">"):
        literal.read()
    cursor.expect(">")
    if expected_type is None:
        cursor.expect(":")
        expected_type = cursor.type()
    if not isinstance(expected_type, TensorType | VectorType):
        cursor.error("elements literal must be a shaped type", start)
    if -1 in expected_type.get_shape():
        cursor.error("elements literal type must have static shape", start)
    return make_dense(expected_type, literal.bytes(expected_type, start))  # pyright: ignore[reportUnknownArgumentType]


class _Literal:
    """What stands between the brackets, before the type is known: tokens and the shape of their lists."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.tokens: list[tuple[str, bool, int]] = []  # text, negated, offset
        self.shape: tuple[int, ...] | None = None
        self.hex: str | None = None

    def read(self) -> None:
        """Reads the elements; fails where lists differ in length."""
        if self.cursor.token[:1] == '"':
            start = self.cursor.offset
            self.hex = self.cursor.string()
            if self.hex[:2] != "0x":
                self.cursor.error("expected hex string blob with even length", start)
            return
        self.shape = self._list() if self.cursor.at("[") else (self._element(), ())[1]

    def _list(self) -> tuple[int, ...]:
        cursor = self.cursor

        def item() -> tuple[int, ...]:
            if cursor.at("["):
                return cursor.nested(self._list)
            self._element()
            return ()

        start = cursor.offset
        shapes = cursor.items(item)
        if any(shape != shapes[0] for shape in shapes):
            cursor.error("tensor literal is invalid; ranks are not consistent between elements", start)
        return (len(shapes), *(shapes[0] if shapes else ()))

    def _element(self) -> None:
        cursor = self.cursor
        if cursor.accept("("):
            self._element()
            cursor.expect(",")
            self._element()
            cursor.expect(")")
            return
        offset = cursor.offset
        negated = cursor.accept("-")
        token = cursor.token
        if not (token[:1].isdigit() or token in ("true", "false")):
            cursor.error("expected element literal of primitive type")
        self.tokens.append((token, negated, offset))
        cursor.advance()

    def bytes(self, type_: Any, start: int) -> bytes:
        """The elements' bytes under a type; fails where they do not fit it."""
        shape: tuple[int, ...] = type_.get_shape()
        element: Any = type_.element_type
        if self.hex is not None:
            return self._hex_bytes(type_, start)
        is_complex = isinstance(element, ComplexType)
        scalar: Any = element.element_type if is_complex else element
        if self.shape is None:
            if prod(shape) != 0:
                self.cursor.error(
                    f"inferred shape of elements literal ([0]) does not match type ({_shape_text(shape)})", start
                )
            return b""
        if self.shape and self.shape != shape:
            self.cursor.error(
                f"inferred shape of elements literal ({_shape_text(self.shape)}) does not match type "
                f"({_shape_text(shape)})",
                start,
            )
        data = b"".join([self._scalar_bytes(token, scalar) for token in self.tokens])
        if not self.shape and len(data) != element_size(element):
            self.cursor.error("expected element literal of primitive type", start)
        size = element_size(element)
        if self.shape and len(data) > size and data == data[:size] * (len(data) // size):
            return data[:size]
        return data

    def _scalar_bytes(self, token: tuple[str, bool, int], element: Any) -> bytes:
        text, negated, offset = token
        found = _scalar(text, negated, element)
        if isinstance(found, str):
            self.cursor.error(found, offset)
        return found

    def _hex_bytes(self, type_: Any, start: int) -> bytes:
        assert self.hex is not None
        try:
            data = bytes.fromhex(self.hex[2:])
        except ValueError:
            self.cursor.error("expected hex string blob with even length", start)
        shape: tuple[int, ...] = type_.get_shape()
        element: Any = type_.element_type
        size, count = element_size(element), prod(shape)
        if len(data) not in (size, size * count):
            self.cursor.error(
                f"elements hex data size is invalid for provided type: {self.cursor_type_text(type_)}", start
            )
        if len(data) > size and data == data[:size] * count:
            return data[:size]
        return data

    @staticmethod
    def cursor_type_text(type_: Attribute) -> str:
        """The type's text, for messages."""
        from shardy_py.text.attribute_writer import type_text

        return type_text(type_)


@lru_cache(maxsize=8192)
def _scalar(text: str, negated: bool, element: Any) -> bytes | str:
    """The bytes of one literal under a type, or what is wrong with it."""
    sign = -1 if negated else 1
    if isinstance(element, IntegerType | IndexType):
        if text in ("true", "false"):
            if not (isinstance(element, IntegerType) and element.width.data == 1):
                return "expected i1 type for 'true' or 'false' values"
            return b"\1" if text == "true" else b"\0"
        if "." in text:
            return "expected integer elements, but parsed floating-point"
        if negated and isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED:
            return "expected unsigned integer elements, but parsed negative value"
        data = integer_bytes(sign * int(text, 0), element)
        return "integer constant out of range for type" if data is None else data
    if text in ("true", "false"):
        return "expected floating-point elements, but parsed integer"
    if text[:2] == "0x":
        if negated:
            return "hexadecimal float literal should not have a leading minus"
        size = element_size(element)
        value = int(text, 16)
        if value >> (8 * size):
            return "hexadecimal float constant out of range for type"
        return value.to_bytes(size, "little")
    if "." not in text:
        return "expected floating-point elements, but parsed integer"
    form = FORMATS[element.name]
    return form.encode(sign * float(text)).to_bytes(form.size, "little")


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
