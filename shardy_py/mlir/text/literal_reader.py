"""Reads numbers with their types and dense elements.

Numbers are `5 : i8`, `-0x1F`, `1.5e3 : bf16`, `0x7F80 : bf16`, `#complex.number<:f32 1.0, 2.0>`; dense
elements `dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>`, splats, blobs `dense<"0x...">`.

Not here: how elements are stored and printed (`dense.py`).
"""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import Any, NoReturn

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    FloatAttr,
    FloatData,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    i64,
)
from xdsl.ir import Attribute

from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, current
from shardy_py.base.session import SESSION
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_complex, is_integer, is_integral
from shardy_py.mlir.text.cursor import MAX_DIGITS, Cursor, integer_value, is_integer_token
from shardy_py.mlir.text.decimals import decimal_bits
from shardy_py.mlir.text.dense import element_size, literal_bytes, load_integer, make_dense, store_integer
from shardy_py.mlir.text.float_formats import FORMATS, FloatFormat
from shardy_py.mlir.text.source import numeral
from shardy_py.mlir.text.type_reader import float_type, integer_type

OUT_OF_RANGE = "integer constant out of range for attribute"
NO_FLOAT = "unexpected decimal integer literal for a floating point value"
NO_FLOAT_NOTE = "add a trailing dot to make the literal a float"
HEX_MINUS = "hexadecimal float literal should not have a leading minus"
HEX_RANGE = "hexadecimal float constant out of range for type"

_F64 = FORMATS["f64"]
_MEMO_LENGTH = 40
_numbers: dict[tuple[str, bool, int, Release], tuple[Attribute, Any]] = SESSION.table("numbers by text")


