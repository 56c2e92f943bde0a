"""Explanations in a notebook. Not here: their text (`explanation.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from shardy_py.notebook import Cell, Html, block, counted, preformatted, short_repr, table_html
from shardy_py.terminal import lines_text

if TYPE_CHECKING:
    from shardy_py.report.explain.explanation import Explanation, Reason, Reasons

_SHOWN = 4


def short_explanation(explanation: Explanation) -> str:
    """Returns the value and its sharding in one line."""
    return short_repr(type(explanation), str(explanation.place), explanation.sharding or "no sharding")


def short_explanations(explanations: tuple[Explanation, ...]) -> str:
    """Returns the explained values in one line."""
    return short_repr(type(explanations), *(str(each.place) for each in islice(explanations, 8)))


def short_reason(reason: Reason) -> str:
    """Returns kind and message in one line."""
    return short_repr(type(reason), reason.kind, reason.message)


def short_reasons(reasons: Reasons) -> str:
    """Returns the kinds of the reasons in one line."""
    return short_repr(type(reasons), reasons.title, *(each.kind for each in islice(reasons, 8)))


def explanations_html(explanations: Iterable[Explanation]) -> str:
    """Returns where each axis comes from, for the first values, with the text folded below."""
    listed = [*explanations]
    more = f"and {counted(len(listed) - _SHOWN, 'more value')}" if len(listed) > _SHOWN else ""
    return "".join(map(_explanation, listed[:_SHOWN])) + more


def _explanation(explanation: Explanation) -> str:
    head = f"{explanation.place} : {explanation.type}" if explanation.type else str(explanation.place)
    rows: list[tuple[Cell, ...]] = []
    for axis in explanation.axes:
        subject = f"dim {axis.dimension} is" if axis.role == "sharded" else "it is"
        first = axis.chains[0] if axis.chains else None
        origin = "a pass" if first is None else first.annotation.line
        steps = "" if first is None else f"{len(first.links)}"
        rows.append((f"{subject} {axis.role} along {axis.axis}", origin, steps))
    table = table_html(("sharding", "from", "steps"), rows, left=(0, 1))
    text = Html(f"<details><summary>step by step</summary>{preformatted(str(explanation))}</details>")
    lines = f"sharding {explanation.sharding or 'none'}", explanation.place.location
    return block(head, *lines, table, text if explanation.axes else "")


def reasons_html(reasons: Reasons) -> str:
    """Returns the reasons with remedies; those to try are not tried, which takes long: `print` shows them."""
    lines: list[str] = []
    for reason in reasons:
        lines.append(f"{reason.kind}: {reason.message}")
        if reason.remedy and reasons.tried is None:
            lines.append(f"  to change that: {reason.remedy}")
    more = "print(...) tries remedies" if reasons.tried is not None else ""
    return block(reasons.title, preformatted(lines_text(lines)), more)
