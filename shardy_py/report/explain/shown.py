"""Explanations in a notebook, and the outline of many. Not here: their text (`explanation.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.terminal import lines_text
from shardy_py.report.notebook import Cell, Html, block, preformatted, short_repr, table_html

if TYPE_CHECKING:
    from shardy_py.report.explain.explanation import AxisExplanation, Chain, Explanation, Reason, Reasons

_SHOWN = 4
_LONGEST_WAY = 12
"""Names of one way in an outline."""


def short_explanation(explanation: Explanation) -> str:
    """Returns the value and its sharding in one line."""
    return short_repr(type(explanation), str(explanation.place), explanation.sharding or "no sharding")


def short_explanations(explanations: tuple[Explanation, ...]) -> str:
    """Returns the explained values in one line."""
    return short_repr(type(explanations), *(str(each.place) for each in islice(explanations, 8)))


def outline(explanations: Sequence[Explanation]) -> Iterator[str]:
    """Returns the lines of an outline: for each value its annotations and the names on their ways.

    Ways to values further down that begin as one above are shown from where they part.
    """
    above: set[tuple[str, ...]] = set()
    for explanation in explanations:
        count = len(explanation.alike) + 1
        alike = f"  (x{count}: also {explanation.alike[0]} ...)" if count > 1 else ""
        place = explanation.place
        yield f"{place} : {explanation.type}{place.bracketed_location}{alike}"
        yield f"  sharding {explanation.sharding or 'none'}"
        for names, axes in _by_way(explanation.axes):
            yield f"    {axes}"
            if len(names) > 1:
                yield f"      -> {' -> '.join(_names_of_way(names, above))}"
    first = next((each.place.name for each in explanations if each.place.name), "")
    if first:
        yield f"Each step is in the explanation of one value, such as {first}."


def _by_way(axes: Iterable[AxisExplanation]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Returns each way with its axes and annotation; axes of one way and annotation are together."""
    ways: dict[tuple[str, tuple[str, ...]], list[AxisExplanation]] = {}
    for axis in axes:
        chain = axis.chains[0] if axis.chains else None
        origin = "by a pass" if chain is None else f"from {chain.annotation.line}"
        others = len(axis.chains) - 1
        more = f", and {counted(others, 'other annotation')} that agree" if others > 0 else ""
        ways.setdefault((origin + more, _way(chain)), []).append(axis)
    for (origin, names), alike in ways.items():
        dimensions = " and ".join(
            f"dim {each.dimension} along {each.axis}"
            if each.role == "sharded"
            else f"{each.role} along {each.axis}"
            for each in alike
        )
        yield names, f"{dimensions} {origin}"


def _way(chain: Chain | None) -> tuple[str, ...]:
    return () if chain is None else tuple(link.target.name or link.target.op for link in chain.links)


def _names_of_way(names: tuple[str, ...], above: set[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the names of a way: of a long one the first and last, and of one begun above only its end."""
    begun = max((at for at in range(len(names)) if names[:at] in above), default=0)
    above.update(names[:at] for at in range(2, len(names) + 1))
    left = names[max(begun - 1, 0) :]
    head = ("...",) if begun > 1 else ()
    if len(left) <= _LONGEST_WAY + 1:
        return (*head, *left)
    half = _LONGEST_WAY // 2
    return (*head, *left[:half], f"... {len(left) - 2 * half} more", *left[-half:])


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
