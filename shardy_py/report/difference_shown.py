"""Differences of two programs in a notebook, and their rows. Not here: text and JSON (`difference.py`)."""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.base.rows import Row, Rows
from shardy_py.report.difference import Change, Figures
from shardy_py.report.notebook import Colours, Html, sharding_html, table_html
from shardy_py.report.tables import bytes_text, seconds_text

COLUMNS = ("value", "now", "before", "after", "location")
"""The columns of rows."""


def changes_html(changes: tuple[Change, ...], colours: Colours) -> Html:
    """Returns a table of changed shardings."""
    cells = (
        (
            str(each.entry),
            sharding_html(each.before, colours),
            sharding_html(each.after, colours),
            each.location,
        )
        for each in changes[:20]
    )
    return table_html(("changed", "before", "after", "location"), cells, left=range(4), count=len(changes))


def figures_html(before: Figures, after: Figures) -> Html:
    """Returns a table of the costs of both programs."""
    rows = (
        ("collectives", *(f"{sum(each.collectives.values()):,}" for each in (before, after))),
        ("bytes received by each device", *(bytes_text(each.bytes) for each in (before, after))),
        ("time", *(seconds_text(each.seconds) for each in (before, after))),
        ("memory", *(bytes_text(each.memory_bytes) for each in (before, after))),
    )
    return table_html((f"partitioner {before.partitioner}", "before", "after"), rows)


def change_rows(changes: Iterable[Change]) -> Rows:
    """Returns a row for each changed value."""
    return [_row(each) for each in changes]


def _row(change: Change) -> Row:
    sides = (None if side is None else str(side) for side in (change.before, change.after))
    cells = (str(change.entry), str(change.new_entry), *sides, change.location)
    return dict(zip(COLUMNS, cells, strict=True))
