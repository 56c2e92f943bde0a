"""Diagnostics as MLIR prints them: `file:line:column: error: message`, the source line, a caret.

Not here: the values themselves (`errors.py`), positions (the reader sets them).

>>> source = {"x.mlir": "module {\\n  oops\\n}\\n"}
>>> print(render(Diagnostic("expected operation name in quotes", Position("x.mlir", 2, 3)), source))
x.mlir:2:3: error: expected operation name in quotes
  oops
  ^
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shardy_py.errors import Diagnostic
from shardy_py.terminal import without_controls

_TAB_STOP = 8


_SHOWN = 200
"""Characters of a source line that are shown at most."""
_LONGEST_MESSAGE = 4_000
"""Characters of a message that are shown at most: a name in it may be as long as the input."""


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
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE // 2]} ... {message[-_LONGEST_MESSAGE // 2 :]}"
        place = without_controls(str(position), lines=False) if position else "<unknown>:0"
        yield f"{place}: {diagnostic.severity}: {without_controls(message)}"
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
