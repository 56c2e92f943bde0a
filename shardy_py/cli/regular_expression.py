r"""Regular expressions that match in time linear in the text: an automaton is in several states at once.

POSIX extended syntax, as in `llvm::Regex`, with Python's `(?:...)`, `\d`, `\s`, `\w`; no backreferences, no
assertions but `^` and `$`.

>>> Regex(r"a{2,3}(b|[c-e])*$").search("xaabe"), Regex("(x*)*y").search("x" * 100_000)
(True, False)
"""

from __future__ import annotations

import re
from typing import NoReturn

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass

_MOST_STATES = 10_000
_MOST_NESTED = 50
_ATOM = re.compile(r"\\(.)|(\[\^?\]?(?:\[[:.=][^]]*\]|[^]\\[]|\\.|\[)*\])|\((\?:)?|([^\\])", re.DOTALL)
_QUANTIFIER = re.compile(r"([*+?])|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}", re.ASCII)
_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_POSIX_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "0-9a-zA-Z",
    "upper": "A-Z",
    "lower": "a-z",
    "blank": " \\t",
    "space": "\\s",
    "xdigit": "0-9a-fA-F",
    "punct": "!-/:-@\\[-`{-~",
}


@dataclass(frozen=True, slots=True)
class _Character:
    """One character that the expression `test` matches."""

    test: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Edge:
    """The start (`^`) or the end (`$`) of the text."""

    is_end: bool


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A part at least `low` times, at most `high` times; None: any number."""

    part: _Node
    low: int
    high: int | None


_Node = _Character | _Edge | _Sequence | _Choice | _Repeat


class Regex:
    """A compiled expression; a state is a character or an edge with its successor, or two successors.

    Raises:
        ShardyError: the expression is invalid, or too large.
    """

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        node = self._choice()
        if self._at < len(text):
            self._fail("unmatched ')'")
        self._states: list[tuple[_Character | _Edge | None, int, int]] = [(None, 0, 0)]
        self._start = self._add(node, 0)

    def search(self, text: str) -> bool:
        """Returns whether the expression matches a part of `text`."""
        states: set[int] = set()
        for place, character in enumerate(text):
            states = self._closure({*states, self._start}, place == 0, is_end=False)
            if 0 in states:
                return True
            waiting = ((part, after) for part, after, _ in map(self._states.__getitem__, states))
            states = {
                after
                for part, after in waiting
                if isinstance(part, _Character) and part.test.match(character)
            }
        return 0 in self._closure({*states, self._start}, not text, is_end=True)

    def _closure(self, states: set[int], is_start: bool, *, is_end: bool) -> set[int]:
        """The states with all that are reached from them without a character; 0 is the final one."""
        found, waiting = set(states), [*states]
        while waiting:
            part, *after = self._states[waiting.pop()]
            passes = part is None or (isinstance(part, _Edge) and (is_end if part.is_end else is_start))
            for state in after if passes else ():
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return found

    def _add(self, node: _Node, after: int) -> int:
        """Adds the states of a node that is followed by the state `after`; returns the first."""
        match node:
            case _Sequence():
                for part in reversed(node.parts):
                    after = self._add(part, after)
                return after
            case _Choice():
                first, *others = (self._add(part, after) for part in node.parts)
                for other in others:
                    first = self._state(None, first, other)
                return first
            case _Repeat():
                return self._repeat(node, after)
            case _:
                return self._state(node, after, after)

    def _repeat(self, node: _Repeat, after: int) -> int:
        if node.high is None:
            loop = self._state(None, after, after)
            self._states[loop] = (None, after, self._add(node.part, loop))
            after = loop
        end = after
        for _ in range((node.high or node.low) - node.low):
            after = self._state(None, self._add(node.part, after), end)
        for _ in range(node.low):
            after = self._add(node.part, after)
        return after

    def _state(self, part: _Character | _Edge | None, after: int, other: int) -> int:
        if len(self._states) >= _MOST_STATES:
            self._fail("expression too large")
        self._states.append((part, after, other))
        return len(self._states) - 1

    def _choice(self) -> _Node:
        choices = [self._sequence()]
        while self._text[self._at : self._at + 1] == "|":
            self._at += 1
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else _Choice(tuple(choices))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._atom())
            repeats = 0
            while quantifier := _QUANTIFIER.match(self._text, self._at):
                self._at, repeats = quantifier.end(), repeats + 1
                sign, low, comma, high = quantifier.groups()
                least, most = (
                    _BOUNDS[sign] if sign else (int(low), int(high or low) if high or not comma else None)
                )
                if (most is not None and most < least) or repeats > 2:  # 2: Python's `*?` matches the same
                    self._fail("invalid repetition")
                parts[-1] = _Repeat(parts[-1], least, most)
        return _Sequence(tuple(parts))

    def _atom(self) -> _Node:
        match = _ATOM.match(self._text, self._at)
        if match is None:
            self._fail("trailing backslash")
        escaped, bracket, _, plain = match.groups()
        self._at = match.end()
        if escaped is not None:
            if escaped.isalnum() and escaped not in "dswDSWntrfv":
                self._fail(f"unsupported escape '\\{escaped}'")
            return self._character(match.group())
        if bracket is not None:
            return self._character(
                re.sub(r"\[:(\w+):\]", lambda name: _POSIX_CLASSES.get(name[1], name[0]), bracket)
            )
        if plain is None:
            return self._group()
        if plain in "^$":
            return _Edge(plain == "$")
        if plain in "[*+?":
            self._fail(f"unexpected '{plain}'")
        return self._character("." if plain == "." else re.escape(plain))

    def _group(self) -> _Node:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            self._fail(f"nesting exceeds {_MOST_NESTED} levels")
        node = self._choice()
        if self._text[self._at : self._at + 1] != ")":
            self._fail("expected ')'")
        self._at += 1
        self._depth -= 1
        return node

    def _character(self, text: str) -> _Node:
        try:
            return _Character(re.compile(text, re.DOTALL))
        except (re.error, RecursionError, OverflowError) as error:
            self._fail(str(error))

    def _fail(self, why: str) -> NoReturn:
        raise ShardyError(f"invalid regular expression: {why}")