def read_number(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    """A number and, unless `expected_type` gives it, the type after its colon."""
    start = cursor.offset
    negated = cursor.accept("-")
    literal = cursor.offset
    if not cursor.token[:1].isdecimal():
        cursor.wrong_token("expected constant integer or floating point value")
    token = cursor.advance()
    type_: Any = expected_type
    if type_ is None:
        unspelled = i64 if is_integer_token(token) else float_type("f64")
        type_ = cursor.type() if cursor.accept(":") else unspelled
    key = (token, negated, id(type_), current())
    hit = _numbers.get(key)
    if hit is not None:
        return hit[0]
    if is_integral(type_):
        made = _integer(cursor, token, negated, type_, literal)
    else:
        form = FORMATS.get(getattr(type_, "name", ""))
        if form is None:
            what = "integer" if is_integer_token(token) else "floating point"
            cursor.error(f"{what} literal not valid for specified type", start if what == "integer" else None)
        value = float_value(cursor, token, negated, form, start, literal)
        made = FloatAttr.new((FloatData(form.kept(value)), type_))
    if len(token) < _MEMO_LENGTH:
        return _numbers.setdefault(key, (made, type_))[0]
    return made


def known_integer(digits: str, type_name: str) -> Attribute:
    """The attribute of at most nine decimal digits and of `i32` or `i64`, which hold these."""
    type_ = integer_type(type_name)
    key = (digits, False, id(type_), current())
    hit = _numbers.get(key)
    if hit is None:
        made = object.__new__(IntegerAttr)  # without xDSL's checks: every argument may have one
        object.__setattr__(made, "value", numeral(int(digits)))
        object.__setattr__(made, "type", type_)
        hit = _numbers.setdefault(key, (made, type_))
    return hit[0]


def _integer(
    cursor: Cursor, token: str, negated: bool, type_: IntegerType | IndexType, place: int
) -> Attribute:
    if not is_integer_token(token):
        cursor.error("floating point value not valid for specified type")
    if negated and is_integer(type_) and type_.signedness.data is Signedness.UNSIGNED:
        cursor.error("negative integer literal not valid for unsigned integer type", place)
    data = literal_bytes(token, negated, type_)
    if data is None:
        cursor.error(OUT_OF_RANGE, place)
    return IntegerAttr.new((IntAttr(_integer_of(data, type_)), type_))


def _integer_of(data: bytes, type_: Attribute) -> int:
    """The integer that xDSL's attribute holds for those bytes; that of a true i1 is -1."""
    if is_integer(type_) and type_.width.data == 1 and type_.signedness.data is not Signedness.UNSIGNED:
        return -data[0]
    return load_integer(data, type_)


def float_value(
    cursor: Cursor, token: str, negated: bool, form: FloatFormat, start: int, literal: int
) -> int:
    """The bits of a float literal; fails on a decimal integer and on hexadecimal that does not fit."""
    if token[:2] == "0x":
        if negated:
            cursor.error(HEX_MINUS, literal)
        if len(token) > MAX_DIGITS or integer_value(token) >> form.width:
            cursor.error(HEX_RANGE, literal)
        return integer_value(token)
    if is_integer_token(token):
        cursor.error(NO_FLOAT, start, (NO_FLOAT_NOTE, start))
    return decimal_bits(form, token, negated=negated)


def read_float(cursor: Cursor) -> float:
    """A float without a type: decimal, or the bits of an f64 in hexadecimal."""
    start = cursor.offset
    negated = cursor.accept("-")
    literal, token = cursor.offset, cursor.token
    if not token[:1].isdecimal():
        cursor.error("expected floating point literal")
    cursor.advance()
    return _F64.to_float(float_value(cursor, token, negated, _F64, start, literal))


def read_complex_number(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    """`#complex.number<:f32 1.0, 2.0>`, perhaps with its type, the cursor on the name.

    Parts are rounded to the type.
    """
    from xdsl.dialects.complex import ComplexNumberAttr  # dialects of xDSL take long to import

    cursor.advance()
    cursor.expect("<")
    cursor.expect(":")
    start = cursor.offset
    element: Any = cursor.type()
    form = FORMATS.get(getattr(element, "name", ""))
    if form is None:
        cursor.error(f"expected a float type, got: '{attribute_text(element)}'", start)
    real = read_float(cursor)
    cursor.expect(",")
    imaginary = read_float(cursor)
    cursor.expect(">")
    if cursor.accept(":"):
        cursor.type()  # MLIR allows any type behind it, without a meaning
    parts = (FloatData(form.to_float(form.encode(part))) for part in (real, imaginary))
    return ComplexNumberAttr.new((*parts, builtin.ComplexType(element)))


_UNRANKED = (builtin.UnrankedTensorType, builtin.UnrankedMemRefType)
_RANKED = (builtin.TensorType, builtin.VectorType, builtin.MemRefType)
_BOOLEANS = ("true", "false")


def read_dense(cursor: Cursor, expected_type: Attribute | None) -> Attribute:
    """`dense<...> : type`, the cursor on `dense`."""
    start = cursor.offset
    cursor.advance()
    cursor.expect("<", " after 'dense'")
    literal = _read_literal(cursor)
    cursor.expect(">")
    type_ = elements_literal_type(cursor, expected_type, start)
    return make_dense(type_, _Typed(cursor, literal, type_, start).data())


def elements_literal_type(cursor: Cursor, expected_type: Attribute | None, start: int) -> Any:
    """The type behind the colon, which must have a static shape."""
    type_: Any = expected_type
    if type_ is None:
        cursor.expect(":")
        type_ = cursor.type()
    if isinstance(type_, _UNRANKED):
        cursor.error("elements literal type must have static shape", start)
    if type(type_) not in _RANKED:
        cursor.error("elements literal must be a shaped type", start)
    if any(size < 0 for size in type_.get_shape()):
        cursor.error("elements literal type must have static shape", start)
    return type_


@dataclass(slots=True)
class _Literal:
    """The text between the brackets, before the type is known.

    tokens: the elements: text, whether a minus precedes it, offset of the text.
    shape: lengths of the lists; None: nothing at all, (): one element.
    blob: the token of hexadecimal data, with its offset.
    """

    tokens: list[tuple[str, bool, int]] = field(default_factory=list[tuple[str, bool, int]])
    shape: tuple[int, ...] | None = None
    blob: tuple[str, int] | None = None


def _read_literal(cursor: Cursor) -> _Literal:
    literal = _Literal()
    if cursor.token[:1] == '"':
        literal.blob = (cursor.token, cursor.offset)
        cursor.advance()
    elif cursor.at("["):
        literal.shape = _read_list(cursor, literal)
    elif not cursor.at(">"):
        _read_element(cursor, literal)
        literal.shape = ()
    return literal


def _read_list(cursor: Cursor, literal: _Literal) -> tuple[int, ...]:
    """The elements of a list; fails where its members differ in shape."""
    shapes: list[tuple[int, ...]] = []

    def read() -> None:
        shape: tuple[int, ...] = ()
        if cursor.at("["):
            shape = cursor.nested(lambda: _read_list(cursor, literal))
        else:
            _read_element(cursor, literal)
        if shapes and shape != shapes[0]:
            cursor.error("tensor literal is invalid; ranks are not consistent between elements")
        shapes.append(shape)

    cursor.items(read)
    return (len(shapes), *(shapes[0] if shapes else ()))


def _read_element(cursor: Cursor, literal: _Literal) -> None:
    if cursor.accept("("):
        cursor.nested(lambda: _read_element(cursor, literal))
        cursor.expect(",", " between complex elements")
        cursor.nested(lambda: _read_element(cursor, literal))
        cursor.expect(")", " after complex elements")
        return
    negated = cursor.accept("-")
    token = cursor.token
    if not (token[:1].isdecimal() or (token in _BOOLEANS and not negated)):
        cursor.error(
            "expected integer or floating point literal"
            if negated
            else "expected element literal of primitive type"
        )
    literal.tokens.append((token, negated, cursor.offset))
    cursor.advance()


@dataclass(frozen=True, slots=True)
class _Typed:
    """A literal under its type."""

    cursor: Cursor
    literal: _Literal
    type: Any
    start: int

    def data(self) -> bytes:
        """The elements' bytes: one element if all are alike; fails where they do not fit the type."""
        element: Any = self.type.element_type
        scalar: Any = element.element_type if is_complex(element) else element
        if not (is_integral(scalar) or getattr(scalar, "name", "") in FORMATS):
            self._fail(f"elements of type '{attribute_text(element)}' are not supported")
        data = self._blob(scalar) if self.literal.blob is not None else self._elements(scalar)
        size = element_size(element)
        return data[:size] if len(data) > size and data == data[:size] * (len(data) // size) else data

    def _elements(self, scalar: Attribute) -> bytes:
        shape: tuple[int, ...] = self.type.get_shape()
        written, tokens = self.literal.shape, self.literal.tokens
        if written and written != shape:
            self._fail(
                f"inferred shape of elements literal ({_shape_text(written)}) does not match type "
                f"({_shape_text(shape)})"
            )
        if not tokens and prod(shape):
            self._miscounted("zero", self.type, "at least 1")
        if is_complex(self.type.element_type):
            expected = 2 * prod(written) if written else 2 * bool(prod(shape))
            if len(tokens) != expected and (written or prod(shape)):
                shown = self.type if written else self.type.element_type
                self._miscounted(len(tokens), shown, f"{expected} elements")
        elif len(tokens) != (prod(written) if written is not None else 0):
            self._miscounted(len(tokens), self.type, f"{prod(shape)} elements")
        return b"".join([self._scalar(token, scalar) for token in tokens])

    def _fail(self, message: str) -> NoReturn:
        self.cursor.error(message, self.start)

    def _miscounted(self, count: object, type_: Attribute, expected: str) -> NoReturn:
        self._fail(f"parsed {count} elements, but type ('{attribute_text(type_)}') expected {expected}")

    def _scalar(self, token: tuple[str, bool, int], scalar: Attribute) -> bytes:
        text, negated, offset = token
        found = _scalar(text, negated, scalar, current())
        if isinstance(found, str):
            notes = ((NO_FLOAT_NOTE, offset),) if found == NO_FLOAT else ()
            self.cursor.error(found, offset, *notes)
        return found

    def _blob(self, scalar: object) -> bytes:
        assert self.literal.blob is not None
        token, offset = self.literal.blob
        digits = token[3:-1]
        if token[1:3] != "0x" or len(digits) % 2 or not (digits.isalnum() or not digits):
            self.cursor.error("expected string containing hex digits starting with `0x`", offset)
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            self.cursor.error("expected string containing hex digits starting with `0x`", offset)
        size = element_size(self.type.element_type)
        if len(data) != size and len(data) != size * prod(self.type.get_shape()):
            self.cursor.error(
                f"elements hex data size is invalid for provided type: '{attribute_text(self.type)}'",
                self.start,
            )
        if not is_integer(scalar) or scalar.width.data % 8 == 0:
            return data
        if scalar.width.data == 1:
            return bytes([bool(byte) for byte in data])
        step = element_size(scalar)
        pieces = [data[i : i + step] for i in range(0, len(data), step)]
        return b"".join([store_integer(int.from_bytes(piece, "little"), scalar) for piece in pieces])


@SESSION.cache(8192)
def _scalar(text: str, negated: bool, element: Attribute, release: Release) -> bytes | str:
    """The bytes of one literal under a type, or what is wrong with it; in a release, the current one."""
    if is_integral(element):
        if text in _BOOLEANS:
            if element != builtin.IntegerType(1):
                return "expected i1 type for 'true' or 'false' values"
            return b"\1" if text == "true" else b"\0"
        if not is_integer_token(text):
            return "expected integer elements, but parsed floating-point"
        if negated and is_integer(element) and element.signedness.data is builtin.Signedness.UNSIGNED:
            return "expected unsigned integer elements, but parsed negative value"
        data = literal_bytes(text, negated, element)
        return "integer constant out of range for type" if data is None else data
    if text in _BOOLEANS:
        return "expected floating-point elements, but parsed integer"
    form = FORMATS[element.name]
    if text[:2] == "0x":
        if negated:
            return HEX_MINUS
        if len(text) > MAX_DIGITS or integer_value(text) >> form.width:
            return HEX_RANGE
        return integer_value(text).to_bytes(form.size, "little")
    if is_integer_token(text):
        return NO_FLOAT
    return decimal_bits(form, text, negated=negated).to_bytes(form.size, "little")


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
