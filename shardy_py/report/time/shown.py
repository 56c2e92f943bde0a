"""A time report in a notebook, and its rows. Not here: its text and JSON (`report.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.rows import Row, Rows
from shardy_py.report.notebook import block, short_repr, table_html
from shardy_py.report.tables import bytes_text, seconds_text

if TYPE_CHECKING:
    from shardy_py.report.time.graph import TimedNode
    from shardy_py.report.time.report import TimeReport

COLUMNS = (
    *("op", "bound", "axes", "runs", "seconds", "total_seconds", "flops", "transcendentals", "bytes"),
    *("fused", "location"),
)
"""The columns of rows."""


def short_text(report: TimeReport) -> str:
    """Returns the interval and what bounds it in one line."""
    low, high = (seconds_text(seconds) for seconds in report.seconds)
    return short_repr(type(report), report.hardware.name, f"{low} to {high}", f"bound by {report.bound}")


def html(report: TimeReport) -> str:
    """Returns the interval, the seconds by resource, and the nodes that take longest."""
    low, high = (seconds_text(seconds) for seconds in report.seconds)
    least, best = report.mfu
    title = f"Time of a step on {report.devices} x {report.hardware.name}"
    facts = (
        f"{low} with perfect overlap, {high} without; bound by {report.bound}; MFU {least:.1%} to {best:.1%}"
    )
    busy = [("compute", seconds_text(report.compute)), ("memory", seconds_text(report.memory_bound))]
    busy += [(f"links of {axes}", seconds_text(seconds)) for axes, seconds in report.by_axes.items()]
    nodes = sorted(report.nodes(), key=lambda item: -item[0].seconds * item[1])
    rows = [_cells(node, runs) for node, runs in nodes[:10]]
    head = ("op", "bound by", "runs", "bytes", "time", "total", "location")
    listed = table_html(head, rows, left=(0, 1, 6), count=len(nodes))
    return block(title, facts, table_html(("resource", "busy"), busy), listed)


def _cells(node: TimedNode, runs: float) -> tuple[str, ...]:
    bound = f"links of {', '.join(node.axes)}" if node.axes else node.bound
    times = seconds_text(node.seconds), seconds_text(node.seconds * runs)
    return node.name, bound, f"{runs:,.10g}", bytes_text(round(node.bytes)), *times, node.location


def rows(report: TimeReport) -> Rows:
    """Returns a row for each group of ops and collective, in program order."""
    return [_row(node, runs) for node, runs in report.nodes()]


def _row(node: TimedNode, runs: float) -> Row:
    work = node.work
    cells = (
        *(node.name, node.bound, ", ".join(node.axes), runs, node.seconds, node.seconds * runs),
        *(work.all_flops, work.transcendentals, node.bytes, len(node.members), node.location),
    )
    return dict(zip(COLUMNS, cells, strict=True))
