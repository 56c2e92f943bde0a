"""A run of `sdy-opt` as a result of the API, for reports that try changes of the program.

Not here: the run (`driver.py`), the reports (`reports.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import field
from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue

    from shardy_py.api import Program, Result
    from shardy_py.cli.reports import Evidence
    from shardy_py.hardware import AxisPlacement
    from shardy_py.passes import PassCall
    from shardy_py.passes.runner import Record
    from shardy_py.report.communication import CommunicationReport
    from shardy_py.report.compiled import CompiledReport
    from shardy_py.report.verdict import Verdict
    from shardy_py.xla.prepare.taken import Taken
    from shardy_py.xla.spmd.from_program import SpmdProgram


@dataclass(frozen=True, eq=False)
class BeforePasses:
    """The program before the passes.

    module: a copy of it. origin: from its values to those of the program that the passes changed.
    calls: the passes. file: of the program, next to which source files are.
    """

    module: ModuleOp
    origin: Mapping[SSAValue, SSAValue]
    calls: tuple[PassCall, ...]
    file: str = field(default="")


def result_of(after: ModuleOp, before: BeforePasses, record: Record | None, taken: Taken | None) -> Result:
    """Returns the run as a result, which propagates edited programs by the same passes."""
    from shardy_py.api import Program, Result
    from shardy_py.base.source_files import default_roots
    from shardy_py.mlir.ir import renew_uses
    from shardy_py.passes.runner import recording, run_passes

    roots = default_roots(before.file)

    def again(changed: Program, *, record: bool = True, in_place: bool = False) -> Result:
        if in_place:
            renew_uses(changed.module)
        copy = changed if in_place else changed.copy()
        with recording() if record else nullcontext() as kept:
            run_passes(copy.module, before.calls, verify="never")
        made = Program(copy.module, roots, taken)
        made.origin = copy.origin
        return Result(made, changed, (), again, kept)

    program, source = Program(after, roots, taken), Program(before.module, roots, taken)
    program.origin = before.origin
    return Result(program, source, (), again, record)


def communication_of(evidence: Evidence, model: str) -> CommunicationReport:
    """Returns the report on the collectives of a run; model: the text of one, "" for the default."""
    from shardy_py.report.communication.of_program import communication
    from shardy_py.xla.targets.stage import model_of, stage_of

    record = () if evidence.record is None else evidence.record.events
    stage = stage_of(evidence.target)
    by, taken, priced = evidence.partitioner, evidence.taken, model_of(model or None, stage)
    spmd, after = _planned(evidence), evidence.after
    return communication(after, priced, record, partitioner=by, taken=taken, stage=stage, spmd=spmd)[1]


def sending(
    evidence: Evidence, placement: AxisPlacement | None = None, *, has_stage: bool = False
) -> tuple[SpmdProgram, CommunicationReport]:
    """Returns the program with the collectives that the report on communication has, and that report."""
    from shardy_py.hardware.cost import DEFAULT, CostModel
    from shardy_py.report.communication.of_program import sending_program

    record = () if evidence.record is None else evidence.record.events
    model = DEFAULT if placement is None else CostModel.of(placement)
    return sending_program(
        evidence.after,
        record,
        partitioner=evidence.partitioner,
        taken=evidence.taken,
        model=model,
        by_xla=has_stage,
        spmd=_planned(evidence),
    )


def _planned(evidence: Evidence) -> Callable[[], SpmdProgram] | None:
    """Makes the program that XLA partitions, with the one before the passes; None if that is not known."""
    if evidence.before is None:
        return None
    result = result_of(evidence.after, evidence.before, evidence.record, evidence.taken)
    return lambda: result.forecasts.planned_by_xla


def compiled_for(evidence: Evidence, target: str) -> CompiledReport:
    """Returns the program before the passes as the compiler of a device makes it, beside the forecast."""
    before = evidence.before or BeforePasses(evidence.after, {}, ())
    return result_of(evidence.after, before, evidence.record, evidence.taken).compile(target)


def verdict_on(evidence: Evidence, report: CommunicationReport) -> Verdict:
    """Returns the verdict on the collectives of a run; changes are tried if its passes propagate."""
    from shardy_py.search.verdicts import verdict_of

    before = evidence.before
    reason = "no pass of the command line propagates" if before is None else ""
    given = BeforePasses(evidence.after, {}, ()) if before is None else before
    result = result_of(evidence.after, given, evidence.record, evidence.taken)
    return verdict_of(result, report, reason)
