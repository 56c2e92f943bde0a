"""Lines and columns as the Language Server Protocol counts them: from 0, columns in units of UTF-16.

>>> lines = LineTable("a\\n\\U0001f600b\\n")
>>> lines.offset(1, 2), lines.place(3)
(3, (1, 2))

Not here: positions of diagnostics, which count from 1 (`base/errors.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from shardy_py.base.records import dataclass


@dataclass(frozen=True)
class LineTable:
    """The lines of a text."""

    text: str

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line."""
        found = [0]
        at = self.text.find("\n")
        while at >= 0:
            found.append(at + 1)
            at = self.text.find("\n", at + 1)
        return found

    def line(self, number: int) -> str:
        """Returns a line without its end; "" if there is none."""
        if not 0 <= number < len(self.starts):
            return ""
        start = self.starts[number]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end]

    def offset(self, line: int, column: int) -> int:
        """Returns the offset of a place; the closest one if the place does not exist."""
        if line >= len(self.starts):
            return len(self.text)
        content = self.line(line)
        if content.isascii():
            return self.starts[max(line, 0)] + max(0, min(column, len(content)))
        units = content.encode("utf-16-le", "surrogatepass")[: 2 * max(0, column)]
        return self.starts[max(line, 0)] + len(units.decode("utf-16-le", "ignore"))

    def place(self, offset: int) -> tuple[int, int]:
        """Returns the line and column of an offset."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return line, len(before) if before.isascii() else len(
            before.encode("utf-16-le", "surrogatepass")
        ) // 2

    def offset_of(self, line: int, column: int) -> int:
        """Returns the offset of a position of a diagnostic: line and column from 1, in characters."""
        if not 0 < line <= len(self.starts):
            return 0
        return self.starts[line - 1] + max(0, min(column - 1, len(self.line(line - 1))))
