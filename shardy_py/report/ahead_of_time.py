"""A program as the compiler of a device made it, beside the forecast: collectives and memory in one table.

    report = compiled_report(result.source.text(debuginfo=True), placement, forecast, memory)

Not here: running the compiler (`xla/compilers/`), the forecasts (`communication/`, `memory/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, NameLoc, StringAttr

from shardy_py.base.json_values import JsonObject
from shardy_py.base.rows import Rows, Tabular
from shardy_py.hardware.tensor_bytes import json_fields
from shardy_py.hlo.collectives import HloCollective, collectives_of
from shardy_py.hlo.text import read_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.report.compiled.origins import origin_text
from shardy_py.report.tables import bytes_text, table
from shardy_py.sharding import Mesh
from shardy_py.xla.buffers.estimate import MemoryEstimate
from shardy_py.xla.compilers import CompilerAnswer
from shardy_py.xla.targets.of_program import CompiledProgram
from shardy_py.xla.targets.stage import CompileStage

SCHEMA = 1
_SHOWN = 20
_NOTHING = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class SentOfKind:
    """The collectives of a kind: ops, how often they run, and the bytes of their results in all runs."""

    ops: int
    runs: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SentByCompiler:
    """A collective of the compiled program.

    result_bytes: of one run. is_overlapped: whether other ops run between its start and its end. lines: the
    places in the source of what it sends.
    """

    kind: str
    name: str
    runs: int
    result_bytes: int
    is_overlapped: bool
    lines: tuple[str, ...]

    @staticmethod
    def of(found: HloCollective) -> SentByCompiler:
        """Returns a collective of HLO; one of several values has the lines of what makes each."""
        origins = [found.origin]
        for value in found.values:
            origins += [value.origin, *value.makers[:1]]
        texts = [origin_text(origin) for origin in origins]
        lines = tuple(dict.fromkeys(text for text in texts if text))
        is_overlapped = not found.overlap.is_exposed
        return SentByCompiler(found.kind, found.name, found.runs, found.made_bytes, is_overlapped, lines)


@dataclass(frozen=True)
class AheadOfTimeReport(Tabular):
    """A program as the compiler of a device made it, beside the forecast of it.

    stage: the device. answer: the compiler's. forecast: collectives by kind. memory: as forecast.
    """

    stage: CompileStage
    answer: CompilerAnswer
    forecast: Mapping[str, SentOfKind]
    memory: MemoryEstimate

    @cached_property
    def sent(self) -> tuple[SentByCompiler, ...]:
        """The collectives of the compiled program."""
        return tuple(map(SentByCompiler.of, collectives_of(read_module(self.answer.hlo))))

    @property
    def by_kind(self) -> Mapping[str, SentOfKind]:
        """The collectives of the compiled program by kind."""
        return _by_kind((each.kind, each.runs, each.result_bytes) for each in self.sent)

    @property
    def memory_rows(self) -> tuple[tuple[str, int, int], ...]:
        """The name of each part of the memory, with its bytes as forecast and as compiled."""
        ours, theirs = self.memory, self.answer.memory
        return (
            ("arguments", ours.arguments, theirs.argument),
            ("results", ours.results, theirs.output),
            ("aliased", ours.aliased, theirs.alias),
            ("temporaries", ours.temporaries, theirs.temp),
            ("in all", ours.total_bytes, theirs.total),
        )

    @property
    def fits(self) -> bool:
        """True if the memory of a device holds what the compiler allocates."""
        return self.answer.memory.total <= self.stage.placement.hardware.memory_bytes

    columns = ("kind", "name", "runs", "result_bytes", "is_overlapped", "lines")

    def to_rows(self) -> Rows:
        """Returns a row for each collective of the compiled program."""
        return [
            dict(
                zip(
                    self.columns,
                    (
                        *(each.kind, each.name, each.runs, each.result_bytes),
                        *(each.is_overlapped, ", ".join(each.lines)),
                    ),
                    strict=True,
                )
            )
            for each in self.sent
        ]

    def __str__(self) -> str:
        return compiled_text(self)

    def __repr__(self) -> str:
        size = bytes_text(self.answer.memory.total)
        return f"<compiled for {self.stage.device}: {len(self.sent)} collectives, {size}>"


def forecast_by_kind(made: CompiledProgram) -> Mapping[str, SentOfKind]:
    """Returns the collectives of a program as forecast for its compiler, by kind."""
    issued = (each for function in made.program.entries for each in made.plan(function).issued)
    return _by_kind((each.kind, each.times, each.result_bytes) for each in issued)


def devices_of(meshes: Iterable[Mesh]) -> tuple[int, ...]:
    """Returns the sizes of the axes of the mesh with most devices; (1,) without one."""
    found = max(meshes, key=lambda mesh: mesh.device_count, default=None)
    return tuple(axis.size for axis in found.axes) or (1,) if found is not None else (1,)


def name_locations(module: ModuleOp) -> None:
    """Gives ops whose location is a line alone their name, too: XLA forgets lines without one."""
    for op in walk_pre_order(module):
        location = op.location
        if isinstance(location, FileLineColLoc):
            op.location = NameLoc(StringAttr(op.name), location)


def compiled_text(report: AheadOfTimeReport) -> str:
    """Returns the tables of collectives and memory, and the collectives of the compiled program."""
    compiler = report.stage.compiler
    by = f" by {compiler.name}" if compiler is not None else ""
    heading = f"Compiled for {report.stage.device}{by} of jax {report.answer.jax}, beside the forecast"
    parts = [heading, _collectives(report), _memory(report)]
    rows = sorted(report.sent, key=lambda each: -each.runs * each.result_bytes)
    head = ("collective", "runs", "bytes of results", "overlapped", "lines")
    cells = [_row(each) for each in rows[:_SHOWN]]
    if cells:
        parts.append(table([head, *cells], (0, 3, 4), omitted=len(rows) - _SHOWN))
    fits, room = "fits" if report.fits else "does not fit", report.stage.placement.hardware.memory_bytes
    parts.append(f"The program {fits}: {bytes_text(report.answer.memory.total)} of {bytes_text(room)}.")
    return "\n\n".join(parts)


def compiled_json(report: AheadOfTimeReport) -> JsonObject:
    """Returns the report for JSON."""
    kinds = dict.fromkeys((*report.forecast, *report.by_kind))
    return {
        "schema": SCHEMA,
        "target": report.stage.device,
        "jax": report.answer.jax,
        "collectives": {
            kind: {
                name: None if (found := by.get(kind)) is None else json_fields(found)
                for name, by in (("forecast", report.forecast), ("compiled", report.by_kind))
            }
            for kind in kinds
        },
        "memory": {name: {"forecast": ours, "compiled": theirs} for name, ours, theirs in report.memory_rows},
        "fits": report.fits,
        "sent": [json_fields(each) for each in report.sent],
    }


def _by_kind(sent: Iterable[tuple[str, int, int]]) -> dict[str, SentOfKind]:
    found: dict[str, tuple[int, int, int]] = {}
    for kind, runs, size in sent:
        ops, times, total = found.get(kind, _NOTHING)
        found[kind] = ops + 1, times + runs, total + runs * size
    return {kind: SentOfKind(*each) for kind, each in found.items()}


def _collectives(report: AheadOfTimeReport) -> str:
    header = ("collective", "forecast", "runs", "bytes of results", "compiled", "runs", "bytes of results")
    stages = report.forecast, report.by_kind
    kinds = dict.fromkeys(kind for stage in stages for kind in stage)
    rows = [(kind, *(cell for stage in stages for cell in _cells(stage.get(kind)))) for kind in kinds]
    return table([header, *rows]) if rows else "Neither has collectives."


def _cells(found: SentOfKind | None) -> tuple[str, str, str]:
    return (
        ("-", "-", "-") if found is None else (f"{found.ops:,}", f"{found.runs:,}", bytes_text(found.bytes))
    )


def _memory(report: AheadOfTimeReport) -> str:
    rows = [
        (name, bytes_text(ours), bytes_text(theirs), f"{ours / theirs:.2f}" if theirs else "-")
        for name, ours, theirs in report.memory_rows
    ]
    return table([("memory", "forecast", "compiled", "ratio"), *rows])


def _row(sent: SentByCompiler) -> tuple[str, ...]:
    lines = [*sent.lines[:1], *([f"{len(sent.lines) - 1} more"] if len(sent.lines) > 1 else [])]
    overlapped = "yes" if sent.is_overlapped else "no"
    return sent.kind, f"{sent.runs:,}", bytes_text(sent.result_bytes), overlapped, " and ".join(lines)
