"""Definitions and uses of values, symbols and aliases in MLIR text, found by its tokens alone.

Text may be half typed, and ops may be of any dialect in any form, so that nothing is parsed: brackets make
scopes, and what defines a name looks alike in all of MLIR.

| name | is defined by |
|---|---|
| `%x` | `%x =`, `%x, %y:2 =`; in parentheses `(%x = %init)`, and `(%x: type)` if it is not visible yet |
| `@f` | `func.func public @f`, `sdy.mesh @f`: an op without results that is not a call; `sym_name = "f"` |
| `#a`, `!a` | `#a =`, outside of all brackets |

Names in parentheses are visible in the regions of their op; in generic form they stand in the region. Not
here: what the values are (`analysis.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from xdsl.dialects.func import FuncOp

from shardy_py.base.records import dataclass

_TOKEN = re.compile(
    r"//[^\n]*+"
    r'|@?"(?:[^"\\\n]|\\.)*+"?'
    r"|%[\w.$-]++(?:#\d++)?|[@#!^][\w.$-]++"
    r"|->|[{}()\[\]<>=:,]|[A-Za-z_][\w.$-]*+"
)
_OPENERS = {")": "(", "}": "{", "]": "[", ">": "<"}
_VISIBILITY = ("public", "private", "nested")
_FUNCTIONS = (FuncOp.name, "func")
_DEEPEST = 256
"""Scopes around a name that are searched."""


@dataclass(eq=False, slots=True)
class NameDefinition:
    """A definition, from `start` to `end`.

    name: with its sigil. function: of a value, the symbol of the function around it, without `@`.
    ordinal: its number among the definitions of that name in the function. uses: their starts and ends.
    """

    name: str
    start: int
    end: int
    function: str = ""
    ordinal: int = 0
    uses: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def key(self) -> tuple[str, str, int]:
        """Identifies a value also after edits elsewhere in the text."""
        return self.function, self.name, self.ordinal


@dataclass(frozen=True, eq=False)
class NameIndex:
    """The names of a text; occurrences: each with what it is of, by start; None: it is not defined."""

    definitions: tuple[NameDefinition, ...]
    occurrences: tuple[tuple[int, int, NameDefinition | None], ...]

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _, _ in self.occurrences]

    def at(self, offset: int) -> tuple[int, int, NameDefinition | None] | None:
        """Returns the name at an offset: its start, end and definition; None if there is no name."""
        number = bisect_right(self._starts, offset) - 1
        if number < 0 or offset > self.occurrences[number][1]:
            return None
        return self.occurrences[number]

    @cached_property
    def by_key(self) -> Mapping[tuple[str, str, int], NameDefinition]:
        """The definitions of values."""
        return {each.key: each for each in self.definitions if each.name[0] == "%"}

    @cached_property
    def symbols(self) -> Mapping[str, NameDefinition]:
        """The definitions of symbols, by name with `@`."""
        return {each.name: each for each in self.definitions if each.name[0] == "@"}


@dataclass(slots=True)
class _Scope:
    """The values of a region.

    is_isolated: those outside of it are not visible. arguments: the names in the parentheses of its op.
    """

    values: dict[str, NameDefinition]
    is_isolated: bool = False
    arguments: dict[str, NameDefinition] = field(default_factory=dict[str, NameDefinition])


@dataclass(slots=True)
class _Scanner:
    text: str
    found: list[NameDefinition] = field(default_factory=list[NameDefinition])
    spans: list[tuple[int, int, str, NameDefinition | None]] = field(
        default_factory=list[tuple[int, int, str, NameDefinition | None]]
    )
    brackets: list[str] = field(default_factory=list[str])
    depths: Counter[str] = field(default_factory=Counter[str])
    """How many brackets of each kind are open."""
    labels: list[bool] = field(default_factory=list[bool])
    """For each open bracket, whether it has the arguments of a label `^bb0(`."""
    scopes: list[_Scope] = field(default_factory=lambda: [_Scope({})])
    pending: dict[str, NameDefinition] = field(default_factory=dict[str, NameDefinition])
    """Names in the parentheses of the current op, for its regions."""
    function: str = ""
    awaits_body: bool = False
    """True if the next region is the body of a function."""
    counts: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    run: tuple[int, bool] = (-1, False)
    """The end of the last run of names with commas, and whether it names results."""

    def scan(self) -> None:
        tokens = [(m.start(), m.end(), m[0]) for m in _TOKEN.finditer(self.text) if m[0][:2] != "//"]
        words = [token for _, _, token in tokens]
        for number, (start, end, token) in enumerate(tokens):
            sigil = token[0]
            if sigil == "%":
                self._value(words, tokens, number)
            elif sigil == "@":
                self._symbol(words, number, start, end)
            elif sigil in "#!" and "." not in token:
                self._alias(words, number, start, end)
            elif sigil == '"' and words[number - 2 : number] == ["sym_name", "="]:
                self._define(f"@{token.strip(chr(34))}", start, end)
            elif token in _OPENERS.values():
                self._open(token, words[number - 1] if number else "")
            elif token in _OPENERS:
                self._close(token)
            elif token in _FUNCTIONS:
                self.pending, self.awaits_body = {}, True

    @property
    def is_outside(self) -> bool:
        """Returns whether the place is directly in a region, or at the top."""
        return not self.brackets or self.brackets[-1] == "{"

    def _open(self, token: str, before: str) -> None:
        if token == "{":
            is_body = self.awaits_body and self.is_outside
            self.scopes.append(_Scope(dict(self.pending), is_body, self.pending))
            self.pending = {}
            self.awaits_body = self.awaits_body and not is_body
        self.brackets.append(token)
        self.depths[token] += 1
        self.labels.append(token == "(" and before[:1] == "^")

    def _close(self, token: str) -> None:
        opener = _OPENERS[token]
        if not self.depths[opener] or (token == ">" and self.brackets[-1] != "<"):
            return
        closed = ""
        while closed != opener:  # what is half typed lacks brackets: those within end with it
            closed = self.brackets.pop()
            self.labels.pop()
            self.depths[closed] -= 1
            if closed == "{":
                self.pending = self.scopes.pop().arguments

    def _visible(self, name: str) -> NameDefinition | None:
        base = name.partition("#")[0]
        for values in (self.pending, *self._around()):
            if (found := values.get(name) or values.get(base)) is not None:
                return found
        return None

    def _around(self) -> list[dict[str, NameDefinition]]:
        around: list[dict[str, NameDefinition]] = []
        for scope in reversed(self.scopes[-_DEEPEST:]):
            around.append(scope.values)
            if scope.is_isolated:
                break
        return around

    def _define(self, name: str, start: int, end: int) -> NameDefinition:
        key = (self.function if name[0] == "%" else "", name)
        ordinal = self.counts[key] = self.counts.get(key, -1) + 1
        made = NameDefinition(name, start, end, key[0], ordinal)
        self.found.append(made)
        self.spans.append((start, end, name, made))
        return made

    def _value(self, words: list[str], tokens: list[tuple[int, int, str]], number: int) -> None:
        start, end, name = tokens[number]
        after = words[number + 1] if number + 1 < len(words) else ""
        if self.is_outside and self._names_result(words, tokens, number):
            self.pending = {}
            self.scopes[-1].values[name] = self._define(name, start, end)
        elif self.brackets and self.brackets[-1] == "(" and self._is_argument(after, name):
            made = self._define(name, start, end)
            (self.scopes[-1].values if self.labels[-1] else self.pending)[name] = made
        else:
            self.spans.append((start, end, name, self._visible(name)))

    def _is_argument(self, after: str, name: str) -> bool:
        return after == "=" or (after == ":" and self._visible(name) is None)

    def _names_result(self, words: list[str], tokens: list[tuple[int, int, str]], number: int) -> bool:
        """Returns whether a name begins or continues `%a, %b:2 =`."""
        if number > self.run[0]:
            at = number + 1
            while at < len(words) and (words[at] in ",:" or words[at][0] == "%"):
                if words[at] == ":":  # a count, which is not a token
                    end = tokens[at + 1][0] if at + 1 < len(words) else len(self.text)
                    if not self.text[tokens[at][1] : end].strip().isdigit():
                        break
                at += 1
            self.run = at, words[at : at + 1] == ["="]
        return self.run[1]

    def _symbol(self, words: list[str], number: int, start: int, end: int) -> None:
        name = words[number]
        name = f"@{name[2:].rstrip(chr(34))}" if name[:2] == '@"' else name
        at = number - 1
        while at >= 0 and (words[at] in _VISIBILITY or words[at][0] == '"'):
            at -= 1
        word = words[at] if at >= 0 else ""
        is_op = "." in word or word in ("module", "func")
        is_definition = is_op and self.is_outside and "call" not in word and (at == 0 or words[at - 1] != "=")
        if not is_definition or ("", name) in self.counts:
            self.spans.append((start, end, name, None))
            return
        self._define(name, start, end)
        if word in _FUNCTIONS:
            self.function = name[1:]

    def _alias(self, words: list[str], number: int, start: int, end: int) -> None:
        if not self.brackets and words[number + 1 : number + 2] == ["="]:
            self._define(words[number], start, end)
        else:
            self.spans.append((start, end, words[number], None))


def names_in(text: str) -> NameIndex:
    """Returns the names of a text.

    >>> index = names_in("%a = f.x : i1\\n%b = f.y %a : i1")
    >>> [(each.name, each.uses) for each in index.definitions]
    [('%a', [(23, 25)]), ('%b', [])]
    """
    scanner = _Scanner(text)
    scanner.scan()
    others = {each.name: each for each in scanner.found if each.name[0] != "%"}
    later = _later_values(scanner)
    occurrences: list[tuple[int, int, NameDefinition | None]] = []
    for start, end, name, known in sorted(scanner.spans, key=lambda span: span[0]):
        found = known
        if found is None:
            found = others.get(name) if name[0] != "%" else later.get(name.partition("#")[0])
        if found is not None and found.start != start:
            found.uses.append((start, end))
        occurrences.append((start, end, found))
    return NameIndex(tuple(scanner.found), tuple(occurrences))


def _later_values(scanner: _Scanner) -> dict[str, NameDefinition]:
    """The only definition of each name that has one: a use may precede it, as in graph regions."""
    found: dict[str, list[NameDefinition]] = {}
    for each in scanner.found:
        if each.name[0] == "%":
            found.setdefault(each.name, []).append(each)
    return {name: each[0] for name, each in found.items() if len(each) == 1}
