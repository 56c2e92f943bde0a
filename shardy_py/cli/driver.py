"""One run of `sdy-opt`: text in, text and diagnostics out. Reads and writes no file.

    source -> chunks -> module -> steps -> text, reports       (a failing chunk gives diagnostics and no text)

Not here: the command line (`flags.py`), files and exit codes (`cli/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from shardy_py.cli.expectations import read_expectations, unmet
from shardy_py.cli.flags import Command
from shardy_py.cli.observers import DumpIR, Observer, Stopwatch
from shardy_py.cli.reports import Evidence, reports_json, reports_text
from shardy_py.dialects import parse_module, print_module
from shardy_py.dialects.verification import verify_module
from shardy_py.errors import Diagnostic, ShardyError, collected_warnings
from shardy_py.graph.cloning import clone
from shardy_py.passes import PassCall
from shardy_py.passes.recording import recording
from shardy_py.progress import progress
from shardy_py.text.diagnostics import render
from shardy_py.text.xdsl_fallback import make_context

NEW_LINE = "\n"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A program within a source; `first_line` is its place in the file."""

    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave: the text to write, whether all went well, and the reports to show."""

    output: str
    succeeded: bool
    reports: str = ""


def run(command: Command, source: str, file: str, log: Callable[[str], object]) -> Outcome:
    """Runs the command on the text of `file`; diagnostics, dumps and times go to `log` as they come."""
    driver = _Driver(command, file, log)
    results: list[_Result] = []
    for chunk in split_chunks(source, command.split_marker):
        result, diagnostics = driver.process(chunk)
        results.append(result)
        if command.verify_diagnostics:
            diagnostics = _unmet(command, chunk, diagnostics, file)
        for diagnostic in diagnostics:
            log(render(diagnostic, {file: source}) + "\n")
        driver.has_failed |= any(d.severity == "error" for d in diagnostics)
    if driver.stopwatch:
        log(driver.stopwatch.report())
    output = _joined([result.output for result in results], command.output_split_marker)
    reports = _joined_reports([result.report for result in results], command)
    return Outcome(output, not driver.has_failed, reports)


def split_chunks(source: str, marker: str | None) -> Iterator[Chunk]:
    """The parts of a source between lines that start with `marker`."""
    if not marker:
        yield Chunk(source)
        return
    start = 0
    lines = source.split("\n")
    for number, line in enumerate([*lines, marker]):
        if line.startswith(marker):
            yield Chunk("\n".join(lines[start:number]) + "\n", start + 1)
            start = number + 1


@dataclass(frozen=True, slots=True)
class _Result:
    """The text of a chunk's module, and of the reports on it; None after a failure or where not asked for."""

    output: str | None = None
    report: str | None = None


class _Driver:
    def __init__(self, command: Command, file: str, log: Callable[[str], object]) -> None:
        self.command = command
        self.file = file
        self.context = make_context()
        self.stopwatch = Stopwatch() if command.with_timing else None
        self.has_failed = False
        self.warned_of: set[str] = set()
        self.begin: Callable[[str], None] = lambda name: None
        self.observers: tuple[Observer, ...] = ()
        if command.print_before != () or command.print_after != ():
            self.observers = (DumpIR(command.print_before, command.print_after, self.print, log),)

    def process(self, chunk: Chunk) -> tuple[_Result, tuple[Diagnostic, ...]]:
        """What one chunk gives after all steps; and diagnostics, warnings first."""
        steps = 2 + sum(len(step.calls) for step in self.command.steps)
        # Dumps go to the terminal while passes run: a bar among them would be in their way.
        shown = not (self.command.hides_progress or self.observers)
        with collected_warnings(self.warned_of) as warnings, progress(steps, shown=shown) as self.begin:
            result, errors = self._process(chunk)
        return result, (*warnings, *errors)

    def _process(self, chunk: Chunk) -> tuple[_Result, tuple[Diagnostic, ...]]:
        try:
            self.begin("reading")
            with self.time("Parser"):
                module = parse_module(
                    chunk.text,
                    self.file,
                    allow_unregistered=self.command.allow_unregistered,
                    first_line=chunk.first_line,
                )
                verify_module(module)
            evidence = self.transform_watched(module)
            self.begin("writing")
            report = self.report(evidence) if self.command.reports else None
            if self.command.reports and self.command.output is None:
                return _Result(report=report), ()
            with self.time("Output"):
                return _Result(self.print(module), report), ()
        except ShardyError as error:
            return _Result(), error.diagnostics

    def transform_watched(self, module: ModuleOp) -> Evidence:
        """Runs all steps, and keeps what the reports want to know of them."""
        rows = [request.row for request in self.command.reports]
        before = cast(ModuleOp, clone(module, {})) if any(row.needs_before for row in rows) else None
        if not any(row.needs_record for row in rows):
            self.transform(module)
            return Evidence(module, before)
        with recording() as record:
            self.transform(module)
        return Evidence(module, before, record)

    def report(self, evidence: Evidence) -> str:
        """The text of the reports."""
        with self.time("Reports"):
            write = reports_json if self.command.reports_as_json else reports_text
            return write(self.command.reports, evidence)

    def transform(self, module: ModuleOp) -> None:
        """Runs all steps; verifies after each, or after each pass, as the command says."""
        for step in self.command.steps:
            for call in step.calls:
                self.apply(call, module)
                if self.command.verify_each:
                    self.verify(module)
            if self.command.verify_each is None:
                self.verify(module)

    def apply(self, call: PassCall, module: ModuleOp) -> None:
        """Runs one pass under the eyes of the observers."""
        self.begin(call.row.name)
        with self.time(call.row.class_name):
            transformation = call.build()
        for observer in self.observers:
            observer.before(call, module)
        failed = True
        try:
            with self.time(call.row.class_name):
                transformation.apply(self.context, module)
            failed = False
        finally:
            for observer in self.observers:
                observer.after(call, module, failed=failed)

    def verify(self, module: ModuleOp) -> None:
        with self.time("(V) verifier"):
            verify_module(module)

    def print(self, module: ModuleOp) -> str:
        return print_module(module, generic=self.command.is_generic, debuginfo=self.command.with_debuginfo)

    def time(self, name: str) -> AbstractContextManager[None]:
        return self.stopwatch.time(name) if self.stopwatch else nullcontext()


def _unmet(
    command: Command, chunk: Chunk, diagnostics: tuple[Diagnostic, ...], file: str
) -> tuple[Diagnostic, ...]:
    expectations = read_expectations(chunk.text, file, chunk.first_line)
    return unmet(diagnostics, expectations, only_expected=command.verify_diagnostics == "only-expected")


def _joined(outputs: list[str | None], marker: str) -> str:
    """The texts with marker lines between; a blank line ends each but the last, as from mlir-opt."""
    *parts, last = ("" if output is None else output for output in outputs)
    return "".join(f"{part and part + NEW_LINE}{marker}{NEW_LINE}" for part in parts) + last


def _joined_reports(reports: list[str | None], command: Command) -> str:
    if not command.reports:
        return ""
    if command.reports_as_json:
        return "".join(reports_json(command.reports, None) if r is None else r for r in reports)
    return _joined(reports, command.output_split_marker)
