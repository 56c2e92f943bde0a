"""The adviser of a result, and its remedies for tensors that are not sharded.

Not here: what is tried (`shardy_py.search.advice`), applying edits (`edited_sources.py`), what edited
programs cost (`trials.py`), the verdict, which tries changes on top of others (`verdicts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.plain import tensor_type
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.search.advice import (
    MOST_VALUES,
    NO_ADVICE,
    NO_PLACEMENTS,
    Advice,
    Adviser,
    Holding,
    PlacementRemedies,
    Proposal,
    placements,
    placing,
)
from shardy_py.search.edited_sources import Sources, language_of
from shardy_py.search.trials import Trials, outcome_of

if TYPE_CHECKING:
    from shardy_py.api.result import Result


class ResultAdvice:
    """The advice on one result, with what it has found out so far: get it by `result.kept(ResultAdvice)`."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._advisers: dict[tuple[int, int | None], tuple[CommunicationReport, Adviser | None]] = {}
        """By the identity of a report, which is kept alive with it, and the tries that are asked for."""
        self._trials: list[Trials] = []

    @cached_property
    def sources(self) -> Sources | None:
        """The source values of those of the propagated program; None without exactly one mesh."""
        return Sources.of_result(self._result)

    def advice(self, report: CommunicationReport, use: CollectiveUse, tries: int | None) -> Advice:
        """Returns the best remedies for a collective of a report; see `Result.advice`."""
        adviser = self.adviser(report) if tries is None else self._adviser(report, tries)
        return NO_ADVICE if adviser is None else adviser.advice(use)

    def adviser(self, report: CommunicationReport, tries: int | None = None) -> Adviser | None:
        """Returns the adviser on the collectives of a report, the same one for the same report and tries.

        None for programs without exactly one mesh, and, unless a number of tries is asked for, for those
        with more than `MOST_VALUES`.
        """
        key = id(report), tries
        if key not in self._advisers:
            is_large = tries is None and len(self._result.values) > MOST_VALUES
            self._advisers[key] = report, None if is_large else self._adviser(report, tries)
        return self._advisers[key][1]

    def _adviser(self, report: CommunicationReport, tries: int | None) -> Adviser | None:
        sources, result = self.sources, self._result
        if sources is None:
            return None
        trials, outcome = Trials(sources, report), outcome_of(result, report)
        trials.know(result, outcome)
        self._trials.append(trials)
        return Adviser(outcome, sources.advised, trials.of, language_of(result.source), tries)

    def forget_trials(self) -> None:
        """Forgets what further tries find again: it is as large as the program, and results live longer."""
        for trials in self._trials:
            trials.forget()

    def placements(self, value: Value, dimensions: Sequence[int], axis: str) -> PlacementRemedies:
        """Returns annotations after which a value is sharded along an axis, in one of `dimensions`, as tried.

        None are tried for values that the source does not have, and for programs without exactly one mesh.
        """
        result, sources = self._result, self.sources
        entry = None if sources is None else sources.entry(value)
        if sources is None or entry is None:
            return NO_PLACEMENTS

        def trial(proposal: Proposal) -> Holding | None:
            try:
                after = sources.after(proposal, record=True)
                own = after.copies(after.source.counterpart(Value(entry, value.meshes), after.source.origin))
                if not own or not _is_along(own[0].sharding, dimensions, axis):
                    return None
                return Holding(_held_bytes(own[0]), after.communication().total.bytes)
            except ShardyError:
                return None

        before = Holding(_held_bytes(value), result.communication().total.bytes)
        proposals = placing(sources.advised, entry, dimensions, axis)
        return placements(proposals, before, trial, language_of(result.source))


def _held_bytes(value: Value) -> int:
    type_ = tensor_type(value.entry.type)
    sharding = None if value.sharding is None else value.sharding.value
    return 0 if type_ is None else tensor_size(type_, sharding, value.meshes, "linear").bytes.local_bytes


def _is_along(sharding: Sharding | None, dimensions: Iterable[int], axis: str) -> bool:
    if sharding is None:
        return False
    return any(each.name == axis for number in dimensions for each in sharding.dimensions[number].axes)
