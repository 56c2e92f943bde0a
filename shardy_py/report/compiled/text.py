"""The report on a compiled program as text. Not here: the report (`report.py`), memory (`memory.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.terminal import lines_text
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.communication.as_compiled import kind_totals
from shardy_py.report.join import JoinEvidence
from shardy_py.report.tables import bytes_text, omission, seconds_text, table, type_text

if TYPE_CHECKING:
    from shardy_py.report.compiled.report import CompiledReport, JoinedCollective

_SHOWN = 20
_PLACES = 4
_NONE = "The compiled program needs no communication, and none was forecast."
EVIDENCE = {
    JoinEvidence.METADATA: "its metadata",
    JoinEvidence.AROUND: "the ops around it",
    JoinEvidence.STRUCTURE: "its place and size",
    JoinEvidence.LINE: "its line",
}
"""The evidence that a collective was joined by, as a phrase."""


def compiled_text(report: CompiledReport, most: int = _SHOWN) -> str:
    """Returns totals of both sides, the collectives, what was not forecast, and memory."""
    head = f"Compiled program {report.module} beside the forecast, {report.stage}"
    head = lines_text([head, *(f"warning: {each}" for each in report.warnings)])
    if not report.collectives and not report.forecast:
        return "\n\n".join([head, _NONE, str(report.memory)])
    parts = [head, _totals(report)]
    if report.collectives:
        parts.append(_collectives(report, most))
        if origins := _origins(report, most):
            parts.append(origins)
    if report.unforeseen:
        parts.append(_unforeseen(report.unforeseen, most))
    if report.absent:
        parts.append(_absent(report.absent, most))
    return "\n\n".join([*parts, _summary(report), str(report.memory)])


def _totals(report: CompiledReport) -> str:
    before = kind_totals((use.kind, use.times, use.total.bytes) for use in report.forecast)
    after = kind_totals((each.sent.kind, each.sent.runs, each.total.bytes) for each in report.collectives)
    kinds = dict.fromkeys((*before, *after))
    header = ("collective", "forecast", "runs", "bytes", "compiled", "runs", "bytes")
    nothing = ("-", "-", "-")
    return table([header, *((kind, *before.get(kind, nothing), *after.get(kind, nothing)) for kind in kinds)])


def _collectives(report: CompiledReport, most: int) -> str:
    ordered = sorted(report.collectives, key=lambda each: -each.total.bytes)
    header = ("collective", "axes", "tensors", "runs", "bytes", "overlaps", "changed", "location")
    rows = [cells(each) for each in ordered[:most]]
    return table([header, *rows], (0, 1, 2, 5, 6, 7), omitted=len(ordered) - most)


def cells(each: JoinedCollective) -> tuple[str, ...]:
    """Returns the cells of a collective."""
    sent = each.sent
    return (
        sent.kind,
        axes_text(each.axes),
        tensors_text(each),
        f"{sent.runs:,}{'*' if sent.is_estimate else ''}",
        bytes_text(each.total.bytes),
        overlap_text(each),
        ", ".join(change.words for change in each.changes),
        locations_text(each.locations),
    )


def axes_text(axes: Iterable[tuple[str, int]]) -> str:
    """Returns axes with their sizes."""
    return ", ".join(f"{name}={size}" for name, size in axes)


def tensors_text(each: JoinedCollective) -> str:
    """Returns the type of what a device sends; of several the largest."""
    values = each.sent.values
    largest = max(values, key=lambda value: value.held_bytes, default=None)
    if largest is None:
        return ""
    rest = f" and {len(values) - 1} more" if len(values) > 1 else ""
    return f"{type_text(largest.held.sizes, largest.held.element)}{rest}"


def overlap_text(each: JoinedCollective) -> str:
    """Returns what runs while data moves."""
    overlap = each.sent.overlap
    if not overlap.is_known:
        return "unknown"
    if overlap.is_exposed:
        return "nothing"
    more = f" and {overlap.count - 1} more" if overlap.count > 1 else ""
    return f"{overlap.names[0]}{more}"


def locations_text(locations: Sequence[str]) -> str:
    """Returns a location; of several the places of the first ones, without the names of ops."""
    if len(locations) < 2:
        return "".join(locations)
    places = [*dict.fromkeys(each.partition(" ")[0] for each in locations)]
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return f"{', '.join(places[:_PLACES])}{more}"


def _origins(report: CompiledReport, most: int) -> str:
    """The annotations that the axes of the most expensive collectives come from, with their bytes."""
    found: dict[str, int] = {}
    for each in sorted(report.collectives, key=lambda each: -each.total.bytes)[:most]:
        for words in report.origins_of(each):
            found[words] = found.get(words, 0) + each.total.bytes
    ordered = sorted(found.items(), key=lambda item: -item[1])
    rows = [(words, bytes_text(size)) for words, size in ordered[:most]]
    return table([("annotations", "bytes"), *rows], omitted=len(ordered) - most) if rows else ""


def _unforeseen(found: Sequence[JoinedCollective], most: int) -> str:
    rows = [
        f"  {each.sent.kind} {each.sent.name}, {tensors_text(each)}, {bytes_text(each.total.bytes)}"
        f"{_at(locations_text(each.locations))}"
        for each in found[:most]
    ]
    return lines_text(["Not forecast, or not as a whole:", *rows, *omission(len(found) - most, "  ")])


def _absent(found: Sequence[CollectiveUse], most: int) -> str:
    rows = [
        f"  {use.kind} along {axes_text(use.axes)}, {bytes_text(use.total.bytes)}{_at(use.cause.location)}"
        for use in found[:most]
    ]
    return lines_text(["Forecast, not in the compiled program:", *rows, *omission(len(found) - most, "  ")])


def _at(location: str) -> str:
    return f"  [{location}]" if location else ""


def _summary(report: CompiledReport) -> str:
    total, exposed = report.total, report.exposed
    count = len(report.collectives)
    lines = [
        f"{counted(count, 'collective')}; each device receives {bytes_text(total.bytes)} "
        f"in {seconds_text(total.seconds)} on {report.model.name}, of it {bytes_text(exposed.bytes)} exposed."
    ]
    by = report.bytes_by_evidence
    whole = sum(by.values())
    if whole:
        shares = [
            f"{size * 100 / whole:.0f} % by {EVIDENCE[each]}" for each, size in by.items() if each and size
        ]
        missing = by.get(None, 0)
        shares += [f"{missing * 100 / whole:.0f} % not at all"] if missing else []
        lines.append(f"Joined with the forecast: {', '.join(shares)}.")
    if any(each.sent.is_estimate for each in report.collectives):
        lines.append("*: inside a loop whose trip count the compiled program does not tell; counted once.")
    return lines_text(lines)
