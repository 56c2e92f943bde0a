"""A program beside what a compiler made of it: its collectives, each with the forecast one that it is.

    report = compiled_report(module, forecast, model)
    print(report)

Not here: reading collectives (`hlo/collectives/`), how they are joined (`report/join/`), its text and JSON
(`text.py`, `json.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from math import prod

from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, current
from shardy_py.base.rows import Rows, Tabular
from shardy_py.hardware.cost import AxisSize, Cost, CostModel
from shardy_py.hlo.collectives import HloCollective, collectives_of
from shardy_py.hlo.text import HloModule
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.compiled import json, sarif, shown, text
from shardy_py.report.compiled.changes import ObservedChange, Pair, before_of, observed_changes
from shardy_py.report.compiled.forecast import ForecastValue
from shardy_py.report.compiled.memory import ComparedMemory
from shardy_py.report.compiled.origins import origin_text
from shardy_py.report.compiled.sent import CompiledAxes, compiled_values, cost_of
from shardy_py.report.join import JoinEvidence, joined


@dataclass(frozen=True, eq=False)
class JoinedCollective:
    """A collective of a compiled program, and the forecast collectives that it does the work of.

    sent: as the program has it. axes: of the program's mesh; cost: of one run. before: as XLA's partitioner
    sends them; none: it was not forecast. evidence: the weakest of its values; None: none is joined.
    locations: its source lines, with the names of ops.
    """

    sent: HloCollective
    axes: tuple[AxisSize, ...]
    cost: Cost
    before: tuple[CollectiveUse, ...]
    changes: tuple[ObservedChange, ...]
    evidence: JoinEvidence | None
    locations: tuple[str, ...]
    joined_bytes: int

    @property
    def total(self) -> Cost:
        """The cost of all its runs."""
        return Cost(self.cost.bytes * self.sent.runs, self.cost.seconds * self.sent.runs)

    @property
    def is_forecast(self) -> bool:
        """Returns whether all that it sends was forecast."""
        return self.joined_bytes == self.sent.held_bytes and self.evidence is not None


@dataclass(frozen=True, eq=False)
class CompiledReport(Tabular):
    """The collectives of a compiled program beside the forecast.

    collectives: in the order of the compiled program. absent: of the forecast, those that it has none of.
    forecast: as compiled. stage: of the forecast, in words. module: the name of the compiled program.
    annotations: finds where the axes of a forecast collective come from, a phrase each. warnings: of what may
        be wrong with the comparison.
    """

    module: str
    collectives: tuple[JoinedCollective, ...]
    absent: tuple[CollectiveUse, ...]
    forecast: tuple[CollectiveUse, ...]
    model: CostModel
    stage: str
    memory: ComparedMemory
    annotations: Callable[[CollectiveUse], tuple[str, ...]] = field(compare=False, repr=False)
    release: Release = field(default_factory=current)
    warnings: tuple[str, ...] = ()

    @cached_property
    def unforeseen(self) -> tuple[JoinedCollective, ...]:
        """The collectives that were not forecast, or not as a whole."""
        return tuple(each for each in self.collectives if not each.is_forecast)

    @property
    def is_as_forecast(self) -> bool:
        """Returns whether all collectives were forecast, and all that were forecast are there."""
        return not self.unforeseen and not self.absent

    @cached_property
    def total(self) -> Cost:
        """The cost of all collectives of the compiled program."""
        return sum((each.total for each in self.collectives), Cost())

    @cached_property
    def exposed(self) -> Cost:
        """The cost of those during which devices only wait."""
        return sum((each.total for each in self.collectives if each.sent.overlap.is_exposed), Cost())

    @cached_property
    def bytes_by_evidence(self) -> dict[JoinEvidence | None, int]:
        """The bytes that devices send, by what they were joined with the forecast by; None: by nothing."""
        found = dict.fromkeys((*JoinEvidence, None), 0)
        for each in self.collectives:
            whole = each.total.bytes
            joined_part = whole * each.joined_bytes // max(each.sent.held_bytes, 1)
            found[each.evidence] += joined_part
            found[None] += whole - joined_part
        return {evidence: size for evidence, size in found.items() if size}

    def origins_of(self, collective: JoinedCollective) -> tuple[str, ...]:
        """Returns the annotations that the axes of a collective come from, a phrase each."""
        return tuple(dict.fromkeys(word for use in collective.before for word in self.annotations(use)))

    columns = shown.COLUMNS

    def to_rows(self) -> Rows:
        """Returns a row for each collective of the compiled program, in its order."""
        return shown.rows(self)

    def to_json(self) -> JsonObject:
        """Returns the report for JSON; docs/compare.md describes the schema."""
        return json.compiled_json(self)

    def to_sarif(self, program: str = "") -> JsonObject:
        """Returns what is not as forecast as SARIF; program: the file for what has no line."""
        return sarif.compiled_sarif(self, program)

    def __str__(self) -> str:
        return text.compiled_text(self)

    def __repr__(self) -> str:
        return shown.short_text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)


def joined_collectives(
    module: HloModule, axes: CompiledAxes, forecast: Sequence[ForecastValue], model: CostModel
) -> tuple[tuple[JoinedCollective, ...], tuple[CollectiveUse, ...]]:
    """Returns the collectives of a compiled program, and those of the forecast that it has none of."""
    sent = [each for each in collectives_of(module) if prod(size for _, size in axes.along(each)) > 1]
    values = compiled_values(sent, axes)
    join = joined([value.item for value in values], [value.item for value in forecast])
    parts = join.parts
    by_issue: dict[int, list[int]] = {}
    for number, value in enumerate(values):
        by_issue.setdefault(value.issue, []).append(number)
    found: list[JoinedCollective] = []
    for issue, each in enumerate(sent):
        own = by_issue.get(issue, [])
        matches = {number: join.matches[number] for number in own if number in join.matches}
        pairs = [
            (values[number], tuple(forecast[each] for each in match.forecasts))
            for number, match in matches.items()
        ]
        shared = max((parts[each] for match in matches.values() for each in match.forecasts), default=0)
        along = axes.along(each)
        found.append(
            JoinedCollective(
                each,
                along,
                cost_of(each, along, model),
                before_of(pairs),
                observed_changes(each, pairs, shared),
                max((match.evidence for match in matches.values()), default=None),
                _locations(each, pairs),
                sum(value.value.held_bytes for value, _ in pairs),
            )
        )
    absent = tuple(value.use for number, value in enumerate(forecast) if number not in parts)
    return tuple(found), absent


def _locations(sent: HloCollective, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The places that a collective is sent for: of the forecast, else those of the compiled program."""
    known = (use.cause.location for use in before_of(pairs))
    found = dict.fromkeys(place for place in known if place)
    if not found:
        found = dict.fromkeys(place for place in (origin_text(sent.origin),) if place)
    if not found:
        around = (origin for value in sent.values for origin in (*value.makers, *value.readers)[:1])
        found = dict.fromkeys(place for place in map(origin_text, around) if place)
    return tuple(found)
