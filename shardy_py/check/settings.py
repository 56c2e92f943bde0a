"""Settings of the linter, as `[tool.sdy-check]` of a pyproject.toml has them, each checked at its place.

    [tool.sdy-check]
    ignore = ["SDY006"]
    level = { SDY002 = "error" }
    reshard-bytes = "4M"

Keys are the names of the flags of `sdy-check`. Those of a program are in the closest such file from its
folder upward. Not here: the command line, which takes precedence (`cli/check.py`), rules (`rules.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeVar, get_args

from shardy_py.base.byte_sizes import byte_size
from shardy_py.base.errors import Position, ShardyError, WholeFile
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, named
from shardy_py.base.toml import TomlPath, TomlPlace, toml_places, toml_values
from shardy_py.check.checking import Choice
from shardy_py.check.expectations import Expectation
from shardy_py.check.finding import LEVELS, Level
from shardy_py.check.rule import Limits
from shardy_py.hardware.cost import cost_model
from shardy_py.mlir.trip_counts import TripCounts
from shardy_py.report.communication import Partitioner
from shardy_py.xla.targets.stage import stage_of

FILE = "pyproject.toml"
SECTION = "sdy-check"
Threshold = Literal["error", "warning", "note", "never"]
"""The least level of findings for which a check fails."""
THRESHOLDS: tuple[Threshold, ...] = get_args(Threshold)
PARTITIONERS: tuple[Partitioner, ...] = get_args(Partitioner)
Name = TypeVar("Name", bound=str)
_DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """How programs are checked; the defaults are those of `sdy-check`.

    per_file_ignores: codes that are ignored in programs that a pattern matches.
    as_compiled: how a program is taken; None: by rule. propagate: whether it is propagated.
    source_roots: the folders below which source files are read; None: the default ones.
    baseline: the file of known findings; None: none. verdict: whether the verdict is shown.
    tries: the changes that are tried for it alone; None: by the size of the program.
    files: the programs that are checked if none is named. exclude: patterns of those that are not.
    folder: that of the file with these settings, to which patterns are relative; "": the working directory.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    fail_on: Threshold = "warning"
    replicated_bytes: int = _DEFAULT.replicated_bytes
    reshard_bytes: int = _DEFAULT.reshard_bytes
    padding_bytes: int = _DEFAULT.padding_bytes
    model: str | None = None
    target: str | None = None
    partitioner: Partitioner | None = None
    propagate: bool = True
    as_compiled: bool | None = None
    release: Release | None = None
    trip_counts: tuple[str, ...] = ()
    source_roots: tuple[str, ...] | None = None
    expect: tuple[str, ...] = ()
    baseline: str | None = None
    verdict: bool = True
    tries: int | None = None
    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    folder: str = ""

    def choice(self, program: str = "") -> Choice:
        """Returns the rules that run on a program."""
        of_file = (
            code
            for pattern, codes in self.per_file_ignores.items()
            if self._matches(program, (pattern,))
            for code in codes
        )
        return Choice(self.select, (*self.ignore, *of_file), self.levels)

    def limits(self) -> Limits:
        """Returns the minimum sizes of findings. Raises `ShardyError` for an invalid model or target."""
        return Limits(
            *(self.replicated_bytes, self.reshard_bytes),
            None if self.model is None else cost_model(self.model),
            *(self.partitioner, self.padding_bytes, stage_of(self.target), self.tries),
        )

    def excludes(self, program: str) -> bool:
        """Returns whether a program is left out where folders are searched."""
        return self._matches(program, self.exclude)

    def fails(self, level: Level) -> bool:
        """Returns whether a finding of a level makes the check fail."""
        return self.fail_on != "never" and LEVELS.index(level) >= LEVELS.index(self.fail_on)

    def _matches(self, program: str, patterns: Sequence[str]) -> bool:
        """Returns whether a pattern matches a path, a folder of it, or a name in it."""
        if not (program and patterns):
            return False
        try:
            path = os.path.relpath(program, self.folder or os.curdir)
        except ValueError:  # on another drive
            return False
        parts = path.replace(os.sep, "/").split("/")
        names = {*parts, *("/".join(parts[:end]) for end in range(1, len(parts) + 1))}
        plain = (pattern.removeprefix("./").rstrip("/") for pattern in patterns)
        return any(fnmatchcase(name, pattern) for pattern in plain for name in names)


