"""The metadata of instructions as locations, as XLA's own importer has them.

`metadata={op_name="jit(f)/dot" stack_frame_id=5}` is the name, with the frames of the module's tables, the
innermost first. Without a name the location is the name of the instruction, without a line it is that of the
text. Not here: what metadata says (`hlo/text/sources.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import CallSiteLoc, NameLoc, StringAttr
from xdsl.ir import Attribute

from shardy_py.base.errors import WholeFile
from shardy_py.hlo.text import Frame, HloModule, Instruction, SourceOrigins
from shardy_py.mlir.text.location_syntax import NONE, attribute_of, file_location


class Locations:
    """The locations of a module's instructions."""

    def __init__(self, module: HloModule) -> None:
        self._sources = SourceOrigins(module)
        self._known: dict[tuple[Frame, ...], Attribute | None] = {}

    def of(self, instruction: Instruction) -> Attribute:
        """The location of an instruction."""
        origin = self._sources.of(instruction)
        name = StringAttr(origin.name or instruction.name)
        child = self._stack(origin.frames) or place_of(instruction)
        return attribute_of(NameLoc, desc=name, location=child or NONE)

    def _stack(self, frames: tuple[Frame, ...]) -> Attribute | None:
        """The location of a frame and those that called it; None if there is none."""
        if frames not in self._known:
            found: Attribute | None = None
            for frame in reversed(frames):
                place = _place(frame)
                found = place if found is None else attribute_of(CallSiteLoc, callee=place, caller=found)
            self._known[frames] = found
        return self._known[frames]


def _place(frame: Frame) -> Attribute:
    """The location in a file, with the name of the function."""
    place = file_location(StringAttr(frame.file), frame.line, frame.column, frame.end_line, frame.end_column)
    return attribute_of(NameLoc, desc=StringAttr(frame.function), location=place) if frame.function else place


def place_of(instruction: Instruction) -> Attribute | None:
    """The place of an instruction in its text; None if it has none."""
    place = instruction.position
    if place is None or isinstance(place, WholeFile):
        return None
    return file_location(StringAttr(place.file), place.line, place.column, place.line, place.column)
