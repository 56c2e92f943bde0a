"""START HERE: from the text of a program to the same program with all shardings, stage by stage.

    text -> read -> prepare -> propagate -> finish -> write -> text
                                                   -> report -> a table of what was decided
                                                   -> partition -> the program of each device

Each stage changes the module in place and returns it; `decide_shardings` runs all of them.
`passes/pipelines.py` lists the passes of each stage; docs/design/architecture.md describes the layers below.
`cli/` has the commands.

    print(write(finish(propagate(prepare(read(text))))))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.hardware.cost import DEFAULT, CostModel
from shardy_py.localize.partitioned import Partitioned, run_partitioner
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import find_ops, walk_pre_order
from shardy_py.mlir.movements import Copies, DroppedRules, carried_over, recorded
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_table import ValueTable
from shardy_py.passes import pipelines
from shardy_py.passes.pipeline_options import PartitioningOptions
from shardy_py.passes.registration import PassCall
from shardy_py.passes.runner import run_passes
from shardy_py.report import summary_of
from shardy_py.report.communication import (
    CommunicationReport,
    Partitioner,
    communication_report,
    reconciled,
    rejected,
)
from shardy_py.xla.gspmd.understanding import require_reportable
from shardy_py.xla.prepare.taken import Taken, how_taken
from shardy_py.xla.spmd.from_program import SpmdProgram


def read(text: str, file: str = "-") -> ModuleOp:
    """Parses and verifies a module; `file` is its name in diagnostics."""
    module = parse_module(text, file)
    verify_module(module)
    return module


def prepare(module: ModuleOp) -> ModuleOp:
    """Adds data-flow edges, which hold shardings, and inlines calls as named computations."""
    return run_passes(module, pipelines.import_passes() + pipelines.inline_passes())


def propagate(module: ModuleOp) -> ModuleOp:
    """Propagates the shardings of the user to a fixed point of all sharding rules."""
    return run_passes(module, pipelines.propagate_passes())


def finish(module: ModuleOp) -> ModuleOp:
    """Restores functions and calls, removes data-flow edges, and inserts reshards."""
    return run_passes(module, pipelines.outline_passes() + pipelines.export_passes(PartitioningOptions()))


def collectives(module: ModuleOp) -> ModuleOp:
    """Replaces the reshards of a finished program by collectives."""
    return run_passes(module, pipelines.collective_passes())


def write(module: ModuleOp) -> str:
    """The text of the module as MLIR prints it."""
    return print_module(module)


def report(module: ModuleOp) -> str:
    """Returns tables of the values sharded along each axis, and of the bytes on each device."""
    return str(summary_of(module))


def communication(
    module: ModuleOp,
    model: CostModel = DEFAULT,
    record: Iterable[object] = (),
    *,
    partitioner: Partitioner | None = None,
    taken: Taken | None = None,
    spmd: Callable[[], SpmdProgram] | None = None,
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
    The copy is not verified: a collective may be in a region that allows only other ops, as in `async_start`.
    """
    require_reportable(module)
    if partitioner is None and (taken or how_taken(module)).is_compiled:
        try:
            return communication(module, model, partitioner="xla", spmd=spmd)
        except ShardyError as error:
            made, report = communication(module, model, record, partitioner="shardy")
            return made, replace(report, not_by_xla=error.first.message)
    if partitioner == "xla":
        planned = spmd_program(module) if spmd is None else spmd()
        return module, communication_report(module, model, spmd=planned)
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
    copy = cast(ModuleOp, clone(module, origin))
    originals = dict(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
    events_before = tuple(record)
    with _rules_restored(events_before, originals), recorded() as events, collected_warnings() as warnings:
        run_passes(copy, pipelines.collective_passes(), verify="never")
    causes = (*carried_over(events_before, origin), *events)
    return copy, communication_report(copy, model, causes, originals, warnings)


def local_communication(made: Partitioned, model: CostModel = DEFAULT) -> CommunicationReport:
    """The report on the collectives of a local program."""
    events = (*made.movements, *made.events)
    return communication_report(made.local, model, events, made.originals, meshes=made.meshes)


def spmd_program(
    module: ModuleOp, *, is_planned: bool = True, table: ValueTable | None = None
) -> SpmdProgram:
    """Returns a propagated program as XLA partitions it, with its calls inlined.

    The module itself if it has no calls. is_planned: whether XLA's partitioner adds collectives to it. table:
    of the module, for those who have it.
    """
    if not find_ops(module, CallOp.name):
        return SpmdProgram(module, is_planned=is_planned, table=table)
    copy = cast(ModuleOp, clone(module, {}))
    sources = dict(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
    with recorded() as events:
        run_passes(copy, pipelines.inline_call_passes(), verify="never")
    for event in events:
        for old, new in event.values.items() if isinstance(event, Copies) else ():
            if isinstance(old, OpResult) and isinstance(new, OpResult) and old.op in sources:
                sources[new.op] = sources[old.op]
    return SpmdProgram(copy, sources, is_planned)


def sending_program(
    module: ModuleOp,
    record: Iterable[object] = (),
    *,
    partitioner: Partitioner | None = None,
    taken: Taken | None = None,
    model: CostModel = DEFAULT,
) -> tuple[SpmdProgram, CommunicationReport]:
    """Returns a finished program with its collectives, as reports on time and memory read it.

    With the report on the collectives, which is that of `communication` for these arguments.
    """
    made, report = communication(module, model, record, partitioner=partitioner, taken=taken)
    return spmd_program(made, is_planned=report.partitioner == "xla"), report


def partition(module: ModuleOp, calls: Iterable[PassCall], record: Iterable[object] = ()) -> Partitioned:
    """The program that each device runs, for a finished program, which stays as it is.

    calls: those of `sdy-partitioner-pipeline`. record: as for `communication`.
    `run/proof/` shows that it computes the same.

    Raises:
        ShardyError: a pass rejects the program.
    """
    events = tuple(record)
    originals: dict[Operation, Operation] = {}

    def prepared(copy: ModuleOp) -> AbstractContextManager[None]:
        originals.update(zip(walk_pre_order(copy), walk_pre_order(module), strict=True))
        return _rules_restored(events, originals)

    made = run_partitioner(module, calls, prepared)
    origin: dict[SSAValue, SSAValue] = {
        old: new
        for op, given in originals.items()
        for old, new in zip(given.results, op.results, strict=True)
    }
    return replace(made, movements=carried_over(events, origin), originals=originals)


@contextmanager
def _rules_restored(events: Iterable[object], originals: Mapping[Operation, Operation]) -> Generator[None]:
    """Gives ops the sharding rules that a pass dropped from their originals, until the end of the block."""
    rules = {
        op: rule
        for event in events
        if isinstance(event, DroppedRules)
        for op, rule in event.attributes.items()
    }
    given = {op: rules[old] for op, old in originals.items() if old in rules} if rules else {}
    for op, rule in given.items():
        op.attributes.setdefault(RULE, rule)
    yield
    for op, rule in given.items():
        if op.attributes.get(RULE) is rule:
            del op.attributes[RULE]


def decide_shardings(text: str, file: str = "-") -> str:
    """All stages: what `sdy-opt --sdy-propagation-pipeline` prints."""
    return write(finish(propagate(prepare(read(text, file)))))
