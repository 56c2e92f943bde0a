"""The communication report: all collectives of a program, with totals by kind, axes and line; text and JSON.

    report = communication_report(module, DEFAULT)
    report.total.bytes
    print(report)

Not here: finding collectives (`collect.py`), their costs (`hardware/cost.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.counting import counted
from shardy_py.base.errors import Diagnostic
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, current, heading
from shardy_py.base.releases import of as following
from shardy_py.base.rows import Rows, Tabular
from shardy_py.base.terminal import lines_text
from shardy_py.hardware.cost import DEFAULT, Cost, CostModel
from shardy_py.hardware.tensor_bytes import json_fields
from shardy_py.mlir.symbols import Symbols
from shardy_py.report.communication import shown
from shardy_py.report.communication.agreement import Disagreement, disagreements
from shardy_py.report.communication.by_xla import Rematerialization, collectives_by_xla
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.collect import SENDING_KINDS, CollectiveUse, collect_collectives
from shardy_py.report.tables import bytes_text, seconds_text, table, type_text
from shardy_py.sharding import Mesh
from shardy_py.sharding.spelling import unknown_axis
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.targets.stage import AS_PARTITIONED, CompileStage, stage_words

if TYPE_CHECKING:
    from shardy_py.report.verdict import Verdict
    from shardy_py.xla.targets.compiled import Compiler

SCHEMA = 1
UNKNOWN_LOCATION = "(no location)"
Partitioner = Literal["shardy", "xla"]
PARTITIONERS: tuple[Partitioner, ...] = get_args(Partitioner)
_HEADINGS: dict[Partitioner, str] = {
    "shardy": "Communication of Shardy's reshards (partitioner: shardy)",
    "xla": "Communication of XLA's SPMD partitioner (partitioner: xla)",
}
_NONE = "The program needs no communication."
_NONE_COUNTED = "No communication is counted."
_EXPLAINED = 5
"""The number of warnings in the text, and of ops that differ from the forecast."""


@dataclass(frozen=True, slots=True)
class CollectiveTotal:
    """Collectives of one kind, set of axes or line: their number, how often they run, their total cost."""

    key: str
    count: int
    runs: int
    cost: Cost


@dataclass(frozen=True)
class CommunicationReport(Tabular):
    """The communication of a program.

    collectives: in program order, including those that send nothing (`all_slice`).
    model: the links that seconds are computed for.
    warnings: of communication that is not in the report. partitioner: whose collectives they are.
    not_by_xla: why they are Shardy's although JAX wrote the program; "" otherwise.
    logged: where XLA gathers a whole tensor to reshard it, and logs that, of a program as partitioned.
    release: whose Shardy or XLA they are.
    disagreements: of a local program, where it differs from the forecast; None if that is not known.
    verdict: finds what costs most and what to change, with which the text begins; None: nothing does.
    stage: the device whose compiler's program is meant; None: the program is as partitioned. before: as
        compiled, makes the report on the program as partitioned.
    """

    collectives: tuple[CollectiveUse, ...]
    model: CostModel
    warnings: tuple[Diagnostic, ...] = ()
    partitioner: Partitioner = "shardy"
    disagreements: tuple[Disagreement, ...] | None = None
    verdict: Callable[[], Verdict] | None = field(default=None, compare=False, repr=False)
    not_by_xla: str = ""
    logged: tuple[Rematerialization, ...] = ()
    release: Release = field(default_factory=current)
    stage: CompileStage | None = None
    before: Callable[[], CommunicationReport] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def sending(self) -> tuple[CollectiveUse, ...]:
        """The collectives that send data."""
        return tuple(use for use in self.collectives if use.kind in SENDING_KINDS)

    @cached_property
    def partitioned(self) -> CommunicationReport | None:
        """As compiled, the report on the program as partitioned; None for one that is."""
        return None if self.before is None else self.before()

    @property
    def rematerialized(self) -> tuple[Rematerialization, ...]:
        """The places where XLA gathers a whole tensor to reshard it, and logs that."""
        return self.logged if self.partitioned is None else self.partitioned.logged

    @property
    def total(self) -> Cost:
        """The cost of all collectives."""
        return sum((use.total for use in self.collectives), Cost())

    @property
    def counts(self) -> dict[str, int]:
        """The number of collectives of each kind."""
        return {entry.key: entry.count for entry in self.by_kind}

    @property
    def by_kind(self) -> tuple[CollectiveTotal, ...]:
        """The totals of each kind, most expensive first."""
        return _totals(self.collectives, lambda use: use.kind)

    @property
    def by_axes(self) -> tuple[CollectiveTotal, ...]:
        """The totals of each set of axes, most expensive first."""
        return _totals(self.sending, lambda use: ", ".join(name for name, _ in use.axes) or "(none)")

    @property
    def by_line(self) -> tuple[CollectiveTotal, ...]:
        """The totals of each source line, most expensive first."""
        lines = (part for use in self.sending for part in by_cause(use))
        return _totals(lines, lambda use: _line(use.cause))

    @property
    def stage_words(self) -> str:
        """The stage of the program that is reported, as a phrase."""
        if self.stage is None or self.before is not None or self.stage.compiler is None:
            return stage_words(self.stage)
        return (
            f"{AS_PARTITIONED}: what {self.stage.compiler.name} changes is known with XLA's partitioner only"
        )

    def compared_with(self, forecast: CommunicationReport) -> CommunicationReport:
        """Returns the report with its differences from a forecast."""
        return replace(self, disagreements=disagreements(forecast.collectives, self.collectives))

    columns = shown.COLUMNS

    def to_rows(self) -> Rows:
        """Returns a row for each collective, in program order."""
        return shown.rows(self)

    def __str__(self) -> str:
        return communication_text(self)

    def __repr__(self) -> str:
        return shown.short_text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)

    def __reduce__(self) -> tuple[object, ...]:
        """The report without the verdict, which needs the program."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NOT_KEPT}
        return _report_of, (kept, self.partitioned)


