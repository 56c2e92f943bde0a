"""Builtin attributes: string attributes and their literals, type guards.

Type guards are needed because `isinstance` loses type parameters in the eyes of a type checker. Not here:
escapes in print (`sharding/spelling.py`).
"""

from __future__ import annotations

import re

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, SSAValue

from shardy_py.base.session import LARGE_TEXT, SESSION

_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9a-fA-F]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
_strings: dict[str, StringAttr] = SESSION.table("string attributes")


def string_attribute(text: str) -> StringAttr:
    """The string attribute, one object for one text unless it is long."""
    found = _strings.get(text)
    if found is None:
        found = object.__new__(StringAttr)  # without xDSL's checks: every argument may have one
        object.__setattr__(found, "data", text)
        if len(text) <= LARGE_TEXT:
            found = _strings.setdefault(text, found)
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


def is_integer_attribute(attribute: object) -> TypeIs[IntegerAttr]:
    """True if an attribute is an integer of an integer type or of `index`."""
    return isinstance(attribute, IntegerAttr)


def is_integral(type_: object) -> TypeIs[IntegerType | IndexType]:
    """True if a type is an integer type or `index`."""
    return type_.__class__ is IntegerType or type_.__class__ is IndexType  # faster than isinstance: ABCs


def is_dense(attribute: object) -> TypeIs[DenseIntOrFPElementsAttr]:
    """True if an attribute is `dense<...>`."""
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def is_dense_integers(
    attribute: object,
) -> TypeIs[DenseIntOrFPElementsAttr[IntegerType] | DenseIntOrFPElementsAttr[IndexType]]:
    """True if an attribute is `dense<...>` of integers or indices."""
    return is_dense(attribute) and is_integral(attribute.type.element_type)


def is_array(attribute: object) -> TypeIs[ArrayAttr[Attribute]]:
    """True if an attribute is an array of attributes."""
    return isinstance(attribute, ArrayAttr)


def is_tensor(type_: object) -> TypeIs[TensorType[Attribute]]:
    """True if a type is a ranked tensor type."""
    return isinstance(type_, TensorType)


def is_any_tensor(type_: object) -> TypeIs[TensorType[Attribute] | UnrankedTensorType[Attribute]]:
    """True if a type is a tensor type, ranked or not."""
    return isinstance(type_, TensorType | UnrankedTensorType)


def is_integers(attribute: object) -> TypeIs[DenseArrayBase[IntegerType]]:
    """True if an attribute is `array<i64: ...>`, of integers of any width."""
    element: object = getattr(attribute, "elt_type", None)
    return is_integer(element) and isinstance(attribute, DenseArrayBase)


def is_value(thing: object) -> TypeIs[SSAValue[Attribute]]:
    """True if a thing is a value of a program."""
    return isinstance(thing, SSAValue)


def complex_of(element: Attribute) -> ComplexType:
    """The complex type with parts of that type, which xDSL declares for fewer types than MLIR."""
    made = object.__new__(ComplexType)
    vars(made).update(element_type=element)
    return made


def is_complex(type_: object) -> TypeIs[ComplexType]:
    """True if a type is a complex type."""
    return isinstance(type_, ComplexType)
