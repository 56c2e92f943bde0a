"""Cursors over text: tokens, lists and errors with positions. Bottom of every reader in this package.

`TextCursor` is what all notations share; `TokenCursor` reads a notation whose tokens one regular expression
describes: XLA's shapes, HLO programs, indexing maps, HloShardings. Not here: the grammars themselves; MLIR's
tokens (`mlir/text/cursor.py`, a `TextCursor` too).

>>> class Sizes(TokenCursor):
...     TOKEN = token_expression(r"[ ]", number=r"-?[0-9]++", mark=r"[\\[\\],]")
>>> Sizes("[2, 4]", "sizes.txt").items(lambda: 3)
Traceback (most recent call last):
...
shardy_py.base.errors.ShardyError: sizes.txt:1:2: error: expected ',' or ']', got '2'
>>> cursor = Sizes("[2, 4]")
>>> cursor.items(cursor.integer), cursor.kind
([2, 4], 'end')
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NoReturn, TypeVar

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.patterns import on_use
from shardy_py.base.records import dataclass

MAX_INTEGER_DIGITS = 19
"""Digits of an integer at most: those of 64 bits."""

MAX_TOKEN_NESTING = 100
"""The maximum depth of `TokenCursor.nested`; deeper text gets a diagnostic."""

_MAX_ECHOED_TOKEN = 40
_MAX_ECHOED_TEXT = 200
_MAX_MESSAGE = 2_000
T = TypeVar("T")


@dataclass(eq=False)
class NumberedText:
    """A text, the name of its file (`-`: standard input), and the line and column of each offset.

    first_line: the number of the text's first line, for a chunk of a split file.
    """

    text: str
    file: str = "-"
    first_line: int = 1

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the start of each line."""
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect_right(self.line_starts, offset)
        return line - 1 + self.first_line, offset - self.line_starts[line - 1] + 1

    def position(self, offset: int) -> Position:
        """The position of an offset; offsets behind the text count as its end."""
        return Position(self.file, *self.line_and_column(min(offset, len(self.text))))


