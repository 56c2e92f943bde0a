"""Locations, read and printed: `loc("file":1:2)`, ranges, names, call sites, fusions, aliases.

Parser and printer are neighbours; `loc("f"(callsite("a.py":1:2 at "b.py":3:4 to :9)))` goes through
both.

Not here: which locations get an alias in print (`naming.py`), places in a source (`source.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from shardy_py.base.records import dataclass
from shardy_py.mlir.text.builtin_attributes import is_array, string_attribute
from shardy_py.mlir.text.cursor import Cursor, is_integer_token
from shardy_py.mlir.text.source import FileRangeLoc, numeral
from shardy_py.sharding.spelling import string_literal

UNKNOWN = UnknownLoc()
NONE = NoneAttr()
LOCATIONS = (UnknownLoc, FileLineColLoc, FileRangeLoc, NameLoc, CallSiteLoc, FusedLoc)
"""The classes of location attributes."""


@dataclass(frozen=True, slots=True)
class PendingLocation:
    """An alias that the text defines later; the reader puts the location in its place at the end."""

    alias: str
    offset: int


def read_location(cursor: Cursor) -> Attribute | PendingLocation:
    """`loc(...)`, the cursor on `loc`; an alias that is not defined yet comes as a `PendingLocation`."""
    cursor.expect("loc")
    cursor.expect("(", " in location")
    token, offset = cursor.token, cursor.offset
    if token[:1] == "#" and token[1:] not in cursor.aliases and "." not in token:
        cursor.advance()
        made: Attribute | PendingLocation = PendingLocation(token[1:], offset)
    else:
        made = _read_body(cursor)
    cursor.expect(")", " in location")
    return made


def _read_body(cursor: Cursor) -> Attribute:
    """The text between the parentheses of a location."""
    token = cursor.token
    if token[:1] == "#":
        offset = cursor.offset
        found = cursor.attribute()
        if not isinstance(found, LOCATIONS):
            cursor.error("expected location attribute", offset)
        return found
    if token[:1] == '"':
        return _read_name_or_file(cursor)
    reader = _READERS.get(token)
    if reader is None:
        cursor.error("expected location instance")
    cursor.advance()
    return cursor.nested(lambda: reader(cursor))


def _read_name_or_file(cursor: Cursor) -> Attribute:
    name = string_attribute(cursor.string())
    if cursor.accept("("):
        inner = cursor.nested(lambda: _read_body(cursor))
        cursor.expect(")", " after child location of NameLoc")
        return attribute_of(NameLoc, desc=name, location=NONE if isinstance(inner, UnknownLoc) else inner)
    if not cursor.accept(":"):
        return NameLoc(name, NONE)
    line = _read_size(cursor, "line")
    column = _read_size(cursor, "column") if cursor.accept(":") else 0
    end_line, end_column = line, column
    if cursor.accept("to"):
        end_line = _read_size(cursor, "line") if not cursor.at(":") else line
        end_column = _read_size(cursor, "column") if cursor.accept(":") else column
    return file_location(name, line, column, end_line, end_column)


def file_location(file: StringAttr, line: int, column: int, end_line: int, end_column: int) -> Attribute:
    """The location of a stretch of a file: of one character where its start is its end."""
    start = {"line": numeral(line), "column": numeral(column)}
    if (end_line, end_column) == (line, column):
        return attribute_of(FileLineColLoc, filename=file, **start)
    return attribute_of(
        FileRangeLoc,
        filename=file,
        start_line=start["line"],
        start_column=start["column"],
        end_line=numeral(end_line),
        end_column=numeral(end_column),
    )


def attribute_of(location_class: type[Attribute], **parameters: Attribute) -> Attribute:
    """A location made without xDSL's checks, which know no ranges."""
    made = object.__new__(location_class)
    for name, value in parameters.items():  # a dictionary of its own would double its bytes
        object.__setattr__(made, name, value)
    return made


def _read_size(cursor: Cursor, what: str) -> int:
    """A line or column, an unsigned integer of 32 bits."""
    start = cursor.offset
    size = cursor.int64() if is_integer_token(cursor.token) else None
    if size is None or size >= 1 << 32:
        cursor.error(f"expected integer {what} number in FileLineColRange", start)
    return size


def _read_unknown(cursor: Cursor) -> Attribute:
    return UNKNOWN


def _read_callsite(cursor: Cursor) -> Attribute:
    cursor.expect("(", " in callsite location")
    callee = _read_body(cursor)
    if not cursor.accept("at"):
        cursor.wrong_token("expected 'at' in callsite location")
    caller = _read_body(cursor)
    cursor.expect(")", " in callsite location")
    return attribute_of(CallSiteLoc, callee=callee, caller=caller)


def _read_fused(cursor: Cursor) -> Attribute:
    metadata: Attribute = NONE
    if cursor.accept("<"):
        metadata = cursor.attribute()
        cursor.expect(">", " after fused location metadata")
    return fuse(cursor.items(lambda: _read_body(cursor), "[", "]", " in fused location"), metadata)


def fuse(locations: list[Attribute], metadata: Attribute = NONE) -> Attribute:
    """The fusion of locations: fusions without metadata inside dissolve, each location counts once."""
    flat: dict[Attribute, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc) and location.metadata == NONE:
            flat.update(dict.fromkeys(parts_of(location)))
        elif not isinstance(location, UnknownLoc):
            flat[location] = None
    if metadata == NONE:
        if not flat:
            return UNKNOWN
        if len(flat) == 1:
            return next(iter(flat))
    return attribute_of(FusedLoc, locations=ArrayAttr(list(flat)), metadata=metadata)


_READERS = {"unknown": _read_unknown, "callsite": _read_callsite, "fused": _read_fused}


def parts_of(location: FusedLoc) -> tuple[Attribute, ...]:
    """The locations that are fused in one."""
    return location.locations.data if is_array(location.locations) else ()


def location_body(location: Attribute | None) -> str:
    """The text between the parentheses of a location; locations inside it may be aliases."""
    from shardy_py.mlir.text.attribute_writer import attribute_text

    if isinstance(location, FileLineColLoc):
        return f"{string_literal(location.filename.data)}:{location.line.data}:{location.column.data}"
    if isinstance(location, FileRangeLoc):
        line, end_line = location.start_line.data, location.end_line.data
        end = f"{'' if end_line == line else end_line}:{location.end_column.data}"
        return f"{string_literal(location.filename.data)}:{line}:{location.start_column.data} to {end}"
    if isinstance(location, NameLoc):
        inner = "" if isinstance(location.location, NoneAttr) else f"({_inner(location.location)})"
        return string_literal(location.desc.data) + inner
    if isinstance(location, CallSiteLoc):
        return f"callsite({_inner(location.callee)} at {_inner(location.caller)})"
    if isinstance(location, FusedLoc):
        metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{attribute_text(location.metadata)}>"
        return f"fused{metadata}[{', '.join(map(_inner, parts_of(location)))}]"
    return "unknown"


def _inner(location: Attribute) -> str:
    from shardy_py.mlir.text.attribute_writer import attribute_text

    text = attribute_text(location)
    return text if text[0] == "#" else text[4:-1]
