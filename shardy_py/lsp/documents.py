"""The documents that an editor has open: their texts, and the last analyses of them.

What an editor asks is answered from the names of the current text, and the facts of the last one that could
be read. Not here: when documents are analysed, and the protocol (`server.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field

from shardy_py.base.errors import Position, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.check import CheckSettings, Finding, SettingsFinder
from shardy_py.lsp.analysis import Analysis, TextProblem, analyse, checked
from shardy_py.lsp.edits import TextChange, edits_of
from shardy_py.lsp.facts import Key, ValueFact, facts_at, hint_text
from shardy_py.lsp.names import NameDefinition, NameIndex, names_in
from shardy_py.lsp.places import LineTable

LARGEST = 2_000_000
"""Characters of a text whose names are found each time that it changes."""
_TITLE = 100
"""Characters of the title of a remedy."""


@dataclass(frozen=True, slots=True)
class OfferedRemedy:
    """A remedy of a problem as changes of the document, or of source files.

    files: by path, what to replace: from and to, lines from 1 and columns from 0, and the new text.
    """

    title: str
    problem: TextProblem
    changes: tuple[TextChange, ...] = ()
    files: Mapping[str, tuple[tuple[Position, Position, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[Position, Position, str], ...]]
    )


@dataclass
class OpenDocument:
    """A document. latest: the last analysis; good: the last one of a text that could be read."""

    file: str
    text: str = ""
    latest: Analysis | None = None
    good: Analysis | None = None
    _index: NameIndex | None = field(default=None, repr=False)
    _lines: LineTable | None = field(default=None, repr=False)

    def change(self, text: str) -> None:
        """Replaces the text."""
        if text != self.text or self._lines is None:
            self.text, self._index, self._lines = text, None, LineTable(text)

    @property
    def lines(self) -> LineTable:
        """The lines of the text."""
        if self._lines is None:
            self._lines = LineTable(self.text)
        return self._lines

    @property
    def index(self) -> NameIndex:
        """The names of the text; none of a large one that was not analysed yet."""
        if self._index is None:
            is_analysed = self.latest is not None and self.latest.text == self.text
            if self.latest is not None and is_analysed:
                self._index = self.latest.index
            elif len(self.text) <= LARGEST:
                self._index = names_in(self.text)
            else:
                return NameIndex((), ())
        return self._index

    @property
    def facts(self) -> Mapping[Key, ValueFact]:
        """The facts of the last text that could be read."""
        return {} if self.good is None else self.good.facts

    def keep(self, found: Analysis) -> None:
        """Notes an analysis."""
        self.latest = found
        if found.result is not None:
            self.good = found

    def hints(self, start: int, end: int) -> Iterator[tuple[NameDefinition, str, str]]:
        """Returns the definitions from `start` to `end` with their shardings, and types on each device."""
        for definition in self.index.definitions:
            if definition.name[0] == "%" and start <= definition.start <= end:
                facts = facts_at(self.facts, definition)
                if text := hint_text(facts):
                    local = ", ".join(fact.local_type or fact.type for _, fact in facts)
                    yield definition, text, f"on each device {local}"

    def problems(self) -> tuple[TextProblem, ...]:
        """The problems of the last analysis."""
        return () if self.latest is None else self.latest.problems

    def remedies(self, start: int, end: int) -> Iterator[OfferedRemedy]:
        """Returns the remedies of problems between offsets, of the text as it was analysed."""
        latest = self.latest
        if latest is None or latest.result is None or latest.text != self.text:
            return
        for problem in latest.problems:
            finding = problem.finding
            if finding is None or problem.end < start or problem.start > end:
                continue
            title = _title(finding)
            change = finding.change
            annotations = finding.annotations or (() if change is None else change.annotations)
            edits = edits_of(self.text, self.index, latest.facts, annotations) if annotations else ()
            if edits:
                yield OfferedRemedy(f"{title} (in this program)", problem, edits)
            files: dict[str, tuple[tuple[Position, Position, str], ...]] = {}
            for fix in () if change is None else change.fixes:
                path = self.path_of(fix.start.file)
                files[path] = (*files.get(path, ()), (fix.start, fix.end, fix.new))
            if files and "" not in files:
                yield OfferedRemedy(title, problem, files=files)

    def path_of(self, file: str) -> str:
        """Returns the path of a source file that the program names; "" if it is not below its folders."""
        latest = self.latest
        return "" if latest is None or latest.result is None else latest.result.source.sources.path_of(file)


def _title(finding: Finding) -> str:
    remedy = finding.change.words if finding.change is not None else finding.remedy
    first = remedy.splitlines()[0] if remedy else finding.message
    return f"{finding.code}: {first if len(first) <= _TITLE else f'{first[: _TITLE - 3]}...'}"


def first_analysis(text: str, file: str) -> tuple[Analysis, CheckSettings]:
    """Returns what is wrong with a text as a program, and the settings of its folder."""
    settings, problems = CheckSettings(), ()
    try:
        settings = SettingsFinder(_content).of_folder(os.path.dirname(file) or os.curdir)
    except (ShardyError, OSError, ValueError) as error:
        problems = (TextProblem(0, min(1, len(text)), "warning", str(error)),)
    found = analyse(text, file, settings)
    return Analysis(text, found.index, (*problems, *found.problems), found.facts, found.result), settings


def second_analysis(found: Analysis, file: str, settings: CheckSettings) -> Analysis:
    """Returns an analysis with what the linter finds."""
    return checked(found, file, settings)


def _content(file: str) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()
