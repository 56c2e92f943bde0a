"""Tries of edits: what the source of a result costs with them, in terms of a report.

    Trials(sources, report).of(proposal, most)

A try is given up as soon as it surely costs more than it may: annotations of arguments and results before
they are propagated, by a study (`boundary_study.py`); others after it by the work of devices, and before the
ops of a GPU are fused, which takes longest, by the least that its collectives cost. Edits after which
programs are equal are planned once. Not here: what is tried (`search/advice`), applying edits
(`edited_sources.py`).
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.communication.of_program import communication
from shardy_py.report.difference import Figures
from shardy_py.report.memory import memory_report
from shardy_py.search.advice import Most, Outcome, Proposal, kept_bytes_of, work_of
from shardy_py.search.edited_sources import Sources

if TYPE_CHECKING:
    from shardy_py.api.result import Result
    from shardy_py.mlir.module_keys import ModuleKeys
    from shardy_py.search.boundary_study import BoundaryStudy

FEWEST_VALUES = 1_000
"""The values of a program from which on studies of it, and keys of edited ones, save time: modules are loaded
for these, and a study is prepared."""


@dataclass(eq=False)
class Trials:
    """Tries edits of one source, whose costs are those of the collectives of a report."""

    sources: Sources
    report: CommunicationReport
    _outcomes: dict[bytes, Outcome] = field(default_factory=dict[bytes, Outcome], init=False)
    """The costs of programs by key, of those that were of use."""
    _useless: set[tuple[bytes, Most]] = field(default_factory=set["tuple[bytes, Most]"], init=False)
    """The keys of programs that cost more than something, or that cannot be planned."""
    _known: tuple[Proposal, Outcome] | None = field(default=None, init=False)
    """The costs of the source with some edits."""
    _studied: tuple[Proposal, BoundaryStudy | None] | None = field(default=None, init=False)
    """The study of the source with some edits."""

    def know(self, result: Result, outcome: Outcome, before: Proposal = ()) -> None:
        """Notes what a result costs that edits are tried on: those that change nothing are not planned.

        before: the edits of the source that it has.
        """
        self._known = before, outcome
        if not self._is_alone:
            self._outcomes[self._keys.of(result.program.module)] = outcome

    def of(self, proposal: Proposal, most: Most, before: Proposal = ()) -> Outcome | None:
        """Returns what the source costs with edits; None if it is invalid, or costs more than the most.

        before: edits that are made, too.
        """
        study = None if self._is_small else self._study(before, proposal)
        try:
            unchanged = None if self._known is None or self._known[0] is not before else self._known[1]
            if study is not None and study.costs_more(proposal, most, unchanged):
                return None
            edits = (*before, *proposal)
            # Of a program with other ops a compiler may prepare the source otherwise.
            has_source = self._prepares or any(edit.rewrite is not None for edit in edits)
            after = self.sources.after(edits, record=False, in_place=not has_source)
        except ShardyError:
            return None
        return self._outcome(after, most) if has_source or self._is_alone else self._outcome_once(after, most)

    def forget(self) -> None:
        """Forgets what further tries find again."""
        self._studied = None
        self._outcomes.clear()
        self._useless.clear()

    def _study(self, before: Proposal, proposal: Proposal) -> BoundaryStudy | None:
        """The study of the source with edits, for further ones; None if it is not needed, or impossible."""
        if self.report.partitioner != "xla" or not _is_of_boundary(proposal):
            return None
        from shardy_py.search.boundary_study import BoundaryStudy

        if self._studied is None or self._studied[0] is not before:
            rewrite = None
            if self._prepares and self.report.stage is not None and self.report.stage.compiler is not None:
                rewrite = self.report.stage.compiler.rewrite
            self._studied = before, BoundaryStudy.of(self.sources, self.report, before, rewrite)
        return self._studied[1]

    @cached_property
    def _is_alone(self) -> bool:
        """True if no two tries have anything in common, or too little to look for it."""
        return self._prepares or self._is_small

    @cached_property
    def _is_small(self) -> bool:
        return len(self.sources.source.values) < FEWEST_VALUES

    @cached_property
    def _keys(self) -> ModuleKeys:
        from shardy_py.mlir.module_keys import ModuleKeys

        return ModuleKeys()

    @cached_property
    def _prepares(self) -> bool:
        """True if a compiler prepares the source otherwise, which then is propagated again."""
        compiler = None if self.report.stage is None else self.report.stage.compiler
        if compiler is None or compiler.rewrite is None or self.report.partitioner != "xla":
            return False
        from shardy_py.xla.targets.of_program import CompiledProgram

        return CompiledProgram.of(self.sources.planned, compiler).is_rewritten

    def _outcome_once(self, result: Result, most: Most) -> Outcome | None:
        """The costs of a result, of several equal ones found once; None: as of `of`."""
        key = self._keys.of(result.program.module)
        known = self._outcomes.get(key)
        if known is not None:
            return known if most.allows(known) else None
        if (key, most) in self._useless:
            return None
        outcome = self._outcome(result, most)
        if outcome is None:
            self._useless.add((key, most))
        else:
            self._outcomes[key] = outcome
        return outcome

    def _outcome(self, result: Result, most: Most) -> Outcome | None:
        work = work_of(result.program.module)
        if work > most.work:
            return None
        try:
            if self._sends_more(result, most):
                return None
            outcome = outcome_of(result, report_like(self.report, result), work)
        except ShardyError:
            return None
        return outcome if most.allows(outcome) else None

    def _sends_more(self, result: Result, most: Most) -> bool:
        """True if collectives surely cost more, however they are combined."""
        compiler = None if self.report.stage is None else self.report.stage.compiler
        if compiler is None or compiler.fused is None or self.report.partitioner != "xla":
            return False  # that takes no time to find
        from shardy_py.report.communication.least import least_cost
        from shardy_py.xla.targets.of_program import CompiledProgram

        made = CompiledProgram.of(result.forecasts.planned_by_xla, compiler)
        least = least_cost(made, self.report.model)
        return not most.allows_sending(least.bytes, least.seconds)


def _is_of_boundary(proposal: Proposal) -> bool:
    """True if edits are annotations of arguments and results only."""
    return all(edit.kind in ("argument", "result") and edit.rewrite is None for edit in proposal)


def report_like(report: CommunicationReport, result: Result) -> CommunicationReport:
    """Returns the report on another result by the partitioner, links and target of a report."""
    module, by, stage = result.program.module, report.partitioner, report.stage
    planned = None if stage is None else lambda: result.forecasts.planned_by_xla
    return communication(module, report.model, partitioner=by, stage=stage, spmd=planned)[1]


def outcome_of(result: Result, report: CommunicationReport, work: float | None = None) -> Outcome:
    """Returns what a result costs, whose collectives are those of a report; work: `work_of`, if known."""
    module, figures = result.program.module, figures_of(result, report)
    known = work_of(module) if work is None else work
    return Outcome(report.sending, figures, kept_bytes_of(module), known)


def figures_of(result: Result, report: CommunicationReport) -> Figures:
    """Returns the figures of a report; the memory of the result is estimated when it is asked for."""
    counts, total = dict(sorted(report.counts.items())), report.total
    layouts = "linear" if report.stage is None else report.stage.placement

    def memory() -> int:
        module, by = result.program.module, report.partitioner
        with releases.of(result.release):
            return memory_report(module, layouts, lambda: result.forecasts.spmd(by)).memory_bytes

    return Figures(
        *(counts, total.bytes, total.seconds, memory, report.partitioner, report.release), report.stage_words
    )