_NOT_KEPT = "verdict", "before"


def _report_of(values: dict[str, Any], partitioned: CommunicationReport | None) -> CommunicationReport:
    return CommunicationReport(**values, before=None if partitioned is None else lambda: partitioned)


def communication_report(
    module: ModuleOp,
    model: CostModel = DEFAULT,
    record: Iterable[object] = (),
    originals: Mapping[Operation, Operation] | None = None,
    warnings: Iterable[Diagnostic] = (),
    meshes: Mapping[str, Mesh] | None = None,
    *,
    spmd: SpmdProgram | None = None,
    stage: CompileStage | None = None,
) -> CommunicationReport:
    """Returns the report on a module whose reshards have been replaced by collectives.

    record: the events of the passes. originals: for each op, that of the module before the replacement.
    warnings: of those passes. meshes: of a local program, which has none any more. spmd: the module is a
    propagated one without these collectives, and XLA's partitioner adds its own to this form of it.

    Raises:
        ShardyError: the model has links of an axis that no mesh of the module has.
    """
    meshes = Symbols(module).meshes() if meshes is None else meshes
    axes = [axis.name for mesh in meshes.values() for axis in mesh.axes]
    for axis in model.by_axis if axes else ():
        if axis not in axes:
            raise unknown_axis(axis, dict.fromkeys(axes), what="link of the cost model")
    model = model.on(meshes.values())
    compiler = None if stage is None or spmd is None else stage.compiler
    if spmd is not None and compiler is not None:
        return _as_compiled(spmd, model, stage, compiler, tuple(warnings))
    if spmd is not None:
        return replace(_as_partitioned(spmd, model, tuple(warnings)), stage=stage)
    collectives = collect_collectives(module, model, Causes(record, originals), meshes)
    return CommunicationReport(collectives, model, tuple(warnings), stage=stage)


