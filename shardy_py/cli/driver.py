"""One run of `sdy-opt`: text in, text and diagnostics out; accesses no files.

    source -> chunks -> module -> steps -> text, reports       (a failing chunk gives diagnostics and no text)

Not here: the command line (`flags.py`), files and exit codes (`opt.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.base.errors import (
    Diagnostic,
    ShardyError,
    collected_warnings,
    located,
)
from shardy_py.base.progress import progress
from shardy_py.base.records import dataclass
from shardy_py.cli.as_compiled import remark_on
from shardy_py.cli.chunks import Chunk, split_chunks
from shardy_py.cli.expectations import read_expectations, unmet
from shardy_py.cli.flag_values import texts_of
from shardy_py.cli.flags import Command
from shardy_py.cli.propagated import BeforePasses
from shardy_py.cli.reports import Evidence, reports_csv, reports_json, reports_text
from shardy_py.cli.torch_plans import planned_program
from shardy_py.cli.understood import say_unread, understood, write_remarks
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import print_module
from shardy_py.mlir.programs import parse_program
from shardy_py.mlir.text.source import render_all
from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts
from shardy_py.passes import PassCall
from shardy_py.passes.partitioned import Before
from shardy_py.passes.runner import Observer, progress_observer, recording, run_passes
from shardy_py.xla.gspmd.missing import remarks_on_missing
from shardy_py.xla.gspmd.understanding import foreign_shardings, require_understood, split_imports
from shardy_py.xla.prepare.taken import Taken, how_taken, run_steps

_RULE = f"===-{'-' * 73}-==="


@dataclass(slots=True)
class Stopwatch:
    """Seconds by name, in the order of first use; a name used again adds up."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def time(self, name: str) -> Generator[None]:
        """Adds the time spent inside to `name`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def report(self) -> str:
        """The report as MLIR prints it."""
        total = sum(self.seconds.values())
        rows = [*self.seconds.items(), ("Total", total)]
        lines = [_RULE, "... Execution time report ...".center(len(_RULE)).rstrip(), _RULE]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += (f"  {s:>8.4f} ({s / total if total else 0:>6.1%})  {name}" for name, s in rows)
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class DumpIR:
    """Prints the module before and after the passes named; None: all of them."""

    names_before: tuple[str, ...] | None
    names_after: tuple[str, ...] | None
    print_module: Callable[[ModuleOp], str]
    write: Callable[[str], object]

    @contextmanager
    def __call__(self, call: PassCall | None, module: ModuleOp) -> Generator[None]:
        """Dumps around a pass; nothing around the verifier."""
        if call is None:
            yield
            return
        if self.names_before is None or call.row.name in self.names_before:
            self._dump("Before", call, module)
        outcome = " Failed"
        try:
            yield
            outcome = ""
        finally:
            if self.names_after is None or call.row.name in self.names_after:
                self._dump("After", call, module, outcome)

    def _dump(self, when: str, call: PassCall, module: ModuleOp, outcome: str = "") -> None:
        title = f"// -----// IR Dump {when} {call.row.class_name}{outcome} ({call.row.name}) //----- //"
        self.write(f"{title}\n{self.print_module(module)}\n\n")


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run: the text or bytecode to write, whether it succeeded, and the reports to print."""

    output: str | bytes
    succeeded: bool
    reports: str = ""


