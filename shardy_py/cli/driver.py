"""One run of `sdy-opt`: text in, text and diagnostics out. Reads and writes no file.

    source -> chunks -> module -> steps -> text        (a failing chunk gives diagnostics and no text)

Not here: the command line (`flags.py`), files and exit codes (`cli/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from shardy_py.cli.expectations import read_expectations, unmet
from shardy_py.cli.flags import Command
from shardy_py.cli.observers import DumpIR, Observer, Stopwatch
from shardy_py.dialects import parse_module, print_module
from shardy_py.dialects.verification import verify_module
from shardy_py.errors import Diagnostic, ShardyError, collected_warnings
from shardy_py.passes import PassCall
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
    """What a run gave: the text to write, and whether all went well."""

    output: str
    succeeded: bool


def run(command: Command, source: str, file: str, log: Callable[[str], object]) -> Outcome:
    """Runs the command on the text of `file`; diagnostics, dumps and times go to `log` as they come."""
    driver = _Driver(command, file, log)
    outputs: list[str | None] = []
    for chunk in split_chunks(source, command.split_marker):
        output, diagnostics = driver.process(chunk)
        outputs.append(output)
        if command.verify_diagnostics:
            diagnostics = _unmet(command, chunk, diagnostics, file)
        for diagnostic in diagnostics:
            log(render(diagnostic, {file: source}) + "\n")
        driver.has_failed |= any(d.severity == "error" for d in diagnostics)
    if driver.stopwatch:
        log(driver.stopwatch.report())
    return Outcome(_joined(outputs, command.output_split_marker), not driver.has_failed)


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


class _Driver:
    def __init__(self, command: Command, file: str, log: Callable[[str], object]) -> None:
        self.command = command
        self.file = file
        self.context = make_context()
        self.stopwatch = Stopwatch() if command.with_timing else None
        self.has_failed = False
        self.warned_of: set[str] = set()
        self.observers: tuple[Observer, ...] = ()
        if command.print_before != () or command.print_after != ():
            self.observers = (DumpIR(command.print_before, command.print_after, self.print, log),)

    def process(self, chunk: Chunk) -> tuple[str | None, tuple[Diagnostic, ...]]:
        """The text of one chunk after all steps, None after a failure; and diagnostics, warnings first."""
        with collected_warnings(self.warned_of) as warnings:
            output, errors = self._process(chunk)
        return output, (*warnings, *errors)

    def _process(self, chunk: Chunk) -> tuple[str | None, tuple[Diagnostic, ...]]:
        try:
            with self.time("Parser"):
                module = parse_module(
                    chunk.text,
                    self.file,
                    allow_unregistered=self.command.allow_unregistered,
                    first_line=chunk.first_line,
                )
                verify_module(module)
            self.transform(module)
            with self.time("Output"):
                return self.print(module), ()
        except ShardyError as error:
            return None, error.diagnostics

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
