"""Findings in a notebook, and their rows. Not here: text, JSON and SARIF (`texts.py`, `sarif.py`)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shardy_py.base.counting import counted
from shardy_py.base.rows import Row, Rows, Tabular
from shardy_py.check.finding import LEVELS, Finding
from shardy_py.check.grouping import grouped
from shardy_py.report.notebook import block, short_repr, table_html
from shardy_py.report.tables import bytes_text

COLUMNS = (
    *("code", "level", "message", "remedy", "function", "subject", "file", "line", "column"),
    *("location", "bytes", "times", "kind", "axes", "fingerprint"),
)
"""The columns of rows."""


class Findings(tuple[Finding, ...], Tabular):
    """The findings in a program, by place in the source, then by code."""

    __slots__ = ()
    columns = COLUMNS

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no findings"

    def __repr__(self) -> str:
        levels = Counter(finding.level for finding in self)
        found = [counted(levels[level], level) for level in LEVELS[::-1] if levels[level]]
        return short_repr(Findings, *(found or ["none"]))

    def to_rows(self) -> Rows:
        """Returns a row for each finding, of plain values."""
        return [*map(_row, self)]

    def _repr_html_(self) -> str:
        """A table, with the findings of one line as one."""
        groups = grouped(self)
        cells = (
            (
                *(group.first.level, group.first.code, f"{group.count:,}", bytes_text(group.bytes)),
                *(group.first.message, group.first.remedy, str(group.first.position or group.first.location)),
            )
            for group in groups[:20]
        )
        header = ("level", "rule", "count", "bytes", "finding", "remedy", "location")
        table = table_html(header, cells, left=(0, 1, 4, 5, 6), count=len(groups))
        return block(counted(len(self), "finding") if self else "no findings", table)


def _row(finding: Finding) -> Row:
    fields: dict[str, Any] = {**finding.to_json(), "axes": ", ".join(finding.axes)}
    return {name: fields[name] for name in COLUMNS}
