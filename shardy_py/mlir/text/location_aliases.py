"""Definitions of aliases of locations as MLIR prints them, a line each: half the lines of a program of JAX.

    #loc1 = loc("model.py":3:7 to :12)
    #loc2 = loc("jit(f)/mul"(#loc1))
    #loc3 = loc(callsite(#loc1 at #loc2))

Each is read by one expression, without tokens. Not here: all other spellings (`location_syntax.py`), which
also report what is wrong.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import NameLoc, UnknownLoc
from xdsl.ir import Attribute

from shardy_py.mlir.text.builtin_attributes import string_attribute
from shardy_py.mlir.text.cursor import MAX_ALIAS_SIZE, MAX_NESTING, Cursor
from shardy_py.mlir.text.location_syntax import LOCATIONS, NONE, attribute_of, file_location
from shardy_py.mlir.text.source import call_site

_DEFINITION = re.compile(
    r"""\#([A-Za-z_]\w*+)\ =\ loc\((?:
        "([^"\\\n\v\f]*+)"(?:
            \(\#([A-Za-z_]\w*+)\)
          | :([0-9]{1,9}):([0-9]{1,9})(?:\ to\ ([0-9]{0,9}):([0-9]{1,9}))?
        )?
      | callsite\(\#([A-Za-z_]\w*+)\ at\ \#([A-Za-z_]\w*+)\)
    )\)\n""",
    re.VERBOSE | re.ASCII,
)
_DEPTH, _DEPTH_AROUND = 2, 3
"""The levels that a definition without aliases takes, and those around an alias within it."""


class LocationAliases:
    """Locations by the names of their aliases, of a run of lines.

    start, end: the offsets of the run; equal where there is none.
    """

    def __init__(self, cursor: Cursor, start: int) -> None:
        """Reads lines from `start` on, up to the first that is no definition of this kind, or has a fault."""
        self.locations: dict[str, Attribute] = {}
        self.extents: dict[str, tuple[int, int]] = {}
        self.start = start
        self.end = self._read(cursor)

    def _read(self, cursor: Cursor) -> int:
        text, outer, outer_extents = cursor.text, cursor.aliases, cursor.alias_extents
        locations, extents, match_at, at = self.locations, self.extents, _DEFINITION.match, self.start
        while match := match_at(text, at):
            name, string, inner, line, column, end_line, end_column, callee, caller = match.groups()
            if name in outer or name in locations:
                break
            used = (inner,) if inner is not None else () if callee is None else (callee, caller)
            depth, size = _DEPTH, 0
            found: list[Attribute] = []
            for alias in used:
                location = locations.get(alias)
                if location is not None:
                    own_depth, own_size = extents[alias]
                else:
                    location = outer.get(alias)
                    if not isinstance(location, LOCATIONS):
                        return at
                    own_depth, own_size = outer_extents["#" + alias]
                depth = max(depth, own_depth + _DEPTH_AROUND)
                size += own_size + 1
                found.append(location)
            if depth > MAX_NESTING or size > MAX_ALIAS_SIZE:
                break
            if callee is not None:
                made: Attribute = call_site(*found)
            elif line is not None:
                stretch = int(line), int(column), int(end_line or line), int(end_column or column)
                made = file_location(string_attribute(string), *stretch)
            else:
                place = NONE if not found or type(found[0]) is UnknownLoc else found[0]
                made = attribute_of(NameLoc, desc=string_attribute(string), location=place)
            locations[name], extents[name] = made, (depth, size)
            at = match.end()
        return at

    def define(self, cursor: Cursor) -> None:
        """Defines the aliases, the cursor at their start, and moves it behind them."""
        cursor.aliases.update(self.locations)
        cursor.alias_extents.update({"#" + name: extent for name, extent in self.extents.items()})
        cursor.move_to(self.end)


def aliases_at_end(cursor: Cursor) -> LocationAliases:
    """The aliases behind the module, where MLIR prints those that only operations use."""
    text = cursor.text
    start = text.find("\n", text.rfind("\n}") + 1) + 1
    return LocationAliases(cursor, start if start else len(text))