@dataclass(frozen=True)
class SettingsFinder:
    """Finds the settings of folders.

    read: returns the text of a file; raises what `open` does.
    """

    read: Callable[[str], str]
    _known: dict[str, CheckSettings | None] = field(default_factory=dict[str, CheckSettings | None])

    def of_folder(self, folder: str) -> CheckSettings:
        """Returns the settings of the closest file from a folder upward; the default ones without any.

        Raises:
            ShardyError: the file is not TOML, or has an unknown key or an invalid value, with its place.
        """
        folder = os.path.abspath(folder)
        while True:
            if folder not in self._known:
                self._known[folder] = self._in(os.path.join(folder, FILE))
            if (found := self._known[folder]) is not None:
                return found
            if (above := os.path.dirname(folder)) == folder:
                return CheckSettings()
            folder = above

    def in_file(self, file: str) -> CheckSettings:
        """Returns the settings of a file. Raises `ShardyError` as `of_folder`, and if it has none."""
        found = settings_in(self.read(file), file)
        if found is None:
            raise ShardyError.unexpected(
                "", expected=f"a section [tool.{SECTION}]", got="none", where=WholeFile(file)
            )
        return found

    def _in(self, file: str) -> CheckSettings | None:
        return settings_in(self.read(file), file) if os.path.isfile(file) else None


def settings_in(text: str, file: str) -> CheckSettings | None:
    """Returns the settings of a pyproject.toml; None if it has none.

    Raises:
        ShardyError: it is not TOML, or has an unknown key or an invalid value, with its place.
    """
    if SECTION not in text:
        return None  # other tools report what is wrong with it
    tools = toml_values(text, file).get("tool")
    section = tools.get(SECTION) if is_mapping(tools) else None
    if section is None:
        return None
    document = _Document(text, file, toml_places(text))
    entry = _Entry(document, ("tool", SECTION), section)
    settings = CheckSettings(folder=os.path.dirname(os.path.abspath(file)))
    for key, value in entry.table().items():
        row = _ROWS.get(key)
        inner = _Entry(document, (*entry.path, key), value)
        if row is None:
            with inner.placed(is_key=True):
                raise ShardyError.unknown("key", key, _ROWS)
        settings = row(inner, settings)
    return settings


