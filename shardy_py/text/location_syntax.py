"""Locations, read and printed: `loc("file":1:2)`, names, call sites, fusions, aliases.

Parser and printer stand beside each other; `loc("f"(callsite("a.py":1:2 at "b.py":3:4)))` goes through both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from shardy_py.text.strings import string_attribute, string_literal

if TYPE_CHECKING:
    from shardy_py.text.cursor import Cursor

UNKNOWN = UnknownLoc()


def read_location(cursor: Cursor) -> Attribute:
    """`loc(...)`, the cursor on `loc`; an alias that is not defined yet stays as its name."""
    cursor.advance()
    cursor.expect("(")
    made = read_location_body(cursor)
    cursor.expect(")")
    return made


def read_location_body(cursor: Cursor) -> Attribute:
    """What stands between the parentheses of a location."""
    token = cursor.token
    if token[:1] == "#":
        cursor.advance()
        alias = cursor.aliases.get(token[1:])
        return alias if alias is not None else NameLoc(string_attribute(token), NoneAttr())
    if token[:1] == '"':
        name = string_attribute(cursor.string())
        if cursor.accept(":"):
            line = cursor.integer()
            column = cursor.integer() if cursor.accept(":") else 0
            while cursor.token in ("to", ":") or (cursor.token.isdigit() and cursor.text[cursor.previous_end - 1] == ":"):
                cursor.advance()  # a range's end has no place in xDSL's locations
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        if cursor.accept("("):
            inner = cursor.nested(lambda: read_location_body(cursor))
            cursor.expect(")")
            return NameLoc(name, inner)
        return NameLoc(name, NoneAttr())
    if token == "unknown":
        cursor.advance()
        return UNKNOWN
    if token == "callsite":
        cursor.advance()
        cursor.expect("(")
        callee = cursor.nested(lambda: read_location_body(cursor))
        cursor.expect("at")
        caller = cursor.nested(lambda: read_location_body(cursor))
        cursor.expect(")")
        return CallSiteLoc(callee, caller)
    if token == "fused":
        cursor.advance()
        metadata: Attribute = NoneAttr()
        if cursor.accept("<"):
            metadata = cursor.attribute()
            cursor.expect(">")
        return FusedLoc(ArrayAttr(cursor.items(lambda: cursor.nested(lambda: read_location_body(cursor)))), metadata)
    return cursor.error("expected location instance")


def location_body(location: Any) -> str:
    """The text between the parentheses of a location."""
    from shardy_py.text.attribute_writer import attribute_text

    if isinstance(location, FileLineColLoc):
        return f"{string_literal(location.filename.data)}:{location.line.data}:{location.column.data}"
    if isinstance(location, NameLoc):
        inner = "" if isinstance(location.location, NoneAttr) else f"({location_body(location.location)})"
        return string_literal(location.desc.data) + inner
    if isinstance(location, CallSiteLoc):
        return f"callsite({location_body(location.callee)} at {location_body(location.caller)})"
    if isinstance(location, FusedLoc):
        metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{attribute_text(location.metadata)}>"
        parts: Any = location.locations
        return f"fused{metadata}[{', '.join(map(location_body, parts.data))}]"
    return "unknown"
