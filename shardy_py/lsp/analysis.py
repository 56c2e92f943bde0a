"""A text of MLIR, read, verified, propagated and checked: what is wrong, and facts about its values.

    found = analyse(text, "model.mlir", CheckSettings())
    found.problems, found.facts
    checked(found, "model.mlir", CheckSettings()).problems      with findings, which take longer

Findings whose position is in another file, as the Python that a program was traced from, are placed at the op
of that position. Not here: documents and when they are analysed (`documents.py`), the protocol (`server.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from shardy_py.api import Program, Result, Value, propagate
from shardy_py.api.reading import taken_module
from shardy_py.base import releases
from shardy_py.base.errors import Diagnostic, Position, Severity, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.source_files import default_roots
from shardy_py.check import CheckSettings, Finding, findings_in, without_meant
from shardy_py.lsp.facts import Key, ValueFact, definition_of, facts_of, name_by_definition
from shardy_py.lsp.names import NameIndex, names_in
from shardy_py.lsp.places import LineTable
from shardy_py.mlir.programs import parse_program
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts

_UNKNOWN_DIALECT = "Dialect `"
"""The beginning of the message on an op in the form of a dialect that is not known."""


@dataclass(frozen=True, slots=True)
class TextProblem:
    """Something that is wrong with a text, from `start` to `end`.

    code: of a finding; "" of the reader and the verifier. finding: with its remedies; None for these.
    elsewhere: the position of a finding in another file.
    """

    start: int
    end: int
    severity: Severity
    message: str
    code: str = ""
    finding: Finding | None = None
    elsewhere: Position | None = None


@dataclass(frozen=True)
class Analysis:
    """The knowledge about a text.

    facts: by the definitions of values; {} if it cannot be read. result: None then.
    """

    text: str
    index: NameIndex
    problems: tuple[TextProblem, ...] = ()
    facts: Mapping[Key, ValueFact] = field(default_factory=dict[Key, ValueFact])
    result: Result | None = None


def analyse(text: str, file: str, settings: CheckSettings) -> Analysis:
    """Returns what is wrong with the text of a file as a program, and the facts about its values."""
    index = names_in(text)
    try:
        with releases.of(settings.release or releases.current()):
            result = _propagated(text, file, settings)
            return Analysis(text, index, (), facts_of(result), result)
    except ShardyError as error:
        faults = error.diagnostics
    except RecursionError:
        faults = (Diagnostic("the program is nested too deeply"),)
    lines = LineTable(text)
    return Analysis(text, index, tuple(_of_diagnostic(each, file, lines) for each in faults))


def checked(found: Analysis, file: str, settings: CheckSettings) -> Analysis:
    """Returns an analysis with what the linter finds."""
    result, lines = found.result, LineTable(found.text)
    if result is None:
        return found
    with releases.of(settings.release or releases.current()):
        try:
            findings = _findings(result, file, settings)
        except ShardyError as error:
            problems = (_of_diagnostic(each, file, lines) for each in error.diagnostics)
            return replace(found, problems=(*found.problems, *problems))
        placing = _Placing(result, file, found.index, lines)
        return replace(found, problems=(*found.problems, *map(placing.problem, findings)))


def _propagated(text: str, file: str, settings: CheckSettings) -> Result:
    module = parse_program(text, file, allow_unregistered=True, verified=True)
    name_by_definition(module)
    set_trip_counts(module, TripCounts.parse(settings.trip_counts))
    read = taken_module(module, as_compiled=settings.as_compiled, has_steps=settings.propagate)
    roots = default_roots(file) if settings.source_roots is None else settings.source_roots
    program = Program(read.module, roots, read.taken)
    if settings.propagate:
        return propagate(program, progress=False)

    def again(changed: Program) -> Result:
        return propagate(changed, progress=False)

    return Result(program, program, (), again)


def _findings(result: Result, file: str, settings: CheckSettings) -> tuple[Finding, ...]:
    found = findings_in(result, settings.choice(file), settings.limits())
    return without_meant(result, found, settings.expect, is_strict=False)[0]


def _of_diagnostic(diagnostic: Diagnostic, file: str, lines: LineTable) -> TextProblem:
    place = diagnostic.where
    is_here = place is not None and place.file == file
    start = lines.offset_of(place.line, place.column) if place is not None and is_here else 0
    notes = "".join(f"\nnote: {note.message}" for note in diagnostic.notes)
    severity, message = diagnostic.severity, f"{diagnostic.message}{notes}"
    if diagnostic.message.startswith(_UNKNOWN_DIALECT):
        severity = "note"
        message = f"{diagnostic.message.partition(';')[0].strip()}: only its names are followed"
    return TextProblem(start, _word_end(lines.text, start), severity, message)


def _word_end(text: str, start: int) -> int:
    """The end of the word or name at an offset; of the character, where there is none."""
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] in "%@#._$-"):
        end += 1
    return end if end > start else min(start + 1, len(text))


@dataclass
class _Placing:
    """Finds the place in a text of what is found in its program."""

    result: Result
    file: str
    index: NameIndex
    lines: LineTable

    def problem(self, finding: Finding) -> TextProblem:
        start, end = self._span(finding)
        place = finding.position
        elsewhere = place if place is not None and not self._is_here(place) else None
        message = f"{finding.message}\n{finding.remedy}"
        return TextProblem(start, end, finding.level, message, finding.code, finding, elsewhere)

    def _is_here(self, place: Position) -> bool:
        return os.path.basename(place.file) == os.path.basename(self.file) and place.file.endswith(self.file)

    def _span(self, finding: Finding) -> tuple[int, int]:
        name = finding.subject.removeprefix("@")
        if finding.subject.startswith("@") and (symbol := self.index.symbols.get(f"@{name}")):
            return symbol.start, symbol.end
        alike = self._alike(finding)
        function = self.index.symbols.get(f"@{finding.function}")
        if function is not None and any(value.role == "result" for value in alike):
            return function.start, function.end
        for value in (*alike, *self._at(finding.position)):
            if (found := definition_of(self.index, value.file_name)) is not None:
                return found.start, found.end
        place = finding.position
        if place is not None and self._is_here(place):
            start = self.lines.offset_of(place.line, place.column)
            return start, _word_end(self.lines.text, start)
        return (0, 1) if function is None else (function.start, function.end)

    def _alike(self, finding: Finding) -> list[Value]:
        """The values that have the name of the subject of a finding."""
        own = (value for value in self.result.values if value.function == finding.function)
        return [value for value in own if finding.subject in (value.label, value.name)]

    def _at(self, place: Position | None) -> Iterator[Value]:
        if place is not None:
            yield from (v for v in self.result.values if position_of(v.entry.location) == place)