class TextCursor(ABC):
    """Reads tokens one by one.

    token: the text of the current token, empty at the end of the text.
    offset, end: where it starts and ends; previous_end: where the token before it ended.
    """

    __slots__ = ("end", "offset", "previous_end", "text", "token")

    text: str
    token: str
    offset: int
    end: int
    previous_end: int

    @abstractmethod
    def advance(self) -> str:
        """Steps to the next token; returns the one left behind."""

    @abstractmethod
    def expect(self, token: str, context: str = "") -> None:
        """Steps over `token`, or fails; `context` follows the token in the message."""

    @abstractmethod
    def error(self, message: str, offset: int | None = None, *notes: tuple[str, int]) -> NoReturn:
        """Fails with `message` at `offset`, or at the current token; notes are pairs of text and offset."""
        raise NotImplementedError

    def move_to(self, offset: int) -> None:
        """Makes the token at or behind `offset` the current one."""
        self.end = offset
        self.advance()

    def at(self, token: str) -> bool:
        """Returns whether the current token is `token`."""
        return self.token == token

    def accept(self, token: str) -> bool:
        """Steps over the current token if it is `token`."""
        if self.token == token:
            self.advance()
            return True
        return False

    def items(
        self, read: Callable[[], T], opening: str = "[", closing: str = "]", context: str = ""
    ) -> list[T]:
        """A comma-separated list between brackets."""
        self.expect(opening, context)
        if self.token != closing:
            return self.items_left(read, closing, context)
        self.advance()
        return []

    def items_left(self, read: Callable[[], T], closing: str, context: str = "") -> list[T]:
        """The items up to a bracket, at least one."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        if self.token != closing:
            self.unclosed(closing, context)
        self.advance()
        return found

    def unclosed(self, closing: str, context: str) -> None:
        """Fails behind an item of a list that neither a comma nor `closing` follows."""
        self.expect(closing, context)


def token_expression(skipped: str, **kinds: str) -> re.Pattern[str]:
    """The expression of a `TokenCursor`: what is skipped before a token, then the kinds by precedence.

    A character that starts none of them is a token of kind `other`, the end of the text one of kind `end`,
    so the expression matches everywhere. Sub-expressions are verbose. Reading is linear in the text if they
    repeat possessively and one that needs a closing mark also matches up to the end of the text without it.
    """
    alternatives = "|".join(f"(?P<{kind}>{tokens})" for kind, tokens in kinds.items())
    # Not `(?:...)*+`: Python 3.11.2 goes on behind what such a repetition began to match in vain.
    whole = rf"(?>(?:{skipped})*)(?:{alternatives}|(?P<end>\Z)|(?P<other>.))"
    return on_use(whole, re.VERBOSE | re.DOTALL)


class TokenCursor(TextCursor):
    """A cursor over the tokens of one expression; subclasses set `TOKEN` and add what only they read.

    kind: the name of the current token's group in `TOKEN`: `end` behind the last token.
    description: what the text is, for a text that comes from no file: errors then quote it.
    """

    TOKEN: ClassVar[re.Pattern[str]]

    __slots__ = ("_depth", "_numbered", "description", "kind")

    def __init__(self, text: str, file: str = "-", *, description: str = "", first_line: int = 1) -> None:
        self.text = text
        self.description = description
        self._numbered = NumberedText(text, file, first_line)
        self._depth = 0
        self.token = self.kind = ""
        self.move_to(0)

    def advance(self) -> str:
        """Steps to the next token; returns the one left behind."""
        token = self.token
        self.previous_end = end = self.end
        match = self.TOKEN.match(self.text, end)
        assert match is not None
        self.kind = kind = match.lastgroup or ""
        self.token = match[kind]
        self.offset, self.end = match.span(kind)
        return token

    def following(self) -> str:
        """The token behind the current one."""
        match = self.TOKEN.match(self.text, self.end)
        return match[match.lastgroup or 0] if match else ""

    def expect(self, token: str, context: str = "") -> None:
        """Steps over `token`, or fails: `expected 'token'CONTEXT, got 'other'`."""
        if self.token != token:
            self.unexpected(f"'{token}'{context}")
        self.advance()

    def expect_end(self, of: str = "the text") -> None:
        """Fails if a token is left: `expected the end of OF, got 'token'`."""
        if self.token:
            self.unexpected(f"the end of {of}")

    def take(self, kind: str, expected: str) -> str:
        """Steps over a token of that kind and returns it, or fails: `expected EXPECTED, got 'token'`."""
        if self.kind != kind:
            self.unexpected(expected)
        return self.advance()

    def one_of(self, *words: str) -> str:
        """Steps over one of `words` and returns it, or fails with a list of them."""
        if self.token not in words:
            self.unexpected(f"one of {', '.join(words)}")
        return self.advance()

    def integer(self) -> int:
        """Steps over a token of kind `number` without a fraction and returns its value: at most 64 bits."""
        if self.kind != "number" or not self.token.lstrip("+-").isdecimal():
            self.unexpected("an integer")
        value = self.integer_value(self.token)
        self.advance()
        return value

    def integer_value(self, digits: str) -> int:
        """The value of digits at the cursor, or an error there if they are too many."""
        if len(digits) > MAX_INTEGER_DIGITS + 1:
            self.error(
                f"the integer {digits[:_MAX_ECHOED_TOKEN]}... has more than {MAX_INTEGER_DIGITS} digits"
            )
        return int(digits)

    def unclosed(self, closing: str, context: str) -> None:
        """Fails behind an item of a list that neither a comma nor `closing` follows."""
        self.unexpected(f"',' or '{closing}'{context}")

    @contextmanager
    def nested(self) -> Generator[None]:
        """Counts one level of nesting within; fails at the current token if there are too many."""
        if self._depth >= MAX_TOKEN_NESTING:
            self.error(f"nesting exceeds {MAX_TOKEN_NESTING} levels")
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def errors_at(self, offset: int) -> Generator[None]:
        """Adds the position of `offset` to errors that are raised within and have none."""
        try:
            yield
        except ShardyError as error:
            raise ShardyError(self._located(error.first, offset), *error.diagnostics[1:]) from None

    def position(self, offset: int) -> Position:
        """The position of an offset."""
        return self._numbered.position(offset)

    def error(self, message: str, offset: int | None = None, *notes: tuple[str, int]) -> NoReturn:
        """Fails with `message` at `offset`, or at the current token; notes are pairs of text and offset."""
        shown = tuple(Diagnostic(text, self.position(place), "note") for text, place in notes)
        place = self.offset if offset is None else offset
        raise ShardyError(self._located(Diagnostic(message, notes=shown), place))

    def unexpected(self, expected: str) -> NoReturn:
        """Fails at the current token: `expected EXPECTED, got 'token'`."""
        got = f"'{self.token[:_MAX_ECHOED_TOKEN]}'" if self.token else "the end of the text"
        raise ShardyError(self._located(Diagnostic("", expected=expected, got=got), self.offset))

    def _located(self, diagnostic: Diagnostic, offset: int) -> Diagnostic:
        if len(diagnostic.what) > _MAX_MESSAGE:
            diagnostic = replace(diagnostic, what=f"{diagnostic.what[:_MAX_MESSAGE]}...")
        if not self.description:
            return diagnostic.at(self.position(offset))
        if diagnostic.what.startswith(f"invalid {self.description} "):
            return diagnostic
        start = max(0, min(offset - _MAX_ECHOED_TEXT // 2, len(self.text) - _MAX_ECHOED_TEXT))
        quoted = self.text[start : start + _MAX_ECHOED_TEXT]
        place = f"invalid {self.description} {quoted!r} at character {offset + 1}"
        return replace(diagnostic, what=f"{place}: {diagnostic.what}" if diagnostic.what else place)
