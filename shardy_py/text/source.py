"""Source texts and places in them.

A `Source` maps offsets to lines and columns. Not here: what a location prints as (`location_syntax.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.cursor import NumberedText
from shardy_py.errors import Position
from shardy_py.session import SESSION


@irdl_attr_definition
class FileRangeLoc(ParametrizedAttribute):
    """`"file":1:2 to 3:4`: the location of a stretch of text, which xDSL has no attribute for."""

    name = "builtin.file_line_range"

    filename: StringAttr
    start_line: IntAttr
    start_column: IntAttr
    end_line: IntAttr
    end_column: IntAttr


class Source(NumberedText):
    """A text, the name of its file, and that name as an attribute."""

    @cached_property
    def file_attribute(self) -> StringAttr:
        """The name of the file as an attribute."""
        return StringAttr(self.file)


_new = object.__new__
_integers: dict[int, IntAttr] = SESSION.table("lines and columns")


def _integer(value: int) -> IntAttr:
    """The integer attribute of a line or column, one object a value."""
    found = _integers.get(value)
    if found is None:
        found = _integers[value] = IntAttr(value)
    return found


def source_location(source: Source, offset: int) -> FileLineColLoc:
    """The location attribute of `offset` in `source`, made without xDSL's checks: every op has one."""
    starts = source.line_starts
    line = bisect_right(starts, offset)
    location = _new(FileLineColLoc)
    vars(location).update(
        filename=source.file_attribute,
        line=_integer(line - 1 + source.first_line),
        column=_integer(offset - starts[line - 1] + 1),
    )
    return location


def call_site(callee: Attribute, caller: Attribute) -> CallSiteLoc:
    """`callsite(callee at caller)`, made without xDSL's checks, which do not know every location."""
    location = _new(CallSiteLoc)
    vars(location).update(callee=callee, caller=caller)
    return location


_FRAMEWORK = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]"
    r"(?:chex|einops|equinox|flax|haiku|jax|jaxlib|keras|numpyro|optax|penzai|praxis)[/\\]"
)
"""Files of packages that build models: users look for lines of their own model."""


def position_of(location: Attribute) -> Position | None:
    """The innermost file position that a location attribute names, None if it names none.

    Positions in packages that build models, such as flax, are used only if there is no other.
    """
    first: Position | None = None
    for position in _positions(location):
        if not _FRAMEWORK.search(position.file):
            return position
        first = first or position
    return first


def _positions(location: Attribute) -> Iterator[Position]:
    """All file positions in a location, the innermost frame first."""
    waiting: list[Attribute] = [location]
    while waiting:
        found = waiting.pop()
        if isinstance(found, FileLineColLoc):
            yield Position(found.filename.data, found.line.data, found.column.data)
        elif isinstance(found, FileRangeLoc):
            yield Position(found.filename.data, found.start_line.data, found.start_column.data)
        elif isinstance(found, ArrayAttr):
            members: tuple[Attribute, ...] = found.data  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            waiting.extend(reversed(members))
        elif isinstance(found, ParametrizedAttribute):
            waiting.extend(reversed(found.parameters))
