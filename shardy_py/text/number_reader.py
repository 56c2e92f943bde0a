"""Reads numbers with their types: `5 : i8`, `-0x1F`, `1.5e3 : bf16`, `0x7F80 : bf16`.

Not here: the elements of dense attributes (`dense_reader.py`).
"""

from __future__ import annotations

from typing import Any

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

from shardy_py.session import SESSION
from shardy_py.text.cursor import MAX_DIGITS, Cursor, integer_value, is_integer_token
from shardy_py.text.dense import literal_bytes, load_integer
from shardy_py.text.float_formats import FORMATS, FloatFormat
from shardy_py.text.type_reader import float_type
from shardy_py.text.type_tests import is_integer, is_integral

OUT_OF_RANGE = "integer constant out of range for attribute"
NO_FLOAT = "unexpected decimal integer literal for a floating point value"
NO_FLOAT_NOTE = "add a trailing dot to make the literal a float"
HEX_MINUS = "hexadecimal float literal should not have a leading minus"
HEX_RANGE = "hexadecimal float constant out of range for type"

_MEMO_LENGTH = 40
_numbers: dict[tuple[str, bool, int], tuple[Attribute, Any]] = SESSION.table("numbers by text")


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
    key = (token, negated, id(type_))
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
        made = FloatAttr.new((FloatData(form.to_float(value)), type_))
    if len(token) < _MEMO_LENGTH:
        _numbers[key] = (made, type_)
    return made


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


def _integer_of(data: bytes, type_: Any) -> int:
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
    return form.encode(-float(token) if negated else float(token))
