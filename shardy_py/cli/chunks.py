"""The programs of one source, between lines that start with a marker.

>>> [chunk.first_line for chunk in split_chunks("module {\\n}\\n// -----\\nmodule {\\n}\\n", SPLIT_MARKER)]
[1, 4]

Not here: what a run makes of each (`driver.py`), expected diagnostics (`expectations.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.base.errors import Position, WholeFile
from shardy_py.base.inputs.files import ProgramContent
from shardy_py.base.records import dataclass

SPLIT_MARKER = "// -----"


@dataclass(frozen=True, slots=True)
class Chunk(ProgramContent):
    """A program within a source; `first_line` is its line in the file."""

    first_line: int = 1

    def place(self, file: str) -> Position:
        """The offset at which it begins in a file."""
        return WholeFile(file) if isinstance(self.content, bytes) else Position(file, self.first_line, 1)


def split_chunks(source: str | bytes, marker: str | None) -> Iterator[Chunk]:
    """The parts of a source between lines that start with `marker`, also behind the `//` of a comment."""
    if isinstance(source, bytes) or not marker:
        yield Chunk(source)
        return
    start = 0
    lines = source.split("\n")
    for number, line in enumerate([*lines, marker]):
        if line.startswith(marker) or (line[:2] == "//" and line[2:].lstrip().startswith(marker)):
            yield Chunk("\n".join(lines[start:number]) + "\n", start + 1)
            start = number + 1
