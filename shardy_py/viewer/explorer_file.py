"""The explorer of a result: an HTML file that shows the program, saved, opened or shown in a notebook.

Not here: the page (`shardy_py.viewer.explorer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect, expect_each, shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement, Hardware
from shardy_py.hardware.cost import CostModel
from shardy_py.report.communication import CommunicationReport, Partitioner
from shardy_py.viewer.explorer import ShownFinding, Subject, document, page, source_lines

if TYPE_CHECKING:
    from shardy_py.api.compiled import Compiled
    from shardy_py.api.result import Result
    from shardy_py.report.compiled import CompiledReport

_HEIGHT = 720
"""Pixels, in a notebook."""


@dataclass(frozen=True)
class Explorer:
    """An HTML file in which a program is looked at: it needs a browser, and no network.

    html: its text. title: that of the page.
    """

    html: str
    title: str

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file, whole or not at all. Raises `ShardyError` if it cannot be written."""
        expect(path, (str, PathLike), "the path of a file")
        try:
            write_whole(fspath(path), self.html)
        except OSError as error:
            raise ShardyError(f"cannot open output file '{fspath(path)}': {error.strerror}") from error

    def show(self) -> Path:
        """Opens the page in a browser; returns the file, in a temporary folder."""
        import webbrowser
        from tempfile import mkdtemp

        path = Path(mkdtemp(prefix="shardy-explorer-")) / "program.html"
        self.save(path)
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        return f"Explorer({self.title!r}, {len(self.html):,} bytes)"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks; its scripts cannot reach those of the notebook."""
        frame = f'sandbox="allow-scripts allow-downloads" width="100%" height="{_HEIGHT}" style="border:0"'
        return f'<iframe {frame} srcdoc="{escape(self.html)}"></iframe>'


def explorer_of(subject: Subject, other: Subject | None = None) -> Explorer:
    """Returns the explorer of a program, or of two: the second as another state of the first."""
    return Explorer(page(document(subject, other)), subject.title)


def explorer_of_results(
    results: Sequence[Result],
    titles: Sequence[str],
    *,
    model: CostModel | str | None,
    partitioner: Partitioner | None,
    has_sources: bool,
    target: AxisPlacement | Hardware | str | None = None,
    compiled: Compiled | None = None,
) -> Explorer:
    """Returns the explorer of one or two results; see `Result.explorer`."""
    if len(expect_each("titles", titles, str, "a title for each program")) < len(results):
        raise ShardyError.unexpected("titles", expected="a title for each program", got=shown(titles))
    reports = [result.communication(model, target=target, partitioner=partitioner) for result in results]
    if len({report.partitioner for report in reports}) > 1:
        reports = [result.communication(model, target=target, partitioner="shardy") for result in results]
    joined = None
    if compiled is not None:
        if len(results) > 1:
            raise ShardyError("a compiled program is compared with one program: pass no other result")
        joined = results[0].against(compiled, target=target, model=model, partitioner=partitioner)
    subjects = (
        subject_of(
            result,
            title,
            report,
            has_sources=has_sources,
            has_verdict=len(results) == 1,
            findings=_findings(result, target),
            compiled=joined,
        )
        for result, title, report in zip(results, titles, reports, strict=False)
    )
    return explorer_of(*subjects)


def subject_of(
    result: Result,
    title: str,
    report: CommunicationReport,
    *,
    has_sources: bool,
    has_verdict: bool = False,
    findings: Sequence[ShownFinding] | None = None,
    compiled: CompiledReport | None = None,
) -> Subject:
    """Returns what a page shows of a result."""
    table, why_not = result.values.table, result.forecasts.why_not if result.record else None
    layouts = "linear" if report.stage is None else report.stage.placement
    shown = Subject(
        title,
        table,
        result.record,
        report,
        why_not,
        memory_bytes=result.memory(layouts, partitioner=report.partitioner).memory_bytes,
        verdict=None if report.verdict is None or not has_verdict else report.verdict(),
        findings=findings,
        compiled=compiled,
    )
    if not has_sources:
        return shown
    sources = result.source.sources
    return replace(shown, sources=source_lines(table, sources), lines=sources.lines)


def _findings(result: Result, target: AxisPlacement | Hardware | str | None) -> tuple[ShownFinding, ...]:
    return tuple(
        ShownFinding(f.code, f.level, f.message, f.remedy, f.subject, str(f.position or f.location))
        for f in result.check(target=target)
    )
