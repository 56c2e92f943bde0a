"""The metadata of instructions: the name of the op, and its lines in the source program.

`metadata={op_name="jit(f)/dot" stack_frame_id=5}` is the name, with the frames of the module's tables, the
innermost first; `source_file` and `source_line` are one frame. Not here: locations of MLIR
(`to_stablehlo/locations.py`).
"""

from __future__ import annotations

import re
from functools import cached_property

from shardy_py.base.records import dataclass
from shardy_py.hlo.text.frontend import entries, unescaped
from shardy_py.hlo.text.values import HloModule, Instruction

_NAMED = re.compile(r'(\d+)\s+"((?:[^"\\]|\\.)*)"')
_FIELDS = re.compile(r"(\d+)\s+(\{[^{}]*\})")
_MAX_FRAMES = 64
"""Frames of one instruction; deeper stacks lose their outermost ones."""
_MAX_LINE = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in the source program, in a function; "": unknown."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of an op, "" if it has none, and its frames, the innermost first."""

    name: str = ""
    frames: tuple[Frame, ...] = ()


NO_ORIGIN = Origin()
"""The origin of an instruction without metadata."""


class SourceOrigins:
    """The origins of a module's instructions."""

    def __init__(self, module: HloModule) -> None:
        self._tables = module.tables
        self._stacks: dict[int, tuple[Frame, ...]] = {}

    def of(self, instruction: Instruction) -> Origin:
        """Returns the origin of an instruction; an empty one if it has no metadata."""
        found = entries(str(instruction.attributes.get("metadata", "{}")))
        name = found.get("op_name", "")
        if number := _number(found.get("stack_frame_id", "")):
            return Origin(name, self.stack(number))
        file, line = found.get("source_file"), _number(found.get("source_line", ""))
        return Origin(name, (Frame(file, line, 0, line),) if file else ())

    def stack(self, number: int) -> tuple[Frame, ...]:
        """Returns a frame of the tables and those that called it; none if the tables lack it."""
        if number not in self._stacks:
            found: list[Frame] = []
            seen: set[int] = set()
            at = number
            while at in self._frames and at not in seen and len(seen) < _MAX_FRAMES:
                seen.add(at)
                place, at = self._frames[at]
                if place in self._places:
                    found.append(self._places[place])
            self._stacks[number] = tuple(found)
        return self._stacks[number]

    @cached_property
    def _frames(self) -> dict[int, tuple[int, int]]:
        """The place of each frame, and the number of the frame that called it; text counts those from 1."""
        return {
            number: (_number(row.get("file_location_id", "")), _number(row.get("parent_frame_id", "")) - 1)
            for number, row in self._rows("StackFrames").items()
        }

    @cached_property
    def _places(self) -> dict[int, Frame]:
        """The places in files, by number."""
        files, functions = self._names("FileNames"), self._names("FunctionNames")
        made: dict[int, Frame] = {}
        for number, row in self._rows("FileLocations").items():
            file = files.get(_number(row.get("file_name_id", "")))
            if file is None:
                continue
            line, column = _number(row.get("line", "")), _number(row.get("column", ""))
            end_line = max(_number(row.get("end_line", "")), line)
            end_column = _number(row.get("end_column", ""))
            end_column = end_column if end_line > line else max(end_column, column)
            function = functions.get(_number(row.get("function_name_id", "")), "")
            made[number] = Frame(file, line, column, end_line, end_column, function)
        return made

    def _names(self, table: str) -> dict[int, str]:
        text = self._tables.get(table, "")
        return {_number(number): unescaped(name) for number, name in _NAMED.findall(text)}

    def _rows(self, name: str) -> dict[int, dict[str, str]]:
        text = self._tables.get(name, "")
        return {_number(number): entries(fields) for number, fields in _FIELDS.findall(text)}


def _number(text: str) -> int:
    """The number of a field; 0, which no table has, for anything else or one that is too large."""
    return int(text) if text.isdecimal() and len(text) < 11 and int(text) <= _MAX_LINE else 0
