"""A cursor over a line of XLA's text: tokens, lists, and errors that show the place.

For the text of shardings only. Not here: MLIR's text (`text/cursor.py`), HLO programs (`layout/tokens.py`).

>>> cursor = TextCursor("[2, 4]<=", "sharding")
>>> cursor.integers("[", "]"), cursor.token
((2, 4), '<=')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from shardy_py.errors import ShardyError

Item = TypeVar("Item")
_TOKEN = re.compile(r"""<=|-?\d+|[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|.""", re.DOTALL)
_SPACE = re.compile(r"(?:\s|/\*.*?\*/)*", re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,19}")
_WORD = re.compile(r"[A-Za-z_]\w*")


class TextCursor:
    """Where one stands in a text.

    token: the token at hand; "" at the end.
    offset: where it starts.
    what: what the text is, for messages.
    """

    def __init__(self, text: str, what: str) -> None:
        """Start at the first token."""
        self.text = text
        self.what = what
        self.token = ""
        self.offset = 0
        self._next = 0
        self.advance()

    def advance(self) -> str:
        """Step over the token at hand and return it."""
        token = self.token
        space = _SPACE.match(self.text, self._next)
        self.offset = space.end() if space else self._next
        found = _TOKEN.match(self.text, self.offset)
        self.token = found.group() if found else ""
        self._next = found.end() if found else self.offset
        return token

    def at(self, token: str) -> bool:
        """Whether `token` is at hand."""
        return self.token == token

    def accept(self, token: str) -> bool:
        """Step over `token` if it is at hand."""
        if self.token == token:
            self.advance()
            return True
        return False

    def expect(self, token: str) -> bool:
        """Step over `token`; an error if another one is at hand."""
        if not self.accept(token):
            raise self.error(f"expected `{token}`")
        return True

    def expect_end(self) -> None:
        """An error if there is more."""
        if self.token:
            raise self.error("expected nothing more")

    def integer(self) -> int:
        """An integer of at most 64 bits, about."""
        if not _INTEGER.fullmatch(self.token):
            raise self.error("expected an integer")
        return int(self.advance())

    def word(self) -> str:
        """A word."""
        if not _WORD.fullmatch(self.token):
            raise self.error("expected a word")
        return self.advance()

    def one_of(self, words: Iterable[str]) -> str:
        """One of `words`."""
        known = tuple(words)
        if self.token not in known:
            raise self.error(f"expected one of: {', '.join(known)}")
        return self.advance()

    @property
    def at_string(self) -> bool:
        """Whether a quoted string is at hand."""
        return len(self.token) > 1 and self.token[0] in "\"'"

    def string(self) -> str:
        """A string in quotes of either kind, without them."""
        if not self.at_string:
            raise self.error("expected a string")
        return re.sub(r"\\(.)", r"\1", self.advance()[1:-1], flags=re.DOTALL)

    def list(self, opening: str, closing: str, read: Callable[[], Item]) -> tuple[Item, ...]:
        """Items between two brackets, with commas between them."""
        self.expect(opening)
        items: list[Item] = []
        if self.accept(closing):
            return ()
        while True:
            items.append(read())
            if not self.accept(","):
                self.expect(closing)
                return tuple(items)

    def integers(self, opening: str, closing: str) -> tuple[int, ...]:
        """At least one integer between two brackets."""
        start = self.offset
        found = self.list(opening, closing, self.integer)
        if not found:
            raise self.error("expected at least one integer", start)
        return found

    def error(self, message: str, offset: int | None = None) -> ShardyError:
        """The error that shows the place: the token at hand, or `offset`."""
        place = self.offset if offset is None else offset
        got = "" if offset is not None else f", got {f'`{self.token}`' if self.token else 'the end'}"
        return ShardyError(f"{message}{got} (character {place + 1} of the {self.what} `{self.text}`)")
