"""Builtin attributes: string attributes and their literals, type guards.

Type guards are needed because `isinstance` loses type parameters in the eyes of a type checker. Not here:
escapes in print (`sharding/spelling.py`).
"""

from __future__ import annotations

import re
from typing import Any

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    StringAttr,
)
from xdsl.ir import Attribute

from shardy_py.base.session import LARGE_TEXT, SESSION

_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9a-fA-F]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
_strings: dict[str, StringAttr] = SESSION.table("string attributes")


def string_attribute(text: str) -> StringAttr:
    """The string attribute, one object for one text unless it is long."""
    found = _strings.get(text)
    if found is None:
        found = StringAttr(text)
        if len(text) <= LARGE_TEXT:
            _strings[text] = found
    return found


def unescape(text: str) -> str:
    r"""Resolves the escapes of a string literal: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits.

    Bytes that are not UTF-8 become surrogates.

    >>> unescape(r"a\22\0A")
    'a"\n'
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[bytes]) -> bytes:
        body = match[1]
        return _ESCAPED.get(body) or bytes.fromhex(body.decode())

    return _ESCAPE.sub(replace, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def is_integer(type_: object) -> TypeIs[IntegerType]:
    """True if a type is an integer type of any width."""
    return isinstance(type_, IntegerType)


def is_integral(type_: object) -> TypeIs[IntegerType | IndexType]:
    """True if a type is an integer type or `index`."""
    return type_.__class__ is IntegerType or type_.__class__ is IndexType  # faster than isinstance: ABCs


def is_dense(attribute: object) -> TypeIs[DenseIntOrFPElementsAttr]:
    """True if an attribute is `dense<...>`."""
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def is_array(attribute: object) -> TypeIs[ArrayAttr[Attribute]]:
    """True if an attribute is an array of attributes."""
    return isinstance(attribute, ArrayAttr)


def is_complex(type_: object) -> TypeIs[ComplexType[Any]]:
    """True if a type is a complex type."""
    return isinstance(type_, ComplexType)
