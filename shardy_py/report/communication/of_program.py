"""The communication of a finished program, by the choices of XLA's partitioner or of Shardy's.

Not here: the report (`report.py`), its collectives (`collect.py`, `by_xla.py`), how both are compared
(`reconciled.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.hardware.cost import DEFAULT, CostModel
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.movements import carried_over, recorded
from shardy_py.mlir.symbols import Symbols
from shardy_py.passes import pipelines
from shardy_py.passes.partitioned import Partitioned, partition, rules_restored
from shardy_py.passes.runner import run_passes
from shardy_py.report.communication.reconciled import reconciled, rejected
from shardy_py.report.communication.report import CommunicationReport, Partitioner, communication_report
from shardy_py.xla.gspmd.understanding import require_reportable
from shardy_py.xla.prepare.taken import Taken, how_taken
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.inlined import spmd_program
from shardy_py.xla.targets.stage import CompileStage


def communication(
    module: ModuleOp,
    model: CostModel = DEFAULT,
    record: Iterable[object] = (),
    *,
    partitioner: Partitioner | None = None,
    taken: Taken | None = None,
    spmd: Callable[[], SpmdProgram] | None = None,
    stage: CompileStage | None = None,
    is_reportable: bool = False,
) -> tuple[ModuleOp, CommunicationReport]:
    """A copy of a finished program with its communication as collectives, and the report on it.

    record: the events of the passes that made the program, from which the causes of reshards follow, and the
        sharding rules that users wrote on its ops.
    partitioner: whose choices are reported; None: of XLA's for a program that is taken as compiled, if they
        can be planned, else of Shardy's. That one is run to see what it sends for each op; if it rejects the
        program, the report is the forecast, with a warning. For "xla" the program is returned as it is, and
        calls are inlined in the one that is reported, as XLA does: values have the names of that one.
    taken: how the program is taken; None: by the rule for what is in it.
    spmd: makes `spmd_program(module)`, for those who have it.
    stage: the device whose compiler's program is meant, which goes on with that of XLA's partitioner: then
        None stands for the latter also for other programs.
    is_reportable: whether it is known that there can be a report on it.
    The copy is not verified: a collective may be in a region that allows only other ops, as in `async_start`.
    """
    if not is_reportable:
        require_reportable(module)

    def by_xla() -> CommunicationReport:
        planned = spmd_program(module) if spmd is None else spmd()
        return communication_report(module, model, spmd=planned, stage=stage)

    if partitioner == "xla":
        return module, by_xla()
    if partitioner is None and (stage is not None or (taken or how_taken(module)).is_compiled):
        try:
            return module, by_xla()
        except ShardyError as error:
            made, report = _by_shardy(module, model, record)
            return made, replace(report, not_by_xla=error.first.message, stage=stage)
    made, report = _by_shardy(module, model, record)
    return made, report if stage is None else replace(report, stage=stage)


def _by_shardy(
    module: ModuleOp, model: CostModel, record: Iterable[object]
) -> tuple[ModuleOp, CommunicationReport]:
    """The report on Shardy's reshards, as its partitioner sends for them."""
    made, report = forecast(module, model, record)
    if not Symbols(module).meshes():
        return made, report
    try:
        local = local_communication(partition(module, pipelines.partitioner_passes(), record), model)
    except ShardyError as error:
        return made, rejected(report, error)
    return made, reconciled(report, local)


def forecast(
    module: ModuleOp, model: CostModel = DEFAULT, record: Iterable[object] = ()
) -> tuple[ModuleOp, CommunicationReport]:
    """A copy of a finished program with Shardy's reshards as collectives, and the report on these alone.

    record: as for `communication`.
    """
    origin: dict[SSAValue, SSAValue] = {}
    copy = clone(module, origin)
    originals = dict(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
    events_before = tuple(record)
    with rules_restored(events_before, originals), recorded() as events, collected_warnings() as warnings:
        run_passes(copy, pipelines.collective_passes(), verify="never")
    causes = (*carried_over(events_before, origin), *events)
    return copy, communication_report(copy, model, causes, originals, warnings)


def local_communication(made: Partitioned, model: CostModel = DEFAULT) -> CommunicationReport:
    """The report on the collectives of a local program."""
    events = (*made.movements, *made.events)
    return communication_report(made.local, model, events, made.originals, meshes=made.meshes)


def sending_program(
    module: ModuleOp,
    record: Iterable[object] = (),
    *,
    partitioner: Partitioner | None = None,
    taken: Taken | None = None,
    model: CostModel = DEFAULT,
    by_xla: bool = False,
    spmd: Callable[[], SpmdProgram] | None = None,
) -> tuple[SpmdProgram, CommunicationReport]:
    """Returns a finished program with its collectives, as reports on time and memory read it.

    With the report on the collectives, which is that of `communication` for these arguments.
    by_xla: whether they are those of XLA's partitioner if none is given, for a compiler that goes on with it.
    spmd: as for `communication`.
    """
    if by_xla and partitioner is None:
        try:
            return sending_program(module, record, partitioner="xla", taken=taken, model=model, spmd=spmd)
        except ShardyError:
            partitioner = "shardy"
    made, report = communication(module, model, record, partitioner=partitioner, taken=taken, spmd=spmd)
    if report.partitioner == "xla" and spmd is not None:
        return spmd(), report
    return spmd_program(made, is_planned=report.partitioner == "xla"), report
