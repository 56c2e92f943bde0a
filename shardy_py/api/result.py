"""The result of propagation: reports, explanations, and comparisons with edited programs.

    result = propagate(program)
    result["result 0"].sharding, result["result 0"].local_shape
    result.what_if({"%arg1": P(None, "model")})

Not here: its data and look-up (`propagated.py`), chains of reasons (`explained.py`), deciding shardings
(`passes/`), the reports themselves (`report/`), comparing unrelated programs (`sdy-diff`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect, expect_each, expect_flags, expect_integer, expect_one_of
from shardy_py.api.comparison import ComparedResults, Comparison
from shardy_py.api.foreign import MeshLike
from shardy_py.api.program import Edits, Program
from shardy_py.api.timed import TimedResult
from shardy_py.api.verified_module import ValueKey
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.extensions import extension
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.cost import DEFAULT, CostModel
from shardy_py.indexing.layout.formats import Target
from shardy_py.report.communication import PARTITIONERS, CommunicationReport, Partitioner
from shardy_py.report.difference import difference
from shardy_py.report.explain import Reasons
from shardy_py.report.memory import MemoryReport, memory_report
from shardy_py.xla.targets.stage import model_of, stage_of

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from shardy_py.api.compiled import Compiled
    from shardy_py.api.local_program import LocalProgram
    from shardy_py.check import Findings
    from shardy_py.propagation.op_graph import OpGraph
    from shardy_py.report.compiled import CompiledReport
    from shardy_py.report.pipeline import PipelineReport
    from shardy_py.report.verdict import Verdict
    from shardy_py.viewer.explorer_file import Explorer
    from shardy_py.viewer.model_explorer_graphs import ModelExplorerGraphs


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class Result(TimedResult):
    """A propagated program with the one it was made from, and the reports on it."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the result to a file, whole or not at all; `Result.load` reads it.

        Raises:
            ShardyError: the file cannot be written.
        """
        from shardy_py.api.saved import saved, write_text

        write_text(path, saved(self))

    @staticmethod
    def load(path: str | PathLike[str]) -> Result:
        """Returns a saved result: it has equal shardings, reports and explanations.

        Propagates again; where that gives other shardings, the saved ones are kept, with a warning.

        Raises:
            ShardyError: the file cannot be read, or is not a saved result.
        """
        from shardy_py.api.saved import load

        return load(path)

    def __reduce__(self) -> tuple[object, ...]:
        from shardy_py.api.saved import restored, saved

        return restored, (saved(self),)

    def compared_with(
        self,
        other: Result,
        *,
        target: AxisPlacement | Hardware | str | None = None,
        partitioner: Partitioner | None = None,
    ) -> Comparison:
        """Returns how another result differs, also of another program: values are matched as by `sdy-diff`.

        target, partitioner: which collectives are compared, as for `communication`.
        """
        expect(other, Result, "a result to compare with")
        found = difference(self.values.table, other.values.table)
        return ComparedResults(self, other, found, partitioner, stage_of(target))

    @without_collection()
    def against(
        self,
        compiled: Compiled,
        *,
        target: AxisPlacement | Hardware | str | None = None,
        model: CostModel | str | None = None,
        partitioner: Partitioner | None = None,
    ) -> CompiledReport:
        """Returns the program beside what a compiler made of it: its collectives, joined with the forecast.

        compiled: HLO text, the path of a file or of a folder that XLA dumped, or a `jax.stages.Compiled`.
        target, model, partitioner: as for `communication`; target None: a device of the compiled platform.

        Raises:
            ShardyError: the compiled program cannot be read, or as `communication`.
        """
        from shardy_py.api.compiled import against

        return against(self, compiled, target=target, model=model, partitioner=partitioner)

    def _repr_html_(self) -> str:
        from shardy_py.api.notebook import result_html

        return result_html(self)

    @without_collection()
    def graph(self, *, plain: bool = True, target: str = "linear") -> OpGraph:
        """Returns the op graph as `Program.graph` does, after propagation, with the work of each device."""
        from shardy_py.api.graphs import graph_of_result

        return graph_of_result(self, is_plain=plain, target=target)

    @without_collection()
    def summary(self) -> str:
        """Returns tables of the values sharded along each axis, and of the bytes on each device."""
        from shardy_py.report import summary_of

        return str(summary_of(self.program.module))

    @without_collection()
    def memory(
        self,
        target: Hardware | AxisPlacement | Target | str = "linear",
        *,
        partitioner: Partitioner | None = None,
    ) -> MemoryReport:
        """Returns the memory on each device: what XLA allocates, as estimated, and every tensor.

        target: "tpu", "linear", or a device as for `time`, for its layouts and whether the program `fits`.
        partitioner: whose collectives what XLA allocates is estimated with, as for `communication`.

        Raises:
            ShardyError: the target is unknown.
        """
        expected = "'tpu', 'linear', or the name of a device such as 'tpu-v5p'"
        expect(target, (str, Hardware, AxisPlacement), expected)
        if partitioner is not None:
            expect_one_of("partitioner", partitioner, PARTITIONERS)
        self.forecasts.remark()
        return memory_report(
            self.program.module, target, lambda: self.forecasts.spmd(partitioner), self.values.table
        )

    @without_collection()
    def pipeline(self, hardware: AxisPlacement | Hardware | str = "tpu-v5p") -> PipelineReport:
        """Returns stages, microbatches, bubble and sends of loops that are pipelines, with XLA's collectives.

        hardware: as for `time`.

        Raises:
            ShardyError: the program has no pipeline, or as `time`.
        """
        from shardy_py.report.pipeline import pipeline_report

        time = self.time(hardware, partitioner="xla")
        memory = self.memory(as_placement(hardware), partitioner="xla").estimate
        return pipeline_report(self.program.module, time, memory.total_bytes)

    @without_collection()
    def communication(
        self,
        model: CostModel | str | None = None,
        *,
        target: AxisPlacement | Hardware | str | None = None,
        partitioner: Partitioner | None = None,
    ) -> CommunicationReport:
        """Returns the collectives of the program, with their axes, bytes, time and causes.

        model: the costs of links, or the text of a cost model (`tpu-v5p,data=tpu-dcn`); None: those of the
            target, or of "tpu-v5p".
        target: a device such as "h100", also with the places of mesh axes: the collectives are those that
            its compiler leaves, beside those of XLA's partitioner. None: as partitioned.
        partitioner: "shardy": the collectives of Shardy's reshards; "xla": those of XLA's SPMD partitioner,
            which JAX uses; None: "xla" for a program taken as compiled and for a target, if it can be
            planned, else "shardy".

        Raises:
            ShardyError: the model has links of an unknown axis, or the target is unknown; XLA's: dynamic
                shapes, or too many devices.
        """
        if model is not None:
            expect(model, (str, CostModel), "a CostModel, or the text of one")
        if partitioner is not None:
            expect_one_of("partitioner", partitioner, PARTITIONERS)
        stage = stage_of(target)
        self.forecasts.remark()
        report = self.forecasts.priced(model_of(model, stage), partitioner, stage)[1]
        if self.record is None:
            return report
        return self.forecasts.with_verdict(report, self.kept(extension("verdict").ResultVerdicts).of)

    @without_collection()
    def verdict(
        self,
        model: CostModel | str | None = None,
        *,
        target: AxisPlacement | Hardware | str | None = None,
        partitioner: Partitioner | None = None,
        tries: int | None = None,
    ) -> Verdict:
        """Returns what costs most, where it comes from, what to change, and what that saves.

        Changes of collectives by XLA are tried: each is propagated and planned, on top of those before.

        model, target, partitioner: as for `communication`. tries: the changes that are tried alone; None: by
        the size of the program, and none above 20,000 values.

        Raises:
            ShardyError: as `communication`; propagation was not recorded; tries is negative.
        """
        report = self.communication(model, target=target, partitioner=partitioner)
        if report.verdict is None:
            raise ShardyError("propagation was not recorded; use propagate(program, options, record=True)")
        if tries is not None:
            expect_integer("tries", tries)
        self.kept(extension("verdict").ResultVerdicts).ask(report, tries)
        return report.verdict()

    @without_collection()
    def compile(self, target: AxisPlacement | Hardware | str, *, python: str | None = None) -> CompiledReport:
        """Returns what the compiler of a device makes of the program, beside the forecast; needs no device.

        target: a device as for `time`, with the `topology=` of a TPU. python: the interpreter that has JAX
        and its plugin; None: that of the environment variable SHARDY_COMPILER_PYTHON, or the running one.

        Raises:
            ShardyError: the compiler is not installed, or it rejects the program: in its words, at its lines.
        """
        from shardy_py.api.ahead_of_time import compiled

        return compiled(self, target, python)

    @cached_property
    def communicating(self) -> Program:
        """The propagated program with all its communication as explicit collectives."""
        return Program(self.forecasts.priced(DEFAULT, "shardy")[0], taken=self.program.taken)

    @without_collection()
    def partition(self, **options: bool | int | str | Iterable[str]) -> LocalProgram:
        """Returns the program that each device runs.

        options: those of `sdy-partitioner-pipeline`, by field name.

        Raises:
            ShardyError: an op cannot be partitioned, or an option is unknown.
        """
        from shardy_py.api.local_program import local_program

        if self.record is None:  # it has the causes of reshards, and sharding rules that were dropped
            return self.again(self.source).partition(**options)
        return local_program(self.program, self.record.events, options)

    @without_collection()
    def why_not(self, key: ValueKey, dimension: int, axis: str) -> Reasons:
        """Returns why a dimension is not sharded along an axis (`x`, `x:(1)2`), nearest reason first.

        Raises:
            ShardyError: unknown dimension or axis, or propagation was not recorded.
        """
        expect(dimension, int, "the number of a dimension")
        expect(axis, str, 'an axis such as "x" or "x:(1)2"')
        value = self[key]
        reasons = self.forecasts.why_not.reasons(value.entry, dimension, axis)
        if self.source.is_by_jax and reasons[0].kind != "sharded":
            reasons.tried = lambda: self.placements(value, axis, (dimension,)).lines
        return reasons

    @without_collection()
    def explorer(
        self,
        other: Result | None = None,
        *,
        titles: tuple[str, str] = ("program", "other program"),
        compiled: Compiled | None = None,
        model: CostModel | str | None = None,
        target: AxisPlacement | Hardware | str | None = None,
        partitioner: Partitioner | None = None,
        has_sources: bool = True,
    ) -> Explorer:
        """Returns an HTML file that shows the verdict, the graph, and its shardings over propagation.

        other: a result to compare with: its shardings and collectives are shown beside or instead.
        compiled: what a compiler made of the program, as for `against`: it is shown beside the forecast.
        model, target, partitioner: as for `communication`. has_sources: with the lines of Python files that
        locations name, where the files are at hand.

        Raises:
            ShardyError: as `communication`, or the compiled program cannot be read.
        """
        if other is not None:
            expect(other, Result, "a result to compare with")
        expect_flags(has_sources=has_sources)
        results = (self,) if other is None else (self, other)
        make = extension("explorer").explorer_of_results
        more = {"partitioner": partitioner, "has_sources": has_sources, "compiled": compiled}
        return make(results, titles, model=model, target=target, **more)

    @without_collection()
    def model_explorer(
        self,
        *,
        title: str = "program",
        model: CostModel | str = DEFAULT,
        partitioner: Partitioner | None = None,
    ) -> ModelExplorerGraphs:
        """Returns the program as graphs and node data for Google's Model Explorer, with its collectives.

        model, partitioner: as for `communication`.

        Raises:
            ShardyError: as `communication`.
        """
        expect(title, str, "text", what="title")
        make = extension("model_explorer").model_explorer_of_result
        return make(self, title, model=model, partitioner=partitioner)

    def show(self) -> Path:
        """Opens the explorer in a browser; returns its file, in a temporary folder."""
        return self.explorer().show()

    def check(
        self,
        *,
        ignored: Iterable[str] = (),
        selected: Iterable[str] = (),
        expected: Iterable[str] = (),
        target: AxisPlacement | Hardware | str | None = None,
    ) -> Findings:
        """Returns what `sdy-check` finds: unintended memory use and implicit communication.

        ignored, selected: codes of rules to skip, or to run only. expected: expected communication, such
        as "all_gather:fsdp". target: a device whose compiler's collectives are checked, as for
        `communication`. `shardy_py.check.check` has levels and limits too.

        Raises:
            ShardyError: an unknown code, or an expectation is invalid or names an unknown axis.
        """
        lint = extension("check")
        expect_each("expected", expected, str, "expected communication, such as ['all_gather:fsdp']")
        codes = "codes of rules, such as ['SDY002']"
        choice = lint.Choice(
            expect_each("selected", selected, str, codes), expect_each("ignored", ignored, str, codes)
        )
        limits = lint.Limits(stage=stage_of(target))
        return lint.check(self, choice, limits, expected=tuple(expected))

    @without_collection()
    def what_if(
        self,
        edits: Edits | None = None,
        *,
        mesh: MeshLike | Mapping[str, object] | None = None,
        target: AxisPlacement | Hardware | str | None = None,
        partitioner: Partitioner | None = None,
    ) -> Comparison:
        """Propagates again with annotations added, changed or (None) removed, and compares.

        mesh: replaces the only mesh of the program that has axes, or several by name. target, partitioner:
        which collectives are compared, as for `communication`.

        Raises:
            ShardyError: unknown mesh, or edits that `Program.annotate` rejects.
        """
        if partitioner is not None:
            expect_one_of("partitioner", partitioner, PARTITIONERS)
        stage = stage_of(target)
        return extension("what_if").what_if(self, {} if edits is None else edits, mesh, partitioner, stage)
