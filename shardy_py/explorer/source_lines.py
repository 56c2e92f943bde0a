"""The lines of Python files around the positions that a program names, where the files are at hand.

Only `.py` files are read: a program from elsewhere can name any file, and a page may be handed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shardy_py.graph.value_table import ValueTable
from shardy_py.text.source import position_of

AROUND = 4
"""Lines before and after each position."""
_LARGEST = 2_000_000
_MOST_FILES = 50


def source_lines(table: ValueTable) -> Mapping[str, Mapping[int, str]]:
    """Returns by file, as the program names it, the lines by number; only of files that can be read."""
    wanted: dict[str, set[int]] = {}
    for location in {id(entry.location): entry.location for entry in table.entries}.values():
        position = position_of(location)
        if position is not None and position.file.endswith(".py"):
            wanted.setdefault(position.file, set()).add(position.line)
    files = list(wanted)[:_MOST_FILES]
    return {file: lines for file in files if (lines := _lines(Path(file), wanted[file]))}


def _lines(path: Path, positions: set[int]) -> dict[int, str]:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        text = path.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    numbers = sorted({n for at in positions for n in range(at - AROUND, at + AROUND + 1)})
    return {number: text[number - 1] for number in numbers if 1 <= number <= len(text)}
