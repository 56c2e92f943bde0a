"""The sections of a bytecode file: strings, dialects, names of ops, and where attributes and properties are.

A file is a magic number, the version of the format, the name of its producer, and sections in any order:

| number | section | content |
|---|---|---|
| 0 | strings | all texts |
| 1 | dialects | their names and versions, the names of ops |
| 2, 3 | attributes and types | their encodings; the size of each |
| 4 | IR | one block of ops |
| 5, 6 | resources | their values; the keys and sizes |
| 8 | properties | those of all ops, since version 5 |

Not here: what attributes, types and ops are (`entries.py`, `ir_section.py`), resources (`resources.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import IntEnum

from shardy_py.base.bytecode import MAGIC
from shardy_py.base.records import dataclass
from shardy_py.mlir.bytecode.encoding import ByteCursor, decoded

NEWEST_VERSION = 6


class Version(IntEnum):
    """Versions of the format, by what each brought."""

    DIALECT_VERSIONS = 1
    ISOLATED_SECTIONS = 2
    USE_LISTS = 3
    UNKNOWN_LOCATIONS_LEFT_OUT = 4
    NATIVE_PROPERTIES = 5
    NATIVE_SEGMENT_SIZES = 6


class Section(IntEnum):
    """The numbers of sections."""

    STRINGS = 0
    DIALECTS = 1
    ATTRIBUTES = 2
    ATTRIBUTE_SIZES = 3
    IR = 4
    RESOURCES = 5
    RESOURCE_SIZES = 6
    DIALECT_VERSION = 7
    PROPERTIES = 8


_REQUIRED = (
    *(Section.STRINGS, Section.DIALECTS, Section.ATTRIBUTES, Section.ATTRIBUTE_SIZES),
    Section.IR,
)


@dataclass(frozen=True, slots=True)
class OpName:
    """The full name of an op, and whether its dialect was registered when the file was written.

    is_registered: true in files before version 5, which do not tell.
    """

    name: str
    is_registered: bool = True


@dataclass(frozen=True, slots=True)
class EncodedEntry:
    """The place of an attribute or type.

    is_custom: whether its dialect encodes it; otherwise it is text.
    """

    dialect: str
    is_custom: bool
    start: int
    end: int


@dataclass(slots=True)
class BytecodeFile:
    """A file, without its attributes, types and ops, which are read when they are asked for.

    properties: the start and end of the encodings of properties.
    """

    data: bytes
    version: int
    producer: str
    strings: list[str] = field(default_factory=list[str])
    dialects: list[str] = field(default_factory=list[str])
    ops: list[OpName] = field(default_factory=list[OpName])
    attributes: list[EncodedEntry] = field(default_factory=list[EncodedEntry])
    types: list[EncodedEntry] = field(default_factory=list[EncodedEntry])
    properties: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    sections: dict[int, ByteCursor] = field(default_factory=dict[int, ByteCursor])

    @property
    def ir(self) -> ByteCursor:
        """A cursor at the start of the ops."""
        section = self.sections[Section.IR]
        return ByteCursor(self.data, section.at, section.end)

    def string(self, cursor: ByteCursor) -> str:
        """The string whose number is at the cursor."""
        return self.string_at(cursor, cursor.varint())

    def string_at(self, cursor: ByteCursor, index: int) -> str:
        """The string of a number that was read at the cursor."""
        if index >= len(self.strings):
            cursor.fail(f"invalid string {index}: the file has {len(self.strings)}")
        return self.strings[index]

    def dialect(self, cursor: ByteCursor) -> str:
        """The name of the dialect whose number is at the cursor."""
        index = cursor.varint()
        if index >= len(self.dialects):
            cursor.fail(f"invalid dialect {index}: the file has {len(self.dialects)}")
        return self.dialects[index]


def read_file(data: bytes) -> BytecodeFile:
    """Returns the sections of a file.

    Raises:
        ShardyError: the data is damaged, or of a newer version of the format; it names the byte.
    """
    cursor = ByteCursor(data)
    if cursor.take(min(len(MAGIC), len(data))) != MAGIC:
        cursor.fail("expected the magic number of MLIR bytecode", 0)
    version = cursor.varint()
    if version > NEWEST_VERSION:
        cursor.fail(f"expected a version of the format up to {NEWEST_VERSION}, got {version}", len(MAGIC))
    file = BytecodeFile(data, version, cursor.terminated())
    while not cursor.is_at_end:
        start = cursor.at
        kind, content = cursor.section()
        if kind > Section.PROPERTIES:
            cursor.fail(f"unknown section {kind}", start)
        if kind in file.sections:
            cursor.fail(f"section {kind} is there twice", start)
        file.sections[kind] = content
    for kind in _REQUIRED:
        if kind not in file.sections:
            cursor.fail(f"the section of {kind.name.lower().replace('_', ' ')} is missing")
    _read_strings(file)
    _read_dialects(file)
    _read_entries(file)
    _read_properties(file)
    return file


def _read_strings(file: BytecodeFile) -> None:
    """Strings end with zeros, which their sizes count; the sizes come last string first."""
    cursor = file.sections[Section.STRINGS]
    end = cursor.end
    found: list[str] = []
    for _ in range(cursor.count("strings")):
        size = cursor.varint()
        start = end - size
        if not size or start < cursor.at:
            cursor.fail(f"invalid size of a string: {size}")
        found.append(decoded(file.data[start : end - 1]))
        end = start
    if cursor.at != end:
        cursor.fail(f"expected strings of {cursor.left} bytes, got {cursor.end - end}")
    file.strings = found[::-1]


def _read_dialects(file: BytecodeFile) -> None:
    cursor = file.sections[Section.DIALECTS]
    for _ in range(cursor.count("dialects")):
        index, has_version = cursor.varint(), False
        if file.version >= Version.DIALECT_VERSIONS:
            index, has_version = index >> 1, bool(index & 1)
        file.dialects.append(file.string_at(cursor, index))
        if has_version and cursor.section()[0] != Section.DIALECT_VERSION:
            cursor.fail("expected the version of a dialect")
    if file.version >= Version.UNKNOWN_LOCATIONS_LEFT_OUT:
        cursor.varint()  # the number of ops

    def read_name(dialect: str) -> None:
        index, is_registered = cursor.varint(), True
        if file.version >= Version.NATIVE_PROPERTIES:
            index, is_registered = index >> 1, bool(index & 1)
        name = file.string_at(cursor, index)
        file.ops.append(OpName(f"{dialect}.{name}" if name else dialect, is_registered))

    while not cursor.is_at_end:
        _read_group(file, cursor, read_name, "names of ops")


def _read_group(file: BytecodeFile, cursor: ByteCursor, read: Callable[[str], None], what: str) -> int:
    """Reads the things of one dialect by a function of its name; returns how many they are."""
    dialect = file.dialect(cursor)
    count = cursor.count(what)
    for _ in range(count):
        read(dialect)
    return count


def _read_entries(file: BytecodeFile) -> None:
    cursor, content = file.sections[Section.ATTRIBUTE_SIZES], file.sections[Section.ATTRIBUTES]
    counts = [cursor.count("attributes"), cursor.count("types")]
    for entries, count in zip((file.attributes, file.types), counts, strict=True):

        def read(dialect: str, entries: list[EncodedEntry] = entries) -> None:
            size, is_custom = cursor.flagged()
            start = content.at
            content.part(size, "an attribute or type")
            entries.append(EncodedEntry(dialect, is_custom, start, content.at))

        while len(entries) < count:
            _read_group(file, cursor, read, "attributes or types")
        if len(entries) > count:
            cursor.fail(f"expected {count} attributes or types, got {len(entries)}")
    cursor.expect_end("the sizes of attributes and types")


def _read_properties(file: BytecodeFile) -> None:
    if Section.PROPERTIES not in file.sections:
        if file.version >= Version.NATIVE_PROPERTIES:
            file.sections[Section.STRINGS].fail("the section of properties is missing")
        return
    cursor = file.sections[Section.PROPERTIES]
    if cursor.is_at_end:
        return
    for _ in range(cursor.count("properties")):
        size = cursor.varint()
        start = cursor.at
        cursor.part(size, "properties")
        file.properties.append((start, cursor.at))
    cursor.expect_end("the properties")
