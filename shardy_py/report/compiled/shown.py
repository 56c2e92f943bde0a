"""The report on a compiled program in a notebook, and its rows. Not here: its text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.rows import Row, Rows
from shardy_py.report.compiled import text
from shardy_py.report.notebook import block, short_repr, table_html
from shardy_py.report.tables import bytes_text

if TYPE_CHECKING:
    from shardy_py.report.compiled.report import CompiledReport, JoinedCollective

COLUMNS = (
    *("name", "computation", "kind", "axes", "tensors", "bytes", "seconds", "runs", "is_estimate"),
    *("total_bytes", "is_async", "overlaps", "changes", "evidence", "is_forecast", "locations"),
)
"""The columns of rows."""


def short_text(report: CompiledReport) -> str:
    """Returns the totals in one line."""
    facts = counted(len(report.collectives), "collective"), bytes_text(report.total.bytes)
    return short_repr(type(report), report.module, *facts)


def html(report: CompiledReport) -> str:
    """Returns the most expensive collectives."""
    ordered = sorted(report.collectives, key=lambda each: -each.total.bytes)
    header = ("collective", "axes", "tensors", "runs", "bytes", "overlaps", "changed", "location")
    uses = table_html(header, map(text.cells, ordered[:10]), left=(0, 1, 2, 5, 6, 7), count=len(ordered))
    size = f"each device receives {bytes_text(report.total.bytes)}"
    return block(f"Compiled program {report.module}", f"{counted(len(ordered), 'collective')}; {size}", uses)


def rows(report: CompiledReport) -> Rows:
    """Returns a row for each collective, in the order of the compiled program."""
    return [*map(_row, report.collectives)]


def _row(each: JoinedCollective) -> Row:
    sent = each.sent
    cells = (
        *(sent.name, sent.computation, sent.kind, text.axes_text(each.axes), text.tensors_text(each)),
        *(each.cost.bytes, each.cost.seconds, sent.runs, sent.is_estimate, each.total.bytes),
        *(sent.overlap.is_async, sent.overlap.count if sent.overlap.is_known else None),
        ", ".join(change.words for change in each.changes),
        None if each.evidence is None else each.evidence.name.lower(),
        *(each.is_forecast, "; ".join(each.locations)),
    )
    return dict(zip(COLUMNS, cells, strict=True))
