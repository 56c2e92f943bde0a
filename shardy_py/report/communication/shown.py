"""A communication report in a notebook, and its rows. Not here: its text and JSON (`report.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.rows import Row, Rows
from shardy_py.report.communication.collect import CollectiveUse
from shardy_py.report.notebook import Cell, block, short_repr, table_html
from shardy_py.report.tables import bytes_text, seconds_text, type_text

if TYPE_CHECKING:
    from shardy_py.report.communication.report import CollectiveTotal, CommunicationReport

COLUMNS = (
    *("kind", "axes", "value", "function", "shape", "element_type", "bytes", "seconds", "runs"),
    *("is_estimate", "total_bytes", "total_seconds", "op", "operand", "reason", "is_explicit"),
    *("file", "line", "location"),
)
"""The columns of rows."""


def short_text(report: CommunicationReport) -> str:
    """Returns the totals in one line."""
    total = report.total
    size = f"{bytes_text(total.bytes)} in {seconds_text(total.seconds)}"
    facts = (
        f"{counted(len(report.sending), 'sending collective')}",
        size,
        f"partitioner {report.partitioner}",
    )
    return short_repr(type(report), *facts)


def html(report: CommunicationReport) -> str:
    """Returns totals by kind and axes, and the most expensive collectives."""
    total = report.total
    title = f"Communication, partitioner {report.partitioner}, {report.model.name}"
    if not report.sending:
        return block(title, "nothing is sent")
    size = f"each device receives {bytes_text(total.bytes)} in {seconds_text(total.seconds)}"
    ordered = sorted(report.sending, key=lambda use: (-use.total.seconds, -use.total.bytes))
    header = ("collective", "axes", "tensor", "runs", "bytes", "time", "cause", "location")
    uses = table_html(header, map(_cells, ordered[:10]), left=(0, 1, 2, 6, 7), count=len(ordered))
    summary = f"{counted(len(report.sending), 'collective')}; {size}"
    return block(title, summary, _totals("collective", report.by_kind), _totals("axes", report.by_axes), uses)


def _totals(head: str, totals: tuple[CollectiveTotal, ...]) -> Cell:
    rows = [
        (
            each.key,
            f"{each.count:,}",
            f"{each.runs:,}",
            bytes_text(each.cost.bytes),
            seconds_text(each.cost.seconds),
        )
        for each in totals[:10]
        if each.cost.bytes
    ]
    return table_html((head, "count", "runs", "bytes", "time"), rows)


def _axes(use: CollectiveUse) -> str:
    return ", ".join(f"{name}={size}" for name, size in use.axes)


def _cells(use: CollectiveUse) -> tuple[str, ...]:
    runs = f"{use.times:,}{'*' if use.is_estimate else ''}"
    size = bytes_text(use.cost.bytes), seconds_text(use.cost.seconds)
    type_ = type_text(use.type.shape, use.type.element)
    return use.kind, _axes(use), type_, runs, *size, use.cause.reason, use.cause.location


def rows(report: CommunicationReport) -> Rows:
    """Returns a row for each collective, in program order."""
    return [*map(_row, report.collectives)]


def _row(use: CollectiveUse) -> Row:
    cause, place = use.cause, use.cause.position
    cells = (
        *(use.kind, _axes(use), use.value, use.function),
        *("x".join("?" if n is None else str(n) for n in use.type.shape), use.type.element),
        *(use.cost.bytes, use.cost.seconds, use.times, use.is_estimate),
        *(use.total.bytes, use.total.seconds, cause.op, cause.operand, cause.reason, cause.is_explicit),
        *(None if place is None else place.file, None if place is None else place.line, cause.location),
    )
    return dict(zip(COLUMNS, cells, strict=True))
