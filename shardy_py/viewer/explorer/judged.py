"""The verdict as data of the page: its headline, the changes, and the causes with the items that they are at.

Not here: the verdict itself (`shardy_py.report.verdict`), the rest of the data (`document.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from shardy_py.base.json_values import JsonObject
from shardy_py.base.terminal import without_controls
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.verdict import CostCause, Verdict
from shardy_py.report.verdict.text import effect_text, repeats_text, without_changes


def judged(
    verdict: Verdict, report: CommunicationReport, item_of: Callable[[Operation | None], int]
) -> JsonObject:
    """Returns the verdict for the page; item_of: the number of the item of an op, -1 if it has none."""
    made_for = {use.cause.location: use.cause.made_for for use in reversed(report.sending)}

    def cause(each: CostCause) -> JsonObject:
        helps = f"change {each.step}" if each.step else ""
        if not each.step and each.best is not None:
            helps = f"alone: {each.best.words}: {effect_text(each.best)}"
        return {
            "item": item_of(made_for.get(each.location)),
            "share": round(each.share, 4),
            "bytes": each.cost.bytes,
            "place": _text(str(each.position or each.location)),
            "code": _text(each.code),
            "repeats": _text(repeats_text(each)),
            "origins": [*map(_text, each.origins)],
            "helps": _text(helps),
        }

    return {
        "headline": _text(verdict.headline.removeprefix("Verdict: ")),
        "changes": [[_text(c.words), _text(c.code), _text(effect_text(c))] for c in verdict.changes],
        "tried": verdict.tried,
        "without_changes": _text(without_changes(verdict)),
        "causes": [*map(cause, verdict.causes)],
        "others": verdict.others,
        "notes": [*map(_text, verdict.notes)],
    }


def _text(text: str) -> str:
    return without_controls(text)
