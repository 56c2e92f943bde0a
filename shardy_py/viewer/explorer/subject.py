"""The subject of a page: a propagated program with what is known of it.

Not here: the data that is made of it (`document.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.mlir.value_table import ValueTable
from shardy_py.propagation.graph.run_record import Record
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.verdict import Verdict
from shardy_py.viewer.explorer.judged import Lines

if TYPE_CHECKING:
    from shardy_py.report.compiled import CompiledReport
    from shardy_py.report.explain import WhyNot


def _no_lines(_: str) -> Sequence[str]:
    return ()


class ShownFinding(NamedTuple):
    """A finding of the linter.

    value: the name in the program of the value that it is on, or another subject.
    """

    code: str
    level: str
    message: str
    remedy: str
    value: str
    place: str


@dataclass(frozen=True, eq=False)
class Subject:
    """A propagated program with what is known of it.

    record: of the passes; None: there is nothing to play. communication: its collectives.
    why_not: answers why axes are not used; None: unknown.
    sources: the lines of source files, by file and line number.
    memory_bytes: of the memory report; None: unknown.
    verdict: with which the page opens; None: it opens without. lines: of source files, for changes of them.
    findings: of the linter; None: they are not asked for. compiled: what a compiler made of the program.
    """

    title: str
    table: ValueTable
    record: Record | None = None
    communication: CommunicationReport | None = None
    why_not: WhyNot | None = None
    sources: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])
    memory_bytes: int | None = None
    verdict: Verdict | None = None
    lines: Lines = _no_lines
    findings: Sequence[ShownFinding] | None = None
    compiled: CompiledReport | None = None
