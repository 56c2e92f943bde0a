"""Tries of edits: what the source of a result costs with them, in terms of a report.

    Trials(sources, report).of(proposal, most)

A try is given up as soon as it surely costs more than it may: after propagation by the work of devices, and
before the ops of a GPU are fused, which takes longest, by the least that its collectives cost. Edits after
which programs are equal are propagated, and planned once. Not here: what is tried (`shardy_py.search.advice`),
applying edits (`edited_sources.py`).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.digests import ModuleDigests
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.communication.of_program import communication
from shardy_py.report.communication.least import least_cost
from shardy_py.report.difference import Figures
from shardy_py.report.memory import memory_report
from shardy_py.search.advice import Most, Outcome, Proposal, work_of
from shardy_py.search.edited_sources import Sources
from shardy_py.xla.targets.of_program import CompiledProgram

if TYPE_CHECKING:
    from shardy_py.api.result import Result


@dataclass(eq=False)
class Trials:
    """Tries edits of one source, whose costs are those of the collectives of a report."""

    sources: Sources
    report: CommunicationReport
    _outcomes: dict[bytes, Outcome] = field(default_factory=dict[bytes, Outcome], init=False)
    """The costs of programs by digest, of those that were of use."""
    _useless: set[tuple[bytes, Most]] = field(default_factory=set["tuple[bytes, Most]"], init=False)
    """The digests of programs that cost more than something, or that cannot be planned."""
    _digests: ModuleDigests = field(default_factory=ModuleDigests, init=False)

    def know(self, result: Result, outcome: Outcome) -> None:
        """Notes what a result costs that edits are tried on: those that change nothing are not planned."""
        if not self._prepares(result):
            self._outcomes[self._digests.of(result.program.module)] = outcome

    def of(self, proposal: Proposal, most: Most, before: Proposal = ()) -> Outcome | None:
        """Returns what the source costs with edits; None if it is invalid, or costs more than the most.

        before: edits that are made, too.
        """
        try:
            after = self.sources.after((*before, *proposal), record=False)
        except ShardyError:
            return None
        if self._prepares(after):
            return self._outcome(after, most)
        digest = self._digests.of(after.program.module)
        known = self._outcomes.get(digest)
        if known is not None:
            return known if most.allows(known) else None
        if (digest, most) in self._useless:
            return None
        outcome = self._outcome(after, most)
        if outcome is None:
            self._useless.add((digest, most))
        else:
            self._outcomes[digest] = outcome
        return outcome

    def _prepares(self, result: Result) -> bool:
        """True if a compiler prepares the source of a result otherwise, which then is propagated again."""
        compiler = None if self.report.stage is None else self.report.stage.compiler
        return compiler is not None and compiler.rewrites(result.program.module)

    def _outcome(self, result: Result, most: Most) -> Outcome | None:
        work = work_of(result.program.module)
        if work > most.work:
            return None
        try:
            if self._costs_more(result, most):
                return None
            outcome = outcome_of(result, report_like(self.report, result), work)
        except ShardyError:
            return None
        return outcome if most.allows(outcome) else None

    def _costs_more(self, result: Result, most: Most) -> bool:
        """True if collectives surely cost more, however they are combined."""
        stage, by = self.report.stage, self.report.partitioner
        compiler = None if stage is None else stage.compiler
        if compiler is None or compiler.fused is None or by != "xla":
            return False  # they are combined in no time
        made = CompiledProgram.of(result.forecasts.planned_by_xla, compiler)
        least = least_cost(made, self.report.model)
        return least.bytes > most.bytes or least.seconds > most.seconds


def report_like(report: CommunicationReport, result: Result) -> CommunicationReport:
    """Returns the report on another result by the partitioner, links and target of a report."""
    module, by, stage = result.program.module, report.partitioner, report.stage
    planned = None if stage is None else lambda: result.forecasts.planned_by_xla
    return communication(module, report.model, partitioner=by, stage=stage, spmd=planned)[1]


def outcome_of(result: Result, report: CommunicationReport, work: float | None = None) -> Outcome:
    """Returns what a result costs, whose collectives are those of a report; work: `work_of`, if known."""
    return Outcome.of(result.program.module, report.sending, figures_of(result, report), work)


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