@dataclass(frozen=True, slots=True)
class _Document:
    text: str
    file: str
    places: Mapping[TomlPath, TomlPlace]

    def position(self, path: TomlPath, subject: str | None, *, is_key: bool = False) -> Position:
        """The place of a value, or of a part of it; of the table around it if it is not known."""
        place = self.places.get(path)
        if place is None:
            return self.position(path[:-1], None) if path else Position(self.file, 1, 1)
        offset = place.key if is_key else place.start
        if subject is not None:
            found = self.text.find(subject, offset, place.start if is_key else place.end)
            offset = offset if found < 0 else found
        before = self.text[:offset]
        return Position(self.file, before.count("\n") + 1, offset - before.rfind("\n"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value of the document; its methods return it as what it has to be, or raise at its place."""

    document: _Document
    path: TomlPath
    value: object

    @contextmanager
    def placed(self, *, is_key: bool = False) -> Generator[None]:
        try:
            yield
        except ShardyError as error:
            fault = error.first
            if fault.where is not None:
                raise
            name = ".".join(name for name in self.path[2 : -1 if is_key else None] if isinstance(name, str))
            what = ": ".join(filter(None, (f"[tool.{SECTION}]{name and f' {name}'}", fault.what)))
            where = self.document.position(self.path, fault.subject, is_key=is_key)
            raise ShardyError(replace(fault, what=what, where=where)) from None

    def unexpected(self, expected: str) -> ShardyError:
        return ShardyError.unexpected("", expected=expected, got=_shown(self.value), subject="")

    def table(self) -> Mapping[str, object]:
        with self.placed():
            if is_mapping(self.value):
                return self.value
            raise self.unexpected("a table")

    def members(self) -> Iterator[tuple[str, _Entry]]:
        for key, value in self.table().items():
            yield key, _Entry(self.document, (*self.path, key), value)

    def elements(self, expected: str) -> Iterator[_Entry]:
        with self.placed():
            if not is_sequence(self.value):
                raise self.unexpected(expected)
        for number, value in enumerate(self.value):
            yield _Entry(self.document, (*self.path, number), value)

    def text(self, check: Callable[[str], object] = str, expected: str = "a string") -> str:
        with self.placed():
            if not isinstance(self.value, str):
                raise self.unexpected(expected)
            check(self.value)
            return self.value

    def texts(self, expected: str, check: Callable[[str], object] = str) -> tuple[str, ...]:
        return tuple(each.text(check) for each in self.elements(expected))

    def codes(self) -> tuple[str, ...]:
        return self.texts("a list of rules", lambda code: Choice((code,)))

    def flag(self) -> bool:
        with self.placed():
            if isinstance(self.value, bool):
                return self.value
            raise self.unexpected("true or false")

    def count(self) -> int:
        with self.placed():
            if isinstance(self.value, int) and not isinstance(self.value, bool) and 0 <= self.value < 1000:
                return self.value
            raise self.unexpected("a number from 0 to 999")

    def size(self) -> int:
        with self.placed():
            return byte_size(self.value)

    def path_text(self) -> str:
        """A path, which is relative to the folder of the file."""
        return _joined(self.document.file, self.text())


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)[:80]


def _joined(file: str, name: str) -> str:
    return os.path.join(os.path.dirname(os.path.abspath(file)), name)


def _one_of(entry: _Entry, kind: str, names: Sequence[Name]) -> Name:
    with entry.placed():
        given = entry.text()
        found = {str(name): name for name in names}.get(given)
        if found is None:
            raise ShardyError.unknown(kind, given, names)
        return found


def _levels(entry: _Entry) -> dict[str, Level]:
    found: dict[str, Level] = {}
    for code, member in entry.members():
        with member.placed(is_key=True):
            Choice((code,))
        found[code] = _one_of(member, "level", LEVELS)
    return found


def _release(entry: _Entry) -> Release:
    with entry.placed():
        return named(entry.text(expected='a release of JAX such as "0.12"'))


def _device(entry: _Entry, check: Callable[[str], object]) -> str:
    """The text of a device or of links; a file of hardware is relative to the folder of the settings."""
    with entry.placed():
        text = entry.text()
        name, comma, rest = text.partition(",")
        if name.endswith(".toml"):
            text = f"{_joined(entry.document.file, name)}{comma}{rest}"
        check(text)
        return text


def _roots(entry: _Entry) -> tuple[str, ...]:
    """Folders below that of the file: a program, and the settings beside it, may come from anybody."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(entry.document.file)))

    def check(name: str) -> None:
        path = os.path.realpath(os.path.join(folder, name))
        if os.path.commonpath((path, folder)) != folder:
            raise ShardyError.unexpected("", expected=f"a folder below that of {FILE}", got=f"'{name}'")

    return tuple(os.path.join(folder, name) for name in entry.texts("a list of folders", check))


def _trips(entry: _Entry) -> tuple[str, ...]:
    return entry.texts("a list of trip counts", lambda text: TripCounts.parse((text,)))


_ROWS: Mapping[str, Callable[[_Entry, CheckSettings], CheckSettings]] = {
    "select": lambda entry, settings: replace(settings, select=entry.codes()),
    "ignore": lambda entry, settings: replace(settings, ignore=entry.codes()),
    "level": lambda entry, settings: replace(settings, levels=_levels(entry)),
    "per-file-ignores": lambda entry, settings: replace(
        settings, per_file_ignores={pattern: member.codes() for pattern, member in entry.members()}
    ),
    "fail-on": lambda entry, settings: replace(settings, fail_on=_one_of(entry, "level", THRESHOLDS)),
    "replicated-bytes": lambda entry, settings: replace(settings, replicated_bytes=entry.size()),
    "reshard-bytes": lambda entry, settings: replace(settings, reshard_bytes=entry.size()),
    "padding-bytes": lambda entry, settings: replace(settings, padding_bytes=entry.size()),
    "model": lambda entry, settings: replace(settings, model=_device(entry, cost_model)),
    "target": lambda entry, settings: replace(settings, target=_device(entry, stage_of)),
    "partitioner": lambda entry, settings: replace(
        settings, partitioner=_one_of(entry, "partitioner", PARTITIONERS)
    ),
    "propagate": lambda entry, settings: replace(settings, propagate=entry.flag()),
    "as-compiled": lambda entry, settings: replace(settings, as_compiled=entry.flag()),
    "jax": lambda entry, settings: replace(settings, release=_release(entry)),
    "trip-count": lambda entry, settings: replace(settings, trip_counts=_trips(entry)),
    "source-root": lambda entry, settings: replace(settings, source_roots=_roots(entry)),
    "expect": lambda entry, settings: replace(
        settings, expect=entry.texts("a list of expectations", Expectation.parse)
    ),
    "baseline": lambda entry, settings: replace(settings, baseline=entry.path_text()),
    "verdict": lambda entry, settings: replace(settings, verdict=entry.flag()),
    "tries": lambda entry, settings: replace(settings, tries=entry.count()),
    "files": lambda entry, settings: replace(settings, files=entry.texts("a list of programs")),
    "exclude": lambda entry, settings: replace(settings, exclude=entry.texts("a list of patterns")),
}
"""The keys of the section, and the setting of each."""
KEYS = tuple(_ROWS)
"""The keys of the section."""