def _as_partitioned(
    spmd: SpmdProgram, model: CostModel, warnings: tuple[Diagnostic, ...]
) -> CommunicationReport:
    with following(spmd.release):
        uses, logged = collectives_by_xla(spmd, model)
        return CommunicationReport(uses, model, warnings, partitioner="xla", logged=logged)


def _as_compiled(
    spmd: SpmdProgram,
    model: CostModel,
    stage: CompileStage | None,
    compiler: Compiler,
    warnings: tuple[Diagnostic, ...],
) -> CommunicationReport:
    """The program as partitioned is planned when it is asked for: the compiler may plan another one."""
    from shardy_py.report.communication.as_compiled import compiled_uses  # for a target only
    from shardy_py.xla.targets.of_program import CompiledProgram

    uses = compiled_uses(CompiledProgram.of(spmd, compiler), model)
    before = cache(lambda: _as_partitioned(spmd, model, warnings))
    if compiler.unknown and uses:
        what = f"not modelled of {compiler.name}: {compiler.unknown}"
        warnings = (*warnings, Diagnostic(what, severity="remark"))
    return CommunicationReport(uses, model, warnings, partitioner="xla", stage=stage, before=before)


def communication_text(report: CommunicationReport, most: int = 20) -> str:
    """Returns the verdict, the totals and the most expensive collectives, at most `most` of each."""
    heading = [f"{_HEADINGS[report.partitioner]}, {report.stage_words}"]
    if report.not_by_xla:
        heading[0] += f"; XLA's cannot be planned: {report.not_by_xla}"
    if not report.sending:
        first = _NONE if not report.warnings else _NONE_COUNTED
        return "\n".join([*heading, first, *_forecast_lines(report), *_warning_lines(report)])
    if report.partitioned is not None:
        from shardy_py.report.communication.as_compiled import totals_text

        heading.append(totals_text(report.partitioned.sending, report.sending))
    if report.verdict is not None:
        heading.append(str(report.verdict()))
    groups = ("collective", report.by_kind), ("axes", report.by_axes), ("lines", report.by_line)
    parts = [*heading, *(_totals_table(head, totals, most) for head, totals in groups)]
    uses = sorted(report.sending, key=lambda use: (-use.total.seconds, -use.total.bytes))
    head = ("collective", "axes", "tensor", "runs", "bytes", "time", "cause", "location")
    parts.append(table([head, *map(_row, uses[:most])], (0, 1, 2, 6, 7), omitted=len(uses) - most))
    if report.partitioned is not None:
        from shardy_py.report.communication.as_compiled import changes_text, exposure_text

        parts.append(exposure_text(report.sending))
        parts += filter(None, [changes_text(report.sending)])
    total, count = report.total, len(report.sending)
    summary = f"{counted(count, 'collective')}; each device receives {bytes_text(total.bytes)} "
    summary += f"in {seconds_text(total.seconds)} on {report.model.name}."
    if any(use.is_estimate for use in report.sending):
        summary += "\n*: inside a loop with an unknown trip count; counted up to its bound, or once."
    scattered = sum(use.is_scattered for use in report.sending)
    if scattered:
        summary += f"\nall_reduce: {scattered} of which each device keeps its part, timed as reduce_scatter."
    return "\n\n".join([*parts, "\n".join([summary, *_forecast_lines(report), *_warning_lines(report)])])


def by_cause(use: CollectiveUse) -> Sequence[CollectiveUse]:
    """Returns a collective that does the work of several as one for each cause, with its part of the cost."""
    causes = use.causes
    if len(causes) == 1:
        return (use,)
    sizes = dict.fromkeys(causes, 0)
    for each in use.before:
        sizes[each.cause] += each.held_bytes
    whole = sum(sizes.values()) or 1
    shares = {cause: size / whole for cause, size in sizes.items()}
    return tuple(
        replace(use, cause=cause, cost=Cost(round(use.cost.bytes * share), use.cost.seconds * share))
        for cause, share in shares.items()
    )


