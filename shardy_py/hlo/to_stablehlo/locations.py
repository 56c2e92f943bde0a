"""The metadata of instructions as locations, as XLA's own importer has them.

`metadata={op_name="jit(f)/dot" stack_frame_id=5}` is the name, with the frames of the module's tables, the
innermost first; `source_file` and `source_line` are the file's line. Without a name the location is the name
of the instruction, without a line it is that of the text.
"""

from __future__ import annotations

import re
from functools import cached_property

from xdsl.dialects.builtin import CallSiteLoc, NameLoc, StringAttr
from xdsl.ir import Attribute

from shardy_py.base.errors import WholeFile
from shardy_py.hlo.text import HloModule, Instruction
from shardy_py.hlo.text.frontend import entries, unescaped
from shardy_py.mlir.text.location_syntax import NONE, attribute_of, file_location

_NAMED = re.compile(r'(\d+)\s+"((?:[^"\\]|\\.)*)"')
_FIELDS = re.compile(r"(\d+)\s+(\{[^{}]*\})")
_MAX_FRAMES = 64
"""Frames of one location; deeper stacks lose their outermost ones."""
_MAX_LINE = (1 << 32) - 1


class Locations:
    """The locations of a module's instructions."""

    def __init__(self, module: HloModule) -> None:
        self.module = module
        self._frames: dict[int, Attribute | None] = {}

    def of(self, instruction: Instruction) -> Attribute:
        """The location of an instruction."""
        found = entries(str(instruction.attributes.get("metadata", "{}")))
        name = StringAttr(found.get("op_name") or instruction.name)
        child: Attribute | None = None
        if frame := _number(found.get("stack_frame_id", "")):
            child = self.frame(frame)
        elif file := found.get("source_file"):
            line = _number(found.get("source_line", ""))
            child = file_location(StringAttr(file), line, 0, line, 0)
        child = child or place_of(instruction)
        return attribute_of(NameLoc, desc=name, location=child or NONE)

    def frame(self, number: int) -> Attribute | None:
        """The location of a frame and those that called it; None if the tables lack it."""
        if number in self._frames:
            return self._frames[number]
        places: list[Attribute] = []
        seen: set[int] = set()
        at = number
        while at in self.frames and at not in seen and len(places) < _MAX_FRAMES:
            seen.add(at)
            location, at = self.frames[at]
            if location in self.places:
                places.append(self.places[location])
        found: Attribute | None = None
        for place in reversed(places):
            found = place if found is None else attribute_of(CallSiteLoc, callee=place, caller=found)
        self._frames[number] = found
        return found

    @cached_property
    def frames(self) -> dict[int, tuple[int, int]]:
        """The place of each frame, and the number of the frame that called it; text counts those from 1."""
        table = self._table("StackFrames")
        return {
            number: (_number(row.get("file_location_id", "")), _number(row.get("parent_frame_id", "")) - 1)
            for number, row in table.items()
        }

    @cached_property
    def places(self) -> dict[int, Attribute]:
        """The location in a file, with the name of the function, by number."""
        files, functions = self._names("FileNames"), self._names("FunctionNames")
        made: dict[int, Attribute] = {}
        for number, row in self._table("FileLocations").items():
            file = files.get(_number(row.get("file_name_id", "")))
            if file is None:
                continue
            line, column = _number(row.get("line", "")), _number(row.get("column", ""))
            end_line = max(_number(row.get("end_line", "")), line)
            end_column = _number(row.get("end_column", ""))
            end_column = end_column if end_line > line else max(end_column, column)
            place = file_location(StringAttr(file), line, column, end_line, end_column)
            function = functions.get(_number(row.get("function_name_id", "")))
            made[number] = (
                place
                if function is None
                else attribute_of(NameLoc, desc=StringAttr(function), location=place)
            )
        return made

    def _names(self, table: str) -> dict[int, str]:
        text = self.module.tables.get(table, "")
        return {_number(number): unescaped(name) for number, name in _NAMED.findall(text)}

    def _table(self, name: str) -> dict[int, dict[str, str]]:
        text = self.module.tables.get(name, "")
        return {_number(number): entries(fields) for number, fields in _FIELDS.findall(text)}


def place_of(instruction: Instruction) -> Attribute | None:
    """The place of an instruction in its text; None if it has none."""
    place = instruction.position
    if place is None or isinstance(place, WholeFile):
        return None
    return file_location(StringAttr(place.file), place.line, place.column, place.line, place.column)


def _number(text: str) -> int:
    """The number of a field; 0, which no table has, for anything else or one that is too large."""
    return int(text) if text.isdecimal() and len(text) < 11 and int(text) <= _MAX_LINE else 0