def run(command: Command, source: str | bytes, file: str, log: Callable[[str], object]) -> RunOutcome:
    """Runs the command on the content of `file`; diagnostics, dumps and times go to `log` as they come."""
    driver = _Driver(command, file, log)
    results: list[_Result] = []
    texts = {file: source} if isinstance(source, str) else {}
    for chunk in split_chunks(source, command.split_marker):
        result, diagnostics = driver.process(chunk)
        results.append(result)
        if command.verify_diagnostics:
            expectations = read_expectations(chunk.text, file, chunk.first_line)
            only_expected = command.verify_diagnostics == "only-expected"
            diagnostics = unmet(diagnostics, expectations, only_expected=only_expected)
        if diagnostics:
            log(render_all(diagnostics, {**texts, **driver.arguments}) + "\n")
        driver.has_failed |= any(d.severity == "error" for d in diagnostics)
    if driver.stopwatch:
        log(driver.stopwatch.report())
    output = _written([result.output for result in results], command)
    texts = [result.report for result in results]
    if command.reports_as_json:
        reports = "".join(reports_json(command.reports, None) if text is None else text for text in texts)
    else:
        reports = _joined(texts, command.output_split_marker) if command.reports else ""
    return RunOutcome(output, not driver.has_failed, reports)


@dataclass(frozen=True, slots=True)
class _Result:
    """The text or bytecode of a chunk's module, and its reports; None after a failure or if not requested."""

    output: str | bytes | None = None
    report: str | None = None


