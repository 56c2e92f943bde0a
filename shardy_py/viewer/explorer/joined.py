"""A compiled program as data of the page: its collectives, each with the forecast ones that it is.

Not here: the join (`shardy_py.report.compiled`), the rows of the forecast (`sent.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.base.json_values import Json, JsonObject
from shardy_py.base.terminal import without_controls
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.compiled import CompiledReport, JoinedCollective
from shardy_py.report.compiled.text import EVIDENCE, axes_text, locations_text, overlap_text, tensors_text


def joined(
    report: CompiledReport, row_of: Callable[[CollectiveUse], int], item_of: Callable[[CollectiveUse], int]
) -> JsonObject:
    """Returns a compiled program for the page.

    row_of: the row of a forecast collective in the data, -1 if it has none. item_of: the item that needs it.
    """
    ordered = sorted(report.collectives, key=lambda each: -each.total.bytes)
    return {
        "module": _text(report.module),
        "stage": _text(report.stage),
        "bytes": [sum(use.total.bytes for use in report.forecast), report.total.bytes],
        "exposed": report.exposed.bytes,
        "collectives": [_collective(report, each, row_of, item_of) for each in ordered],
        "absent": [_absent(use, row_of, item_of) for use in report.absent],
        "memory": [_estimated(report), report.memory.held.total_bytes],
        "warnings": [*map(_text, report.warnings)],
    }


def _collective(
    report: CompiledReport,
    each: JoinedCollective,
    row_of: Callable[[CollectiveUse], int],
    item_of: Callable[[CollectiveUse], int],
) -> JsonObject:
    before: list[Json] = [
        [use.kind, axes_text(use.axes), use.total.bytes, use.times, row_of(use)] for use in each.before
    ]
    items = [item for use in each.before if (item := item_of(use)) >= 0]
    return {
        "name": _text(each.sent.name),
        "kind": each.sent.kind,
        "axes": axes_text(each.axes),
        "tensors": tensors_text(each),
        "bytes": each.total.bytes,
        "runs": each.sent.runs,
        "is_estimate": each.sent.is_estimate,
        "overlap": _text(overlap_text(each)),
        "changes": [_text(change.words) for change in each.changes],
        "evidence": "" if each.evidence is None else EVIDENCE[each.evidence],
        "is_forecast": each.is_forecast,
        "place": _text(locations_text(each.locations)),
        "before": before,
        "item": items[0] if items else -1,
        "origins": [*map(_text, report.origins_of(each))],
    }


def _absent(
    use: CollectiveUse, row_of: Callable[[CollectiveUse], int], item_of: Callable[[CollectiveUse], int]
) -> list[Json]:
    """Kind, axes, bytes, runs, place, item, row."""
    words = use.kind, axes_text(use.axes), use.total.bytes, use.times, _text(use.cause.location)
    return [*words, item_of(use), row_of(use)]


def _estimated(report: CompiledReport) -> int | None:
    return None if report.memory.estimate is None else report.memory.estimate.total_bytes


def _text(text: str) -> str:
    return without_controls(text)
