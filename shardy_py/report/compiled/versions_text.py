"""The differences between two compiled programs as text and JSON. Not here: finding it (`versions.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from shardy_py.base.json_values import JsonObject
from shardy_py.report.communication.as_compiled import kind_totals
from shardy_py.report.compiled.memory import NO_LINE, PARTS
from shardy_py.report.tables import bytes_text, table

if TYPE_CHECKING:
    from shardy_py.report.compiled.versions import SentKind, VersionChange, VersionsReport

SCHEMA = 1
_SHOWN = 20


def versions_text(report: VersionsReport, most: int = _SHOWN) -> str:
    """Returns what differs: totals, collectives by line, memory."""
    head = f"{report.names[0]} as two compilers made it"
    if not report:
        return f"{head}: no differences"
    parts = [head]
    if report.changes:
        parts += [_totals(report), _changes(report, most)]
    else:
        parts.append("The collectives are the same.")
    parts.append(_memory(report))
    if report.buffers:
        rows = [(each.location, bytes_text(each.before), bytes_text(each.after)) for each in report.buffers]
        parts.append(table([("held at once by", "before", "after"), *rows[:most]], omitted=len(rows) - most))
    return "\n\n".join(parts)


def _totals(report: VersionsReport) -> str:
    sides = [
        kind_totals((each.kind, each.runs, each.made_bytes * each.runs) for each in side)
        for side in report.collectives
    ]
    header = ("collective", "before", "runs", "results", "after", "runs", "results")
    kinds = dict.fromkeys(kind for side in sides for kind in side)
    nothing = ("-", "-", "-")
    return table(
        [header, *((kind, *(cell for side in sides for cell in side.get(kind, nothing))) for kind in kinds)]
    )


def _changes(report: VersionsReport, most: int) -> str:
    rows = [row for change in report.changes[:most] for row in _rows(change)]
    header = ("line", "", "collective", "devices", "tensor", "count", "runs", "results")
    return table([header, *rows], (0, 1, 2, 3, 4), omitted=len(report.changes) - most)


def _rows(change: VersionChange) -> Iterator[tuple[str, ...]]:
    """The collectives of a line that only one side has, or in another number."""
    location = change.location or NO_LINE
    for mark, own, other in (("-", change.before, change.after), ("+", change.after, change.before)):
        for kind, (count, size) in own.items():
            if other.get(kind) == (count, size):
                continue
            words = f"{kind.kind}{' of ' + str(kind.combined) if kind.combined > 1 else ''}"
            words += "" if kind.is_exposed else ", overlapped"
            yield (
                location,
                mark,
                words,
                kind.devices,
                kind.type,
                f"{count:,}",
                f"{kind.runs:,}",
                bytes_text(size),
            )
            location = ""


def _memory(report: VersionsReport) -> str:
    old, new = (each.held for each in report.memory)
    rows = [
        (name.removesuffix("_bytes"), bytes_text(getattr(old, name)), bytes_text(getattr(new, name)))
        for name in PARTS
    ]
    by = old.by if old.by == new.by else f"{old.by}, and {new.by}"
    return f"{table([('memory on each device', 'before', 'after'), *rows])}\nby {by}"


def versions_json(report: VersionsReport) -> JsonObject:
    """Returns what differs for JSON; docs/compare.md describes the schema."""
    return {
        "schema": SCHEMA,
        "modules": list(report.names),
        "changes": [
            {
                "location": change.location,
                "before": _kinds(change.before),
                "after": _kinds(change.after),
            }
            for change in report.changes
        ],
        "buffers": [
            {"location": each.location, "before": each.before, "after": each.after} for each in report.buffers
        ],
        "memory": [each.to_json() for each in report.memory],
    }


def _kinds(found: Mapping[SentKind, tuple[int, int]]) -> list[JsonObject]:
    return [
        {
            "kind": each.kind,
            "devices": each.devices,
            "type": each.type,
            "runs": each.runs,
            "combined": each.combined,
            "is_exposed": each.is_exposed,
            "count": count,
            "bytes": size,
        }
        for each, (count, size) in found.items()
    ]
