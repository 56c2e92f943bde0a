"""The two kinds of failure: a user's mistake, and a bug of ours.

A `ShardyError` states a fact about the input (what, where, expected, got, how to fix) and is shown without a
traceback. An `InternalError` says that this package broke a promise of its own, and asks for a report.
Positions are attached where they are known: `text/` adds file, line and column, `cli` prints them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source text: `file:line:column`, lines and columns counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of MLIR's kind: severity, text and place (None: unknown location), with notes under it."""

    message: str
    position: Position | None = None
    severity: Severity = "error"
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position else ""
        return f"{place}{self.severity}: {self.message}"

    def at(self, position: Position) -> Diagnostic:
        """The same diagnostic at `position`, unless it has one already."""
        return self if self.position else replace(self, position=position)


class ShardyError(Exception):
    """A mistake in the input; carries the diagnostics to show, the first of them the error itself."""

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        self.diagnostics = tuple(d if isinstance(d, Diagnostic) else Diagnostic(d) for d in diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))


class InternalError(Exception):
    """A broken promise of this package: please report it with the input that shows it."""


@dataclass(frozen=True, slots=True)
class _Collector:
    warnings: list[Diagnostic]
    given: set[str]


_COLLECTOR: ContextVar[_Collector | None] = ContextVar("collector", default=None)


def warn(message: str, position: Position | None = None) -> None:
    """Hand a warning to whoever collects them; without a collector it is lost."""
    collector = _COLLECTOR.get()
    if collector is not None:
        collector.warnings.append(Diagnostic(message, position, "warning"))


def warn_once(kind: str, message: str, position: Position | None = None) -> None:
    """Hand over a warning unless one of its kind has been given before.

    >>> with collected_warnings() as warnings:
    ...     warn_once("parity", "1 is odd")
    ...     warn_once("parity", "3 is odd")
    >>> len(warnings)
    1
    """
    collector = _COLLECTOR.get()
    if collector is not None and kind not in collector.given:
        collector.given.add(kind)
        warn(message, position)


@contextmanager
def collected_warnings(given: set[str] | None = None) -> Generator[list[Diagnostic]]:
    """The list to which all warnings given within are added.

    given: the kinds that `warn_once` has given before, to which it adds; None: it has given none.

    >>> with collected_warnings() as warnings:
    ...     warn("odd")
    >>> str(warnings[0])
    'warning: odd'
    """
    collector = _Collector([], set() if given is None else given)
    token = _COLLECTOR.set(collector)
    try:
        yield collector.warnings
    finally:
        _COLLECTOR.reset(token)
