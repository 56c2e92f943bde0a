"""The parts of the tables of dialects: fields of encodings, and functions that read a sequence of them.

    1: row(ChannelHandle, SIGNED, SIGNED)

is an attribute of code 1 with two signed integers, which `ChannelHandle` makes. Not here: the tables.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from shardy_py.mlir.bytecode.entries import EntryReader
from shardy_py.mlir.text.location_syntax import LOCATIONS
from shardy_py.mlir.text.xdsl_hooks import DialectAttribute

T = TypeVar("T")
U = TypeVar("U")
Field = Callable[[EntryReader], T]
"""Reads one field of an encoding."""
Reader = Callable[[EntryReader], Attribute]
"""Reads the encoding of an attribute or type."""
_WORD = 1 << 64

VARINT = EntryReader.varint
SIGNED = EntryReader.signed
ATTRIBUTE = EntryReader.attribute
OPTIONAL = EntryReader.optional
TYPE = EntryReader.type
STRING = EntryReader.string
BLOB = EntryReader.blob


def row(make: Callable[..., Attribute], *fields: Field[object]) -> Reader:
    """Returns the function that reads fields in order and makes the attribute or type of them."""

    def read(reader: EntryReader) -> Attribute:
        return make(*[field(reader) for field in fields])

    return read


def constant(attribute: Attribute) -> Reader:
    """Returns the function that reads an attribute or type without fields."""
    return lambda reader: attribute


def many(field: Field[T]) -> Field[tuple[T, ...]]:
    """Fields of a kind behind their number, as a tuple."""

    def read(reader: EntryReader) -> tuple[T, ...]:
        return tuple([field(reader) for _ in range(reader.count("elements"))])

    return read


def pair(first: Field[T], second: Field[U]) -> Field[tuple[T, U]]:
    """Two fields."""
    return lambda reader: (first(reader), second(reader))


def value_of(attribute_class: type[DialectAttribute[T]], what: str) -> Field[T]:
    """The value of an attribute that must be of a class of ours, which `what` names."""
    return lambda reader: reader.expected(attribute_class, what).data


def keyword(keywords: tuple[str, ...], *, first: int = 0) -> Field[str]:
    """A keyword of an enum by its number; the first has the number `first`."""

    def read(reader: EntryReader) -> str:
        start = reader.at
        index = reader.varint() - first
        if not 0 <= index < len(keywords):
            reader.fail(f"expected one of {', '.join(keywords)}, got number {index + first}", start)
        return keywords[index]

    return read


def _string(reader: EntryReader) -> StringAttr:
    return reader.expected(StringAttr, "a string")


def _location(reader: EntryReader) -> Attribute:
    start = reader.at
    found = reader.attribute()
    if not isinstance(found, LOCATIONS):
        reader.fail("expected a location", start)
    return found


def _boolean(reader: EntryReader) -> bool:
    return bool(reader.byte())


def _double(reader: EntryReader) -> float:
    bits = reader.signed() % _WORD
    return struct.unpack("<d", bits.to_bytes(8, "little"))[0]


STRING_ATTRIBUTE = _string
LOCATION = _location
BOOLEAN = _boolean
"""A byte."""
DOUBLE = _double
"""A float of 64 bits, written as an integer."""
SIGNED_LIST = many(SIGNED)
TYPES = many(TYPE)
