"""Memory reports in pickles: the text of the program and the estimate, which is computed before.

Not here: results in files (`shardy_py/api/saved.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import DEFAULT, Release, of
from shardy_py.base.session import without_collection
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.xla.buffers.estimated import MemoryEstimate
from shardy_py.xla.spmd.from_program import SpmdProgram

if TYPE_CHECKING:
    from shardy_py.report.memory.report import MemoryReport

Parts = tuple[str, str, MemoryEstimate | None, str, Release]
"""Program, target or chip, the estimate, and why there is none; the release."""


def reduced(report: MemoryReport) -> tuple[Callable[..., Any], Parts]:
    """Returns how the report is restored, as `__reduce__` does."""
    estimate, problem = None, ""
    try:
        estimate = report.estimate
    except ShardyError as error:
        problem = error.first.message
    target = report.target if report.chip is None else report.chip.name
    return restored, (print_module(report.module, debuginfo=True), target, estimate, problem, report.release)


@without_collection()
def restored(
    text: str, target: str, estimate: MemoryEstimate | None, problem: str, release: Release = DEFAULT
) -> MemoryReport:
    """Returns the report of these parts."""
    from shardy_py.report.memory.report import memory_report

    def failing() -> SpmdProgram:
        raise ShardyError(problem)

    with of(release):
        report = memory_report(parse_module(text, "<memory report>"), target, failing)
    if estimate is not None:
        # That of the program with its collectives.
        object.__setattr__(report, "estimate", estimate)
    return report
