"""Source texts, places in them, and diagnostics as MLIR prints them.

A `Source` maps offsets to lines and columns; a diagnostic is printed as `file:line:column: error: message`,
the source line, a caret. Not here: what a location prints as (`location_syntax.py`).

>>> source = {"x.mlir": "module {\\n  oops\\n}\\n"}
>>> print(render(Diagnostic("expected operation name in quotes", Position("x.mlir", 2, 3)), source))
x.mlir:2:3: error: expected operation name in quotes
  oops
  ^
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, IntAttr, NameLoc, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.base.cursor import NumberedText
from shardy_py.base.errors import Diagnostic, Position, WholeFile
from shardy_py.base.session import SESSION, Identities
from shardy_py.base.source_files import is_framework
from shardy_py.base.terminal import without_controls


@irdl_attr_definition
class FileRangeLoc(ParametrizedAttribute):
    """`"file":1:2 to 3:4`: the location of a stretch of text, which xDSL has no attribute for."""

    name = "builtin.file_line_range"

    filename: StringAttr
    start_line: IntAttr
    start_column: IntAttr
    end_line: IntAttr
    end_column: IntAttr


_new, _set = object.__new__, object.__setattr__
_integers: dict[int, IntAttr] = SESSION.table("lines and columns")


_MOST_KNOWN = 1 << 16
"""Lines from this one on have attributes of their own: each has few ops, and a table of them is large."""


def numeral(value: int) -> IntAttr:
    """The integer attribute of a line or column, one object a value below `_MOST_KNOWN`."""
    found = _integers.get(value)
    if found is None:
        found = _new(IntAttr)  # without xDSL's checks: every line has one
        _set(found, "data", value)
        if value < _MOST_KNOWN:
            found = _integers.setdefault(value, found)
    return found


class Source(NumberedText):
    """A text, the name of its file, and that name as an attribute."""

    @cached_property
    def file_attribute(self) -> StringAttr:
        """The name of the file as an attribute."""
        return StringAttr(self.file)

    @cached_property
    def places(self) -> Callable[[int], FileLineColLoc]:
        """The location attribute of each offset; this function does not hold the text."""
        return partial(_file_location, self.file_attribute, self.line_starts, self.first_line)


def _file_location(file: StringAttr, line_starts: list[int], first_line: int, offset: int) -> FileLineColLoc:
    """The location attribute of an offset, made without xDSL's checks."""
    line = bisect_right(line_starts, offset)
    location = _new(FileLineColLoc)
    # One by one: a dictionary of its own would double the bytes of each.
    _set(location, "filename", file)
    _set(location, "line", numeral(line - 1 + first_line))
    _set(location, "column", numeral(offset - line_starts[line - 1] + 1))
    return location


def source_location(source: Source, offset: int) -> FileLineColLoc:
    """The location attribute of `offset` in `source`."""
    return source.places(offset)


def call_site(callee: Attribute, caller: Attribute) -> CallSiteLoc:
    """`callsite(callee at caller)`, made without xDSL's checks, which do not know every location."""
    location = _new(CallSiteLoc)
    _set(location, "callee", callee)
    _set(location, "caller", caller)
    return location


_PLACES: Identities[tuple[Position, Position] | None] = SESSION.identities("places of locations")


def position_of(location: Attribute) -> Position | None:
    """The innermost file position that a location attribute names, None if it names none.

    Positions in packages that build models, such as flax, are used only if there is no other.
    """
    stretch = stretch_of(location)
    return None if stretch is None else stretch[0]


def stretch_of(location: Attribute) -> tuple[Position, Position] | None:
    """The position of `position_of` and the end of its stretch of text; the end is the start if unknown."""
    known = _PLACES.get(id(location))
    return _PLACES.remember(location, _stretch_of(location)) if known is None else known[0]


def _stretch_of(location: Attribute) -> tuple[Position, Position] | None:
    if isinstance(location, NameLoc) and not isinstance(location.location, NameLoc):
        return stretch_of(location.location)  # known once for the many names of one place
    first: tuple[Position, Position] | None = None
    for stretch in _stretches(location):
        if not is_framework(stretch[0].file):
            return stretch
        first = first or stretch
    return first


def _stretches(location: Attribute) -> Iterator[tuple[Position, Position]]:
    """All stretches of files in a location, the innermost frame first."""
    waiting: list[Attribute] = [location]
    while waiting:
        found = waiting.pop()
        if isinstance(found, FileLineColLoc):
            start = Position(found.filename.data, found.line.data, found.column.data)
            yield start, start
        elif isinstance(found, FileRangeLoc):
            file = found.filename.data
            start = Position(file, found.start_line.data, found.start_column.data)
            yield start, Position(file, found.end_line.data, found.end_column.data)
        elif isinstance(found, ArrayAttr):
            members: tuple[Attribute, ...] = found.data  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            waiting.extend(reversed(members))
        elif isinstance(found, ParametrizedAttribute):
            waiting.extend(reversed(found.parameters))


def _placed(position: Position) -> Position:
    """The position as it is shown: a file without a line, as MLIR writes it, at its start."""
    is_shown = position.line or isinstance(position, WholeFile)
    return position if is_shown else Position(position.file, 1, 1)


_TAB_STOP = 8


_SHOWN = 200
"""Characters of a source line that are shown at most."""


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """A diagnostic with its notes; `sources` holds the text of each file by its name in positions."""
    return render_all((diagnostic,), sources)


def render_all(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Diagnostics with their notes, one after the other; each source is split into lines once."""
    return "\n".join(_lines(diagnostics, sources, {}))


def _lines(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], split: dict[str, list[str]]
) -> Iterator[str]:
    for diagnostic in diagnostics:
        position, message = diagnostic.where, diagnostic.message
        place = without_controls(str(_placed(position)), lines=False) if position else "<unknown>:0"
        yield f"{place}: {diagnostic.severity}: {without_controls(message, lines=False)}"
        if position is not None and position.file in sources:
            if position.file not in split:
                split[position.file] = sources[position.file].split("\n")
            if 0 < position.line <= len(split[position.file]):
                yield from _excerpt(split[position.file][position.line - 1].rstrip("\r"), position.column)
        yield from _lines(diagnostic.notes, sources, split)


def _excerpt(line: str, column: int) -> Iterator[str]:
    """The source line, or the part around the column, and the caret under the column."""
    start = max(0, min(column - 1, len(line)) - _SHOWN // 2) if len(line) > _SHOWN else 0
    end = start + _SHOWN
    head, tail = "..." if start else "", "..." if end < len(line) else ""
    before = without_controls((head + line[start : column - 1]).expandtabs(_TAB_STOP))
    after = without_controls(line[max(start, column - 1) : end])
    yield f"{(before + after).expandtabs(_TAB_STOP)}{tail}"
    yield " " * len(before) + "^"
