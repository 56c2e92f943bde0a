"""The two kinds of failure: a mistake in the input, and a bug in this package.

A `ShardyError` says what is wrong, where, what was expected, what was found, and what to do about it. It is
shown without a traceback. An `InternalError` says that this package broke one of its own invariants.

>>> raise ShardyError.unknown("axis", "y", ("data", "modl"))
Traceback (most recent call last):
...
shardy_py.base.errors.ShardyError: error: unknown axis 'y': expected one of 'data', 'modl'

Inner layers state the facts; outer layers add the place: `mlir/text/` has files and lines, `cli/` prints
them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Literal

from shardy_py.base.records import dataclass
from shardy_py.base.terminal import without_controls

Severity = Literal["error", "warning", "remark", "note"]

_LONGEST = 4_000
"""Characters of a message at most: a name in it may be as long as the input."""
_LISTED = 12
"""Known names that a message lists at most."""
_SEPARATORS = str.maketrans("", "", "-_ .")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source text: `file:line:column`, lines and columns counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class WholeFile(Position):
    """A file as a whole, or bytes in a file that is not text: shown as the name of the file.

    >>> str(WholeFile("model.mlirbc"))
    'model.mlirbc'
    """

    def __init__(self, file: str) -> None:
        super().__init__(file, 0, 0)

    def __str__(self) -> str:
        return self.file


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message, as MLIR shows them.

    what: the fact, with the op, operand or option it is about.
    where: None if the location is unknown.
    notes: further diagnostics, shown below it.
    expected, got: what would be valid, and what was found instead; empty if `what` says it.
    remedy: what the user can do; empty if that is obvious.
    subject: the part of the input that is wrong, by which an outer layer finds its place; None if unknown.

    >>> str(Diagnostic("operand 1", expected="rank 2", got="rank 3", remedy="reshape it"))
    'error: operand 1: expected rank 2, got rank 3; reshape it'
    """

    what: str
    where: Position | None = None
    severity: Severity = "error"
    notes: tuple[Diagnostic, ...] = ()
    expected: str = ""
    got: str = ""
    remedy: str = ""
    subject: str | None = None

    @property
    def message(self) -> str:
        """The text without place and severity: `what: expected E, got G; remedy`."""
        if not (self.expected or self.got or self.remedy):
            return _shortened(self.what)
        pair = (self.expected and f"expected {self.expected}", self.got and f"got {self.got}")
        fact = ": ".join(filter(None, (self.what, ", ".join(filter(None, pair)))))
        return _shortened("; ".join(filter(None, (fact, self.remedy))))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return without_controls(f"{place}{self.severity}: {self.message}")

    def at(self, where: Position) -> Diagnostic:
        """Returns the diagnostic at `where`, or unchanged if it has a place."""
        return self if self.where else replace(self, where=where)


def _shortened(message: str) -> str:
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"


