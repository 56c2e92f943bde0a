"""SARIF of what is not as forecast in a compiled program, or of what differs between two of them.

Code hosts show it next to source lines. Not here: the reports' own JSON (`json.py`, `versions_text.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shardy_py.base.digests import sha256
from shardy_py.base.errors import Position
from shardy_py.base.json_values import JsonObject
from shardy_py.base.releases import KEY
from shardy_py.base.sarif import physical_location, sarif_log
from shardy_py.report.compiled.origins import position_in
from shardy_py.report.compiled.text import axes_text, overlap_text, tensors_text
from shardy_py.report.tables import bytes_text

if TYPE_CHECKING:
    from shardy_py.report.compiled.report import CompiledReport, JoinedCollective
    from shardy_py.report.compiled.versions import SentKind, VersionsReport

_RULES = (
    ("SDYC001", "unforeseen", "warning", "A compiled collective was not forecast."),
    ("SDYC002", "absent", "note", "A forecast collective is not in the compiled program."),
    ("SDYC003", "exposed", "note", "Devices wait while a collective runs."),
    ("SDYC004", "changed", "warning", "Two compilers send different collectives for a line."),
    ("SDYC005", "memory", "note", "Two compilers hold different amounts of memory for a line."),
)
"""The rules: code, name, level, summary."""


def compiled_sarif(report: CompiledReport, program: str = "") -> JsonObject:
    """Returns a SARIF log of one run.

    program: the file for what has no line, because code hosts reject results without one.
    """
    results = [
        _result(0, f"{_words(each)} was not forecast", position_of(each), program)
        for each in report.unforeseen
    ]
    results += [
        _result(
            1,
            f"{use.kind} along {axes_text(use.axes)}, {bytes_text(use.total.bytes)}, was not compiled",
            use.cause.position,
            program,
        )
        for use in report.absent
    ]
    results += [
        _result(2, f"{_words(each)} overlaps {overlap_text(each)}", position_of(each), program)
        for each in report.collectives
        if each.sent.overlap.is_exposed and each.sent.overlap.is_known and each.total.bytes
    ]
    return _log(results, {KEY: report.release.name, "stage": report.stage})


def versions_sarif(report: VersionsReport, program: str = "") -> JsonObject:
    """Returns a SARIF log of one run: a result for each line whose collectives or buffers differ.

    program: the file for what has no line.
    """
    results: list[JsonObject] = []
    for change in report.changes:
        before, after = _side(change.before), _side(change.after)
        results.append(_result(3, f"sends {after}; before: {before}", _place(change.location), program))
    for each in report.buffers:
        words = f"holds {bytes_text(each.after)} at once; before: {bytes_text(each.before)}"
        results.append(_result(4, words, _place(each.location), program))
    return _log(results, {"modules": list(report.names)})


def _side(kinds: Mapping[SentKind, tuple[int, int]]) -> str:
    """The collectives of a line in words."""
    listed = (
        f"{count} {kind.kind} of {kind.type}, {bytes_text(size)}{'' if kind.is_exposed else ', overlapped'}"
        for kind, (count, size) in kinds.items()
    )
    return " and ".join(listed) or "nothing"


def _place(location: str) -> Position | None:
    """The place `file:line`; None for what has none."""
    file, _, line = location.rpartition(":")
    return Position(file, int(line), 1) if file and line.isdecimal() and line != "0" else None


def _log(results: list[JsonObject], properties: JsonObject) -> JsonObject:
    rules: list[JsonObject] = [
        {
            "id": code,
            "name": name,
            "shortDescription": {"text": summary},
            "defaultConfiguration": {"level": level},
        }
        for code, name, level, summary in _RULES
    ]
    driver: JsonObject = {"name": "sdy-compare", "rules": rules}
    run: JsonObject = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return sarif_log({**run, "properties": properties})


def _words(each: JoinedCollective) -> str:
    axes = axes_text(each.axes)
    return f"{each.sent.kind} along {axes}, {tensors_text(each)}, {bytes_text(each.total.bytes)}"


def position_of(each: JoinedCollective) -> Position | None:
    """Returns the first place of a collective: of the forecast, else of its metadata, else None."""
    known = (use.cause.position for use in each.before)
    return next((place for place in known if place is not None), None) or position_in(each.sent.origin)


def _result(number: int, message: str, place: Position | None, program: str) -> JsonObject:
    code, _, level, _ = _RULES[number]
    at = place or (Position(program, 1, 1) if program else None)
    print_ = sha256(f"{code} {at} {message}".encode()).hexdigest()[:16]
    return {
        "ruleId": code,
        "ruleIndex": number,
        "level": level,
        "message": {"text": message},
        "locations": [] if at is None else [{"physicalLocation": physical_location(at)}],
        "partialFingerprints": {"sdyCompare/v1": print_},
    }
