"""Values that all reports on a result share: collectives by model and partitioner, XLA's plan.

Not here: the reports (`report/`), the methods that users call (`result.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from shardy_py.api.program import Program
from shardy_py.api.remarks import say
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import DEFAULT, CostModel
from shardy_py.report.communication import CollectiveUse, CommunicationReport, Partitioner
from shardy_py.report.communication.of_program import communication
from shardy_py.report.explain import Explainer
from shardy_py.xla.gspmd.missing import file_of, remarks_on_missing
from shardy_py.xla.gspmd.understanding import require_reportable
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.inlined import spmd_program
from shardy_py.xla.targets.stage import CompileStage

if TYPE_CHECKING:
    from shardy_py.api.propagated import Propagated
    from shardy_py.report.explain import WhyNot
    from shardy_py.report.verdict import Verdict

Priced = tuple[ModuleOp, CommunicationReport]
"""A module with its collectives, and the report on them."""


@releases.following
class Forecasts:
    """The forecasts of one result; what they need more than once is kept."""

    def __init__(self, result: Propagated) -> None:
        self._result = result
        self._priced = list[tuple[CostModel, Partitioner | None, CompileStage | None, Priced]]()
        self._with_verdict = list[tuple[CommunicationReport, CommunicationReport]]()
        """Reports, each with the one that has a verdict."""
        self._has_remarked = False
        self.release = result.release

    def remark(self) -> None:
        """Logs what the source lacks for reports, the first time that there is one.

        Raises:
            ShardyError: there can be no report on it.
        """
        if not self._has_remarked:
            table = self._result.values.table
            require_reportable(table.module, table.ops)
            self._has_remarked = True
            module = self._result.source.module
            say(remarks_on_missing(module), file_of(module))

    def priced(
        self, model: CostModel, partitioner: Partitioner | None, stage: CompileStage | None = None
    ) -> Priced:
        """Returns the collectives by a partitioner, at the costs of a model; see `Result.communication`.

        stage: the device whose compiler's collectives are meant.
        """
        asked = model, partitioner, stage
        known = (made for *of, made in self._priced if tuple(of) == asked)
        priced = next(known, None)
        if priced is not None:
            return priced
        result = self._result
        if result.record is None:  # it has the causes of reshards, and sharding rules that were dropped
            return result.again(result.source).forecasts.priced(model, partitioner, stage)
        priced = communication(
            *(result.program.module, model, result.record.events),
            partitioner=partitioner,
            taken=result.source.taken,
            spmd=lambda: self.planned_by_xla,
            stage=stage,
            is_reportable=self._has_remarked,
        )
        names = dict.fromkeys((partitioner, priced[1].partitioner))
        self._priced.extend((model, each, stage, priced) for each in names)
        return priced

    def partitioner(self, partitioner: Partitioner | None, stage: CompileStage | None = None) -> Partitioner:
        """Returns the partitioner itself; for None that of `Result.communication`."""
        if partitioner is None and (stage is not None or self._result.source.taken.is_compiled):
            return self.priced(DEFAULT, None, stage)[1].partitioner
        return partitioner or "shardy"

    def spmd(self, partitioner: Partitioner | None) -> SpmdProgram:
        """Returns the program as XLA runs it, with the collectives of a partitioner."""
        return self.planned_by_xla if self.partitioner(partitioner) == "xla" else self.by_shardy

    @cached_property
    def planned_by_xla(self) -> SpmdProgram:
        """The program with the collectives that XLA's partitioner adds."""
        module, table = self._result.program.module, self._result.values.table
        source = self._result.source
        is_past = source.taken.is_past_steps or source.module is module
        return spmd_program(module, table=table, again=None if is_past else self._changed_first)

    def _changed_first(self, changed: Callable[[ModuleOp], ModuleOp]) -> ModuleOp:
        """The propagated program of what is made of the source, a copy."""
        source = self._result.source
        made = Program(changed(source.module), source.sources.roots, source.taken)
        return self._result.again(made, record=False, in_place=True).program.module

    @cached_property
    def by_shardy(self) -> SpmdProgram:
        """The program with the collectives of Shardy's reshards."""
        return spmd_program(self.priced(DEFAULT, "shardy")[0], is_planned=False)

    def with_verdict(
        self, report: CommunicationReport, verdict: Callable[[CommunicationReport], Verdict]
    ) -> CommunicationReport:
        """Returns a report whose text begins with the verdict on it; the same one for the same report."""
        for known, advised in self._with_verdict:
            if known is report:
                return advised
        advised = replace(report, verdict=lambda: verdict(report))
        self._with_verdict.append((report, advised))
        return advised

    def bare(self, report: CommunicationReport) -> CommunicationReport:
        """Returns the report that one with a verdict was made of."""
        return next((known for known, advised in self._with_verdict if advised is report), report)

    def report_of(self, use: CollectiveUse) -> CommunicationReport | None:
        """Returns the report with a verdict that a collective is of; None: of none.

        By XLA; of programs of torch also by Shardy, whose reshards are those of DTensor.
        """
        is_torch = self._result.source.is_by_torch
        reports = (report for report, _ in self._with_verdict if is_torch or report.partitioner == "xla")
        return next((report for report in reports if any(each is use for each in report.sending)), None)

    @cached_property
    def explainer(self) -> Explainer:
        """Explains shardings from the record.

        Raises:
            ShardyError: propagation was not recorded.
        """
        result = self._result
        if result.record is None:
            raise ShardyError("propagation was not recorded; use propagate(program, options, record=True)")
        return Explainer(result.record, result.program.module, result.values.table)

    @cached_property
    def why_not(self) -> WhyNot:
        """Explains what is not sharded."""
        from shardy_py.report.explain import WhyNot

        return WhyNot(self.explainer)
