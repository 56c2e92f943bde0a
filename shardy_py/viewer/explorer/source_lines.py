"""The lines of Python files around the positions that a program names, where the files are at hand.

Not here: which files are read (`shardy_py.base.source_files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shardy_py.base.source_files import SourceFiles
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_table import ValueTable

AROUND = 4
"""Lines before and after each position."""


def source_lines(table: ValueTable, sources: SourceFiles) -> Mapping[str, Mapping[int, str]]:
    """Returns by file, as the program names it, the lines by number; only of files that can be read."""
    wanted: dict[str, set[int]] = {}
    for location in {id(entry.location): entry.location for entry in table.entries}.values():
        position = position_of(location)
        if position is not None:
            wanted.setdefault(position.file, set()).add(position.line)
    found = {file: _around(sources.lines(file), lines) for file, lines in wanted.items()}
    return {file: lines for file, lines in found.items() if lines}


def _around(text: Sequence[str], positions: set[int]) -> dict[int, str]:
    last = len(text) + AROUND
    near = (range(at - AROUND, at + AROUND + 1) for at in positions if at <= last)
    numbers = sorted({number for each in near for number in each})
    return {number: text[number - 1] for number in numbers if 1 <= number <= len(text)}
