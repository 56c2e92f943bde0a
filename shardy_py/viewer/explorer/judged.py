"""The verdict as data of the page: its headline, the changes with what they remove, and the causes.

Collectives are named by their rows in the data. Not here: the verdict itself (`shardy_py.report.verdict`),
the rows (`sent.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from xdsl.ir import Operation

from shardy_py.base.json_values import Json, JsonObject
from shardy_py.base.terminal import without_controls
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.communication.report import by_cause
from shardy_py.report.verdict import (
    CollectivePlace,
    CostCause,
    SourceFix,
    TriedChange,
    Verdict,
    cost_groups,
)
from shardy_py.report.verdict.text import effect_text, repeats_text, without_changes

Lines = Callable[[str], Sequence[str]]
"""Finds the lines of a file by its name; none if it cannot be read."""


def judged(
    verdict: Verdict,
    report: CommunicationReport,
    item_of: Callable[[Operation | None], int],
    lines: Lines,
) -> JsonObject:
    """Returns the verdict for the page.

    item_of: the number of the item of an op, -1 if it has none. lines: of source files that can be read.
    """
    rows: dict[CollectivePlace, list[int]] = {}
    for number, use in enumerate(report.sending):
        for part in by_cause(use):
            rows.setdefault(CollectivePlace.of(part), []).append(number)

    def change(each: TriedChange) -> JsonObject:
        return _change(each, rows, lines)

    def cause(each: CostCause, numbers: Sequence[int], made_for: Operation | None) -> JsonObject:
        return {
            "item": item_of(made_for),
            "rows": [*numbers],
            "share": round(each.share, 4),
            "bytes": each.cost.bytes,
            "seconds": each.cost.seconds,
            "place": _text(str(each.position or each.location)),
            "code": _text(each.code),
            "repeats": _text(repeats_text(each)),
            "reason": _text(each.reason),
            "origins": [*map(_text, each.origins)],
            "step": each.step,
            "best": None if each.best is None else change(each.best),
        }

    groups = zip(verdict.causes, cost_groups(report), strict=False)
    return {
        "headline": _text(verdict.headline.removeprefix("Verdict: ")),
        "changes": [*map(change, verdict.changes)],
        "tried": verdict.tried,
        "without_changes": _text(without_changes(verdict)),
        "causes": [cause(each, group.numbers, group.first.cause.made_for) for each, group in groups],
        "others": verdict.others,
        "notes": [*map(_text, verdict.notes)],
    }


def _change(change: TriedChange, rows: dict[CollectivePlace, list[int]], lines: Lines) -> JsonObject:
    """A change with the rows of what it removes and makes cheaper, and what it adds."""
    gone: list[Json] = []
    less: list[Json] = []
    for effect in change.effects:
        if effect.after < effect.before:
            (gone if effect.after == 0 else less).extend(rows.get(effect.place, ()))
    added = sorted((e for e in change.effects if e.after > e.before), key=lambda e: e.place.kind)
    kinds = [(kind, [*each]) for kind, each in groupby(added, key=lambda effect: effect.place.kind)]
    return {
        "words": _text(change.words),
        "code": _text(change.code),
        "effect": _text(effect_text(change)),
        "bytes": [change.before.bytes, change.after.bytes],
        "seconds": [change.before.seconds, change.after.seconds],
        "removed": gone,
        "less": less,
        "added": [[kind, len(each), sum(e.after - e.before for e in each)] for kind, each in kinds],
        "edits": [*edited_lines(change.fixes, lines)],
    }


def edited_lines(fixes: Iterable[SourceFix], lines: Lines) -> Iterator[list[Json]]:
    """Yields file, line, the text of the line and the new one, of fixes within a line of a file at hand."""
    for fix in fixes:
        text = lines(fix.start.file)
        if fix.start.line != fix.end.line or not 0 < fix.start.line <= len(text):
            continue
        line = text[fix.start.line - 1].encode()  # columns are of bytes
        new = line[: fix.start.column] + fix.new.encode() + line[fix.end.column :]
        words = (_text(each.decode(errors="replace").strip()) for each in (line, new))
        yield [_text(fix.start.file), fix.start.line, *words]


def _text(text: str) -> str:
    return without_controls(text)
