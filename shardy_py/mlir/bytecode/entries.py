"""The attributes and types of a bytecode file, each read when it is first asked for, and once.

Attributes refer to each other by number. What an attribute expands to, with all that it refers to, is
bounded in depth and in size: a few bytes could otherwise stand for more than any memory holds.

Not here: what each code of a dialect stands for (`rows.py` and the tables of dialects).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from xdsl.ir import Attribute, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.bytecode.encoding import ByteCursor
from shardy_py.mlir.bytecode.sections import BytecodeFile, EncodedEntry
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import MAX_NESTING, Cursor
from shardy_py.mlir.text.location_syntax import LOCATIONS
from shardy_py.mlir.text.source import Source
from shardy_py.mlir.text.syntax import SyntaxTable
from shardy_py.mlir.text.type_reader import read_type_or_function

A = TypeVar("A", bound=Attribute)

MAX_SIZE = 1 << 20
"""Attributes that one attribute may refer to, directly or not, each counted as often as it occurs."""
_SHOWN = 80


class EntryReader(ByteCursor):
    """Reads the encoding of an attribute, a type, or properties."""

    __slots__ = ("entries",)

    def __init__(self, entries: Entries, start: int, end: int) -> None:
        super().__init__(entries.file.data, start, end)
        self.entries = entries

    def attribute(self) -> Attribute:
        """The attribute whose number is at the cursor."""
        return self.entries.attribute(self.varint(), self)

    def type(self) -> Attribute:
        """The type whose number is at the cursor."""
        return self.entries.type(self.varint(), self)

    def optional(self) -> Attribute | None:
        """The attribute whose number and presence are at the cursor; None if it is absent."""
        index, is_there = self.flagged()
        return self.entries.attribute(index, self) if is_there else None

    def string(self) -> str:
        """The string whose number is at the cursor."""
        return self.entries.file.string(self)

    def expected(self, attribute_class: type[A] | tuple[type[A], ...], what: str) -> A:
        """The attribute at the cursor, which must be of a class that `what` names."""
        start = self.at
        found = self.attribute()
        if not isinstance(found, attribute_class):
            self.fail(f"expected {what}, got {_shown(found)}", start)
        return found


@dataclass(frozen=True, slots=True)
class Encodings:
    """How a dialect encodes its attributes and types, by the code that each begins with."""

    attributes: Mapping[int, Callable[[EntryReader], Attribute]]
    types: Mapping[int, Callable[[EntryReader], Attribute]]


class Entries:
    """The attributes and types of a file, by number.

    handles: the names of the resources that attributes refer to, by number.
    """

    def __init__(
        self,
        file: BytecodeFile,
        encodings: Mapping[str, Encodings],
        syntax: SyntaxTable,
        *,
        allow_unregistered: bool = False,
    ) -> None:
        self.file = file
        self.handles: list[str] = []
        self._encodings = encodings
        self._syntax = syntax
        self._allow_unregistered = allow_unregistered
        self._attributes: list[Attribute | None] = [None] * len(file.attributes)
        self._types: list[Attribute | None] = [None] * len(file.types)
        self._sizes: dict[int, int] = {}  # by identity of what the lists above hold
        self._size = self._depth = 0

    def attribute(self, index: int, cursor: ByteCursor) -> Attribute:
        """The attribute of a number that was read at the cursor."""
        if index >= len(self._attributes):
            cursor.fail(f"invalid attribute {index}: the file has {len(self._attributes)}")
        found = self._attributes[index]
        if found is None:
            return self._made(self._attributes, index, self.file.attributes[index], is_type=False)
        self._count(found)
        return found

    def type(self, index: int, cursor: ByteCursor) -> Attribute:
        """The type of a number that was read at the cursor."""
        if index >= len(self._types):
            cursor.fail(f"invalid type {index}: the file has {len(self._types)}")
        found = self._types[index]
        if found is None:
            return self._made(self._types, index, self.file.types[index], is_type=True)
        self._count(found)
        return found

    def location(self, index: int, cursor: ByteCursor) -> Attribute:
        """The location of a number that was read at the cursor."""
        found = self.attribute(index, cursor)
        if not isinstance(found, LOCATIONS):
            cursor.fail(f"expected a location, got {_shown(found)}")
        return found

    def _count(self, found: Attribute) -> None:
        """Counts an attribute that another one refers to."""
        if self._depth:
            self._size += self._sizes[id(found)]

    def _made(
        self, made: list[Attribute | None], index: int, entry: EncodedEntry, *, is_type: bool
    ) -> Attribute:
        reader = EntryReader(self, entry.start, entry.end)
        if self._depth >= MAX_NESTING:
            reader.fail(f"nesting exceeds {MAX_NESTING} levels")
        outer, self._size = self._size, 1
        self._depth += 1
        try:
            found = self._read(reader, entry, is_type=is_type)
        except VerifyException as error:
            reader.fail(_last_line(error), entry.start)
        finally:
            self._depth -= 1
        if self._size > MAX_SIZE:
            reader.fail(f"an attribute expands to more than {MAX_SIZE} attributes", entry.start)
        made[index] = found
        self._sizes[id(found)] = self._size
        self._size += outer
        return found

    def _read(self, reader: EntryReader, entry: EncodedEntry, *, is_type: bool) -> Attribute:
        if not entry.is_custom:
            return self._from_text(reader, is_type=is_type)
        known = self._encodings.get(entry.dialect)
        what = "type" if is_type else "attribute"
        if known is None:
            reader.fail(f"{what}s of dialect '{entry.dialect}' have an unknown encoding")
        code = reader.varint()
        read = (known.types if is_type else known.attributes).get(code)
        if read is None:
            reader.fail(f"unknown {what} {code} of dialect '{entry.dialect}'", entry.start)
        found = read(reader)
        reader.expect_end(f"the {what}")
        return found

    def _from_text(self, reader: EntryReader, *, is_type: bool) -> Attribute:
        """An attribute or type that is kept as text."""
        start = reader.at
        text = reader.terminated()
        reader.expect_end("the attribute")
        try:
            cursor = Cursor(Source(text), self._syntax)
            cursor.allow_unregistered = self._allow_unregistered
            found = read_type_or_function(cursor) if is_type else cursor.attribute()
            if cursor.token:
                cursor.error("expected the end of the attribute")
        except ShardyError as error:
            reader.fail(f"{error.first.message} in '{_shortened(text)}'", start)
        if is_type and not isinstance(found, TypeAttribute):
            reader.fail(f"expected a type, got '{_shortened(text)}'", start)
        return found


def _shown(attribute: Attribute) -> str:
    return f"'{_shortened(attribute_text(attribute))}'"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else "invalid attribute"