def _forecast_lines(report: CommunicationReport) -> list[str]:
    """Returns the ops whose collectives are not the forecast ones."""
    found = report.disagreements
    if not found:
        return [] if found is None else ["As forecast."]
    more = len(found) - _EXPLAINED
    lines = ["differs from the forecast:", *(f"  {each}" for each in found[:_EXPLAINED])]
    return [lines_text([*lines, *([f"  ... and {more} more"] if more > 0 else [])])]


def _warning_lines(report: CommunicationReport) -> list[str]:
    more = len(report.warnings) - _EXPLAINED
    return [*map(str, report.warnings[:_EXPLAINED]), *([f"... and {more} more warnings"] if more > 0 else [])]


def communication_json(report: CommunicationReport) -> JsonObject:
    """Returns the report for JSON; docs/communication.md describes the schema."""
    found = report.disagreements
    return {
        **heading(SCHEMA, report.release),
        "partitioner": report.partitioner,
        "stage": report.stage_words,
        "target": None if report.stage is None else report.stage.device,
        "as_partitioned": None
        if report.partitioned is None
        else [*map(json_fields, report.partitioned.by_kind)],
        "model": json_fields(report.model, "name", "source"),
        "total": json_fields(report.total),
        **{key: [*map(json_fields, getattr(report, key))] for key in ("by_kind", "by_axes", "by_line")},
        "collectives": [_use_json(use) for use in report.collectives],
        "warnings": [*map(str, report.warnings)],
        "disagreements": None if found is None else [json_fields(each) for each in found],
    }


def _totals(
    uses: Iterable[CollectiveUse], key: Callable[[CollectiveUse], str]
) -> tuple[CollectiveTotal, ...]:
    groups: dict[str, list[CollectiveUse]] = {}
    for use in uses:
        groups.setdefault(key(use), []).append(use)
    totals: list[CollectiveTotal] = []
    for name, members in groups.items():
        cost = sum((use.total for use in members), Cost())
        totals.append(CollectiveTotal(name, len(members), sum(use.times for use in members), cost))
    return tuple(sorted(totals, key=lambda entry: (-entry.cost.seconds, -entry.cost.bytes, entry.key)))


def _line(cause: Cause) -> str:
    """Returns file and line, or the name in the location."""
    place = cause.position
    return f"{place.file}:{place.line}" if place is not None else cause.location or UNKNOWN_LOCATION


def _totals_table(head: str, totals: Sequence[CollectiveTotal], most: int) -> str:
    rows = [(head, "count", "runs", "bytes", "time")]
    for row in totals[:most]:
        cost = bytes_text(row.cost.bytes), seconds_text(row.cost.seconds)
        rows.append((row.key, f"{row.count:,}", f"{row.runs:,}", *cost))
    return table(rows, omitted=len(totals) - most)


def _axes(use: CollectiveUse) -> str:
    return ", ".join(f"{name}={size}" for name, size in use.axes)


def _row(use: CollectiveUse) -> tuple[str, ...]:
    type_, runs = (
        type_text(use.type.shape, use.type.element),
        f"{use.times:,}{'*' if use.is_estimate else ''}",
    )
    cost = bytes_text(use.cost.bytes), seconds_text(use.cost.seconds)
    places = dict.fromkeys(cause.location or UNKNOWN_LOCATION for cause in use.causes)
    place = next(iter(places)) + (f" and {len(places) - 1} more" if len(places) > 1 else "")
    if len(use.before) > 1 and use.held_bytes > use.before[0].held_bytes:
        type_ += ", ..."
    return use.kind, _axes(use), type_, runs, *cost, use.cause.reason, place


def _use_json(use: CollectiveUse) -> JsonObject:
    axes = [{"name": name, "size": size} for name, size in use.axes]
    cause = json_fields(use.cause, "op", "operand", "reason", "location", "is_explicit")
    fields = {**json_fields(use), "axes": axes, "cause": cause}
    del fields["before"]
    fields["changes"] = [json_fields(change) for change in use.changes]
    fields["lines"] = [_line(cause) for cause in use.causes]
    return fields