def closest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Returns the known names that a misspelled one may stand for, the most similar first.

    Case, `_` for `-` and the like make no difference; neither does a missing beginning (`v5p`).

    >>> closest("All-Gather", ("all_gather", "all_reduce")), closest("v5p", ("tpu-v5p", "h100"))
    (['all_gather'], ['tpu-v5p'])
    >>> closest("axis", ("data", "model"))
    []
    """
    from difflib import SequenceMatcher, get_close_matches

    by_folded: dict[str, str] = {}
    for each in known:
        by_folded.setdefault(folded(each), each)
    wanted = folded(name)
    exact = [wanted] if wanted in by_folded else []
    endings = [each for each in by_folded if len(wanted) > 2 and each.endswith(wanted)]
    similar = get_close_matches(wanted, by_folded, most + 8)
    order = {each: number for number, each in enumerate(by_folded)}
    similar.sort(key=lambda each: (-SequenceMatcher(None, each, wanted).ratio(), order[each]))
    return [by_folded[each] for each in dict.fromkeys((*exact, *endings[:1], *similar))][:most]


def folded(name: str) -> str:
    """Returns a name in lower case without separators, by which spellings are compared.

    >>> folded("TPU v5_p")
    'tpuv5p'
    """
    return name.lower().translate(_SEPARATORS)


def suggestion(name: str, known: Iterable[str], most: int = 1) -> str:
    """Returns the question that ends a message about an unknown name; empty if none is similar.

    >>> suggestion("dat", ("data", "model"))
    "did you mean 'data'?"
    """
    names = closest(name, known, most)
    return f"did you mean {' or '.join(map(repr, names))}?" if names else ""


class ShardyError(Exception):
    """A mistake in the input; its first diagnostic is the error itself, all of them are shown."""

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        self.diagnostics = tuple(d if isinstance(d, Diagnostic) else Diagnostic(d) for d in diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))

    @property
    def first(self) -> Diagnostic:
        """The error itself."""
        return self.diagnostics[0]

    @classmethod
    def unexpected(
        cls,
        what: str,
        *,
        expected: str,
        got: str,
        remedy: str = "",
        where: Position | None = None,
        subject: str | None = None,
    ) -> ShardyError:
        """`what: expected E, got G; remedy`; `what` may be empty. The subject is what `got` quotes."""
        if subject is None and len(got) > 1 and got[0] == "'" == got[-1]:
            subject = got[1:-1]
        return cls(Diagnostic(what, where, expected=expected, got=got, remedy=remedy, subject=subject))

    @classmethod
    def unknown(
        cls,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        what: str = "",
        remedy: str = "",
        where: Position | None = None,
    ) -> ShardyError:
        """`unknown KIND 'name': expected one of 'a', 'b'; did you mean 'a'?; remedy`."""
        names = tuple(known)
        quoted = [f"'{given}'" for given in names[:_LISTED]]
        listed = ", ".join(quoted) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
        hint = "; ".join(filter(None, (suggestion(name, names), remedy)))
        fact = f"{what}: unknown {kind} '{name}'" if what else f"unknown {kind} '{name}'"
        one_of = "one of " if len(names) > 1 else ""
        expected = f"{one_of}{listed}" if names else ""
        return cls(Diagnostic(fact, where, expected=expected, remedy=hint, subject=name))

    @classmethod
    def unsupported(cls, what: str, *, remedy: str = "", where: Position | None = None) -> ShardyError:
        """`what is unsupported; remedy`: valid input that this package does not handle."""
        return cls(Diagnostic(f"{what} is unsupported", where, remedy=remedy))

    @classmethod
    def unopened(cls, path: str, error: OSError | ValueError) -> ShardyError:
        """`cannot open input file 'path': reason`, for what the system says, or Python of an invalid path."""
        reason = getattr(error, "strerror", None) or error
        return cls(f"cannot open input file {path!r}: {reason}")


@contextmanager
def located(where: Position | None) -> Generator[None]:
    """Gives diagnostics without a place that are raised within the place `where`, if there is one."""
    try:
        yield
    except ShardyError as error:
        if where is None or all(diagnostic.where for diagnostic in error.diagnostics):
            raise
        raise ShardyError(*(diagnostic.at(where) for diagnostic in error.diagnostics)) from error


class InternalError(Exception):
    """A broken invariant of this package: please report it with the input that shows it."""


@dataclass(frozen=True, slots=True)
class _Collector:
    warnings: list[Diagnostic]
    given: set[str]


_COLLECTOR: ContextVar[_Collector | None] = ContextVar("collector", default=None)


def warn(message: str, where: Position | None = None) -> None:
    """Passes a warning to the innermost `collected_warnings`; without one it is dropped."""
    collector = _COLLECTOR.get()
    if collector is not None:
        collector.warnings.append(Diagnostic(message, where, "warning"))


def warn_once(kind: str, message: str, where: Position | None = None) -> None:
    """Passes on a warning unless one of its kind was passed on before.

    >>> with collected_warnings() as warnings:
    ...     warn_once("parity", "1 is odd")
    ...     warn_once("parity", "3 is odd")
    >>> len(warnings)
    1
    """
    collector = _COLLECTOR.get()
    if collector is not None and kind not in collector.given:
        collector.given.add(kind)
        warn(message, where)


def are_warnings_collected() -> bool:
    """Returns whether there is a `collected_warnings` around."""
    return _COLLECTOR.get() is not None


@contextmanager
def collected_warnings(given: set[str] | None = None) -> Generator[list[Diagnostic]]:
    """Yields the list to which all warnings given within are added.

    given: the kinds that `warn_once` has passed on before; it adds to them. None: none so far.

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