class _Driver:
    def __init__(self, command: Command, file: str, log: Callable[[str], object]) -> None:
        self.command = command
        self.file = file
        self.log = log
        self.stopwatch = Stopwatch() if command.with_timing else None
        self.has_failed = False
        self.warned_of: set[str] = set()
        self.arguments: dict[str, str] = {}
        self.dumps: tuple[Observer, ...] = ()
        if command.print_before != () or command.print_after != ():
            self.dumps = (DumpIR(command.print_before, command.print_after, self.print, log),)

    def process(self, chunk: Chunk) -> tuple[_Result, tuple[Diagnostic, ...]]:
        steps = 2 + sum(len(step.calls) for step in self.command.steps)
        # Dumps go to the terminal while passes run, where a progress bar would interfere.
        shown = not (self.command.hides_progress or self.dumps)
        with collected_warnings(self.warned_of) as warnings, progress(steps, shown=shown) as begin:
            try:
                with located(chunk.place(self.file)):
                    result, errors = self._result(chunk, begin), ()
            except ShardyError as error:
                result, errors = _Result(), error.diagnostics
                self.arguments |= texts_of(error)
        return result, (*warnings, *errors)

    def _result(self, chunk: Chunk, begin: Callable[[str], None]) -> _Result:
        begin("reading")
        with self.time("Parser"):
            module = self.parsed(chunk)
            set_trip_counts(module, TripCounts.parse(self.command.trip_counts))
        reported, taken = self.prepare(module)
        evidence = self.transform(module, taken, begin)
        if reported is not module:
            evidence = self.transform(reported, taken, lambda _: None)
        begin("writing")
        report = None
        if self.command.reports:
            with self.time("Reports"):
                require_understood(evidence.after)
                write = reports_json if self.command.reports_as_json else reports_text
                write = reports_csv if self.command.reports_as_csv else write
                report = write(self.command.reports, evidence)
            if self.command.output is None:
                return _Result(report=report)
        with self.time("Output"):
            return _Result(self.written(module), report)

    def parsed(self, chunk: Chunk) -> ModuleOp:
        command = self.command
        planned = planned_program(chunk.content, self.file, command.torch_plan)
        if planned is not None:
            return planned.module
        lenient, line = command.allow_unregistered, chunk.first_line
        return parse_program(
            chunk.content, self.file, allow_unregistered=lenient, first_line=line, verified=True
        )

    def prepare(self, module: ModuleOp) -> tuple[ModuleOp, Taken]:
        """Makes the module as compiled if a flag says so; returns the one for reports, and how it is taken.

        A program of JAX is printed as its passes make it, but reported as JAX compiles it; shardings other
        than sdy's are imported for reports only, unless a pass of the command line imports them. For both,
        the module for reports is a copy. XLA's steps run if a flag says so, or before reports on propagation.
        """
        command = self.command
        if not command.reports and command.as_compiled is None:
            taken = Taken(False)
        else:
            taken = how_taken(module, command.as_compiled)
        is_asked = command.as_compiled is True
        has_steps = taken.is_compiled and (is_asked or command.reports_on_propagation)
        is_imported = bool(command.reports) and not split_imports(command.calls)[0]
        is_of_reports = (has_steps and not is_asked) or (is_imported and bool(foreign_shardings(module)))
        reported = module
        if is_of_reports and command.output is not None:
            reported = clone(module, {})
            if is_asked:
                run_steps(module, taken)
        if is_imported:
            understood(reported, self.file, self.log)
        elif not command.reports and any(call.row.propagates for call in command.calls):
            say_unread(module, self.file, command.calls, self.log)
        if command.reports_on_propagation:
            remark_on(taken, self.file, self.log)
        if any(request.row.needs_shardings for request in command.reports):
            write_remarks(remarks_on_missing(reported), self.file, self.log)
        if has_steps:
            run_steps(reported, taken)
        return reported, taken

    def transform(self, module: ModuleOp, taken: Taken, begin: Callable[[str], None]) -> Evidence:
        def timer(call: PassCall | None, module: ModuleOp) -> AbstractContextManager[None]:
            return self.time(call.row.class_name if call else "(V) verifier")

        command, observers = self.command, (progress_observer(begin), *self.dumps, timer)
        rows = [request.row for request in command.reports]
        before, after, start = None, [step.calls for step in command.steps], 0
        source = self.before(module, sum(after, ())) if any(row.tries for row in rows) else None
        with recording() if any(row.needs_record for row in rows) else nullcontext() as record:
            if any(row.needs_whole for row in rows):  # of what was imported: before, values have other types
                imports, rest = split_imports(command.calls)
                after = [rest]
                if imports:
                    run_passes(module, imports, verify=command.verify, observers=observers)
                before, start = Before(module), 0 if record is None else len(record.events)
                observers = (*observers, before.observer)
            for calls in after:
                run_passes(module, calls, verify=command.verify, observers=observers)
        events = () if record is None else record.events
        partitioned = None if before is None else before.partitioned(sum(after, ()), events[start:])
        shapes, bisects = command.proof_shapes, command.bisects
        by = command.partitioner
        target = command.target
        return Evidence(module, record, partitioned, shapes, bisects, by, taken, target, source)

    def before(self, module: ModuleOp, calls: tuple[PassCall, ...]) -> BeforePasses | None:
        """A copy of the program before the passes; None if they do not propagate a program of sdy."""
        if not any(call.row.propagates for call in calls) or split_imports(calls)[0]:
            return None
        if self.command.reports_as_csv:
            return None
        copies: dict[SSAValue, SSAValue] = {}
        copy = clone(module, copies)
        return BeforePasses(copy, {new: old for old, new in copies.items()}, calls, self.file)

    def written(self, module: ModuleOp) -> str | bytes:
        if self.command.emits_bytecode:
            from shardy_py.mlir.bytecode import write_bytecode

            return write_bytecode(module)
        return self.print(module)

    def print(self, module: ModuleOp) -> str:
        return print_module(module, generic=self.command.is_generic, debuginfo=self.command.with_debuginfo)

    def time(self, name: str) -> AbstractContextManager[None]:
        return self.stopwatch.time(name) if self.stopwatch else nullcontext()


def _written(outputs: list[str | bytes | None], command: Command) -> str | bytes:
    """The texts of all parts of a file, or the bytecode of its only one."""
    if command.emits_bytecode:
        return b"".join(output for output in outputs if isinstance(output, bytes))
    texts = [None if output is None else str(output) for output in outputs]
    return _joined(texts, command.output_split_marker)


def _joined(outputs: list[str | None], marker: str) -> str:
    """The texts with marker lines between; a blank line ends each but the last, as from mlir-opt."""
    *parts, last = (output or "" for output in outputs)
    return "".join(f"{part}\n{marker}\n" if part else f"{marker}\n" for part in parts) + last
