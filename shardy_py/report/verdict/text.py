"""A verdict as text: the costs, then what to change, then the causes; one screen.

Not here: its values (`model.py`), JSON (`json.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.terminal import lines_text
from shardy_py.report.notebook import block, short_repr, table_html
from shardy_py.report.tables import bytes_text, seconds_text

if TYPE_CHECKING:
    from shardy_py.report.difference import Figures
    from shardy_py.report.verdict.model import CostCause, TriedChange, Verdict

CAUSES_SHOWN = 3
"""Causes in the text: with the changes a screen of 24 lines."""
_LEAST_SHARE = 0.005
"""Causes of a smaller part of the time, which would be 0 %, are only counted."""
_LONGEST_CODE = 90
_WHOSE = {"xla": "XLA's partitioner", "shardy": "Shardy's reshards"}


def headline(verdict: Verdict) -> str:
    """Returns the costs, and what all changes save, in a line."""
    figures = verdict.figures
    if not figures.bytes:
        return "Verdict: the program needs no communication."
    received = f"Verdict: each device receives {bytes_text(figures.bytes)} in {seconds_text(figures.seconds)}"
    sending = [change for change in verdict.changes if not change.is_for_memory]
    if sending:
        after, times = sending[-1].after, counted(len(sending), "change")
        received += f"; {bytes_text(after.bytes)} in {seconds_text(after.seconds)} with {times}"
    for change in verdict.changes[len(sending) :]:
        saved = _sizes(change.before.memory_bytes, change.after.memory_bytes)
        received += f"; memory {saved} with {'another' if sending else 'a change'}"
    return f"{received}."


def verdict_text(verdict: Verdict, most: int = CAUSES_SHOWN) -> str:
    """Returns the costs, the changes and the largest causes, at most `most`."""
    figures = verdict.figures
    if not figures.bytes:
        return lines_text((headline(verdict), *_notes(verdict)))
    count = counted(sum(figures.collectives.values()), "collective")
    whose = f"{count} of {_WHOSE[figures.partitioner]}, {figures.stage}; {verdict.model}"
    memory = f"memory {bytes_text(figures.memory_bytes)}"
    lines = [f"{headline(verdict).rstrip('.')} ({memory}; {whose})", *_changes(verdict)]
    shown = [cause for cause in verdict.causes[:most] if cause.share >= _LEAST_SHARE]
    lines += [line for cause in shown for line in _cause(cause)]
    left = len(verdict.causes) - len(shown) + verdict.others
    lines += [f"  and {counted(left, 'smaller cause')}"] if left > 0 else []
    return lines_text((*lines, *_notes(verdict)))


def _changes(verdict: Verdict) -> Iterator[str]:
    if not verdict.changes:
        yield without_changes(verdict)
    else:
        order = ", in this order, each tried on top of those before" if len(verdict.changes) > 1 else ""
        yield f"What to change{order} ({verdict.tried:,} tried):"
        for number, change in enumerate(verdict.changes, 1):
            yield f"  {number}. {change.words}"
            yield from (f"       {line}" for line in change.code.splitlines())
            yield f"     {effect_text(change)}"
    yield "Largest causes:"


def without_changes(verdict: Verdict) -> str:
    """Returns why a verdict has no changes: some help the causes alone, if the devices have the memory."""
    if verdict.not_tried:
        return f"Changes are not tried: {verdict.not_tried}"
    alone = [cause.best for cause in verdict.causes if cause.best is not None]
    if any(each.after.memory_bytes > each.before.memory_bytes for each in alone):
        return f"No change helps without more memory ({verdict.tried:,} tried)."
    helps = "saves much" if alone else "helps"
    return f"No change that was tried {helps} ({verdict.tried:,} tried)."


def effect_text(change: TriedChange) -> str:
    """Returns what a change does to bytes, time and memory."""
    old, new = change.before, change.after
    text = f"received {_sizes(old.bytes, new.bytes)}, time {_times(old, new)}, "
    text += f"memory {_sizes(old.memory_bytes, new.memory_bytes)}"
    return f"{text}; arguments and results {_sizes(*change.kept)}" if change.keeps_more else text


def saving_text(change: TriedChange) -> str:
    """Returns a change with the bytes received, before and after."""
    kept = f"; arguments and results {_sizes(*change.kept)} on each device" if change.keeps_more else ""
    return lines_text((f"{change.words}  ({_sizes(change.before.bytes, change.after.bytes)}{kept})",))


def _sizes(old: int, new: int) -> str:
    return f"{bytes_text(old)} -> {bytes_text(new)}"


def _times(old: Figures, new: Figures) -> str:
    return f"{seconds_text(old.seconds)} -> {seconds_text(new.seconds)}"


def _cause(cause: CostCause) -> Iterator[str]:
    cost = f"{bytes_text(cause.cost.bytes)}, {seconds_text(cause.cost.seconds)}"
    place = str(cause.position) if cause.position is not None else cause.location
    code = cause.code if len(cause.code) <= _LONGEST_CODE else f"{cause.code[: _LONGEST_CODE - 3]}..."
    yield f"  {cause.share:.0%}  {cost}  {place or '(no location)'}{code and f': {code}'}"
    yield f"       {repeats_text(cause)}: {cause.reason}"
    yield from (f"       {origin}" for origin in cause.origins)
    if cause.step:
        yield f"       change {cause.step} helps"
    elif cause.best is not None:
        yield f"       alone: {cause.best.words}: {effect_text(cause.best)}"


def repeats_text(cause: CostCause) -> str:
    """Returns the collectives of a cause: `16 all_reduce along model, in 8 layers, 8 forward, 8 backward`."""
    kinds = " and ".join(f"{count} {kind}" for kind, count in cause.kinds.items())
    layers = f"in {cause.layers} layers" if cause.layers else ""
    passes = ", ".join(f"{count} {name}" for name, count in cause.phases.items())
    return ", ".join(filter(None, (kinds, layers, passes)))


def _notes(verdict: Verdict) -> Iterator[str]:
    return (f"note: {note}" for note in verdict.notes)


def short(verdict: Verdict) -> str:
    """Returns the verdict in a line, for consoles."""
    return short_repr(type(verdict), headline(verdict).removeprefix("Verdict: ").rstrip("."))


def html(verdict: Verdict) -> str:
    """Returns the verdict for notebooks."""
    changes = (
        (str(number), change.words, effect_text(change)) for number, change in enumerate(verdict.changes, 1)
    )
    causes = (
        (
            *(f"{cause.share:.0%}", bytes_text(cause.cost.bytes), seconds_text(cause.cost.seconds)),
            *(cause.location, cause.code, repeats_text(cause), "; ".join(cause.origins)),
        )
        for cause in verdict.causes
    )
    head = ("share", "bytes", "time", "location", "code", "collectives", "from")
    return block(
        headline(verdict),
        table_html(("", "change", "effect"), changes, left=(1, 2)),
        table_html(head, causes, left=(3, 4, 5, 6)),
    )
