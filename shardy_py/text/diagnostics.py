"""Diagnostics as MLIR prints them: `file:line:column: error: message`, the source line, a caret.

Not here: the values themselves (`errors.py`), positions (the reader sets them).

>>> source = {"x.mlir": "module {\\n  oops\\n}\\n"}
>>> print(render(Diagnostic("expected operation name in quotes", Position("x.mlir", 2, 3)), source))
x.mlir:2:3: error: expected operation name in quotes
  oops
  ^
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.errors import Diagnostic, Position

_TAB_STOP = 8


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """A diagnostic with its notes; `sources` holds the text of each file by its name in positions."""
    place = diagnostic.where or "<unknown>:0"
    lines = [f"{place}: {diagnostic.severity}: {diagnostic.message}"]
    lines += _excerpt(diagnostic.where, sources)
    lines += (render(note, sources) for note in diagnostic.notes)
    return "\n".join(lines)


def _excerpt(position: Position | None, sources: Mapping[str, str]) -> list[str]:
    """The source line and the caret under its column."""
    if position is None or position.file not in sources:
        return []
    lines = sources[position.file].split("\n")
    if position.line > len(lines):
        return []
    line = lines[position.line - 1].rstrip("\r")
    before = line[: position.column - 1].expandtabs(_TAB_STOP)
    return [line.expandtabs(_TAB_STOP), " " * len(before) + "^"]
