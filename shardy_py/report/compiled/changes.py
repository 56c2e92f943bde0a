"""How a compiler changed a collective: by what the partitioner's was, and what the compiled program sends.

Not here: what is forecast to change (`xla/targets/`), which collectives these are (`report/join/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shardy_py.base.records import dataclass
from shardy_py.hlo.collectives import HloCollective
from shardy_py.indexing.layout import element_type
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.compiled.forecast import ForecastValue
from shardy_py.report.compiled.sent import CompiledValue


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """A change of a collective, in short words.

    kind: combined, merged, kind, split, hoisted, type, fused or async.
    """

    kind: str
    words: str


Pair = tuple[CompiledValue, tuple[ForecastValue, ...]]
"""A value of a compiled program, and those of the forecast that it is."""
_SUMS = ("all_reduce", "reduce_scatter")


def before_of(pairs: Iterable[Pair]) -> tuple[CollectiveUse, ...]:
    """Returns the collectives of the partitioner that values are, each once."""
    known = {id(use): use for _, values in pairs for value in values for use in value.use.before}
    return tuple(known.values())


def observed_changes(sent: HloCollective, pairs: Sequence[Pair], parts: int) -> tuple[ObservedChange, ...]:
    """Returns how the collectives of the partitioner became one of a compiled program.

    pairs: its values that are joined. parts: the most compiled values that one of the forecast became.
    """
    return tuple(_changes(sent, pairs, parts))


def _changes(sent: HloCollective, pairs: Sequence[Pair], parts: int) -> Iterator[ObservedChange]:
    before = before_of(pairs)
    if len(sent.values) > 1:
        yield ObservedChange("combined", f"{len(sent.values)} combined")
    if len(before) > len(pairs) > 0:
        what = "as one sum" if sent.kind in _SUMS else "as one"
        yield ObservedChange("merged", f"{len(before)} {what}")
    if kinds := [kind for kind in dict.fromkeys(use.kind for use in before) if kind != sent.kind]:
        yield ObservedChange("kind", f"was {' and '.join(kinds)}")
    if parts > 1:
        yield ObservedChange("split", f"one of {parts}")
    times = max((use.times for use in before if not use.is_estimate), default=0)
    if times > sent.runs and parts <= 1 and not sent.is_estimate:
        yield ObservedChange("hoisted", f"out of a loop of {times:,}")
    yield from _types(pairs)
    if sent.form:
        yield ObservedChange("fused", sent.form)
    if sent.overlap.is_async:
        yield ObservedChange("async", "async")


def _types(pairs: Iterable[Pair]) -> Iterator[ObservedChange]:
    """The element types that are not those of the partitioner."""
    words: dict[str, None] = {}
    for compiled, values in pairs:
        new = compiled.item.element
        for old in (use.type.element for value in values for use in value.use.before):
            if old != new:
                wider = element_type(new).bits > element_type(old).bits
                words[f"{old} {'widened' if wider else 'narrowed'} to {new}"] = None
    yield from (ObservedChange("type", each) for each in words)
