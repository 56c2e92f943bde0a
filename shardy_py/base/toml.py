"""TOML: its values, with faults at their places, and the places of keys and values, which `tomllib` lacks.

    places = toml_places(text)
    places["tool", "sdy-check", "select", 0]      the first element of an array

Not here: what files of hardware (`hardware/toml.py`) and settings of the linter (`check/settings.py`) hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from shardy_py.base.errors import Position, ShardyError
from shardy_py.base.patterns import on_use
from shardy_py.base.records import dataclass

TomlPath = tuple[str | int, ...]
"""The names of tables and of a key in them, and the numbers of elements of arrays."""

_SPACE = on_use(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BLANK = on_use(r"[ \t]*+")
_KEY = on_use(r"\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+'|[\w-]++")
_VALUE = on_use(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+'|[^,\]}\n#]++",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TomlPlace:
    """The offsets of a key, of its value, and of the end of the value; an element's key is the element."""

    key: int
    start: int
    end: int


def toml_values(text: str, file: str) -> Mapping[str, object]:
    """Returns the values of a TOML text. Raises `ShardyError` at the place of what is not TOML."""
    import tomllib  # takes longer to import than most commands need for a setting

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        lines = text.splitlines() or [""]
        where = (int(place[1]), int(place[2])) if place else (len(lines), len(lines[-1]) + 1)
        message = str(error).partition(" (at ")[0]
        raise ShardyError.unexpected("TOML", expected="", got=message, where=Position(file, *where)) from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, thousands of brackets
        is_deep = isinstance(error, RecursionError)
        got = "brackets nested too deeply" if is_deep else "an integer with too many digits"
        found = re.search(r"[\[{]{99}" if is_deep else r"\w{4000}", text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        raise ShardyError.unexpected("TOML", expected="", got=got, where=Position(file, line, 1)) from None


def toml_places(text: str) -> dict[TomlPath, TomlPlace]:
    """Returns the place of each table, key and array element of a TOML text that `tomllib` reads.

    >>> text = '[tool.x]\\nlist = ["a", "b"]'
    >>> place = toml_places(text)["tool", "x", "list", 1]
    >>> text[place.start : place.end]
    '"b"'
    """
    reader = _Reader(text)
    reader.document()
    return reader.found


@dataclass(slots=True)
class _Reader:
    """Reads valid TOML; of anything else it finds fewer places."""

    text: str
    found: dict[TomlPath, TomlPlace] = field(default_factory=dict[TomlPath, TomlPlace])
    at: int = 0
    _counts: dict[TomlPath, int] = field(default_factory=dict[TomlPath, int])
    """How many tables of each array of tables there were."""

    def document(self) -> None:
        table: TomlPath = ()
        while self._skip(_SPACE) < len(self.text):
            start = self.at
            if self._takes("["):
                is_array = self._takes("[")
                table = self._table(tuple(self._key()), is_array=is_array)
                self._line_end()
                self.found.setdefault(table, TomlPlace(start, start, self.at))
            else:
                self._pair(table)
            if self.at == start:  # not TOML
                return

    def _table(self, names: tuple[str, ...], *, is_array: bool) -> TomlPath:
        """The path of a header: of an array of tables its last one, or a new one."""
        path: TomlPath = ()
        for depth, name in enumerate(names, 1):
            path = (*path, name)
            if is_array and depth == len(names):
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, self._counts[path])
        return path

    def _pair(self, table: TomlPath) -> None:
        """Reads `key = value`."""
        start = self._skip(_BLANK)
        path = (*table, *self._key())
        self._skip(_BLANK)
        if self._takes("="):
            self._skip(_BLANK)
            self._value(path, start)

    def _key(self) -> Iterator[str]:
        while True:
            self._skip(_BLANK)
            match = _KEY.match(self.text, self.at)
            if match is None:
                return
            self.at = match.end()
            yield _unquoted(match[0])
            self._skip(_BLANK)
            if not self._takes("."):
                return

    def _value(self, path: TomlPath, key: int | None = None) -> None:
        start = self.at
        if self._takes("["):
            number = 0
            while self._skip(_SPACE) < len(self.text) and not self._takes("]"):
                before = self.at
                self._value((*path, number))
                number += 1
                self._separator()
                if self.at == before:
                    return
        elif self._takes("{"):
            while self._skip(_SPACE) < len(self.text) and not self._takes("}"):
                before = self.at
                self._pair(path)
                self._separator()
                if self.at == before:
                    return
        elif match := _VALUE.match(self.text, self.at):
            self.at += len(match[0].rstrip())
        self.found[path] = TomlPlace(start if key is None else key, start, self.at)

    def _separator(self) -> None:
        self._skip(_SPACE)
        self._takes(",")

    def _line_end(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _takes(self, character: str) -> bool:
        is_there = self.text.startswith(character, self.at)
        self.at += is_there
        return is_there


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    if not key.startswith('"'):
        return key
    try:
        return str(ast.literal_eval(key))  # the escapes of a basic string are among Python's
    except (ValueError, SyntaxError):
        return key[1:-1]
