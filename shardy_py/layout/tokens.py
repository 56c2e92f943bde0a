"""The words of HLO text, and a cursor over them that knows where each stands.

>>> cursor = Cursor("ROOT add.1 = f32[4] add(p0, p1) /* sum */", "x.hlo")
>>> cursor.take(), cursor.take(), cursor.peek()
('ROOT', 'add.1', '=')
"""

from __future__ import annotations

import re
from bisect import bisect_right

from shardy_py.errors import Diagnostic, Position, ShardyError

# Each word is found in one look at it: labels have a bound, an unclosed comment is one word.
_TOKEN = re.compile(
    r"""
    (?P<skip>[\ \t\r\n]+|//[^\n]*|/\*.*?\*/)
  | (?P<unclosed>/\*.*\Z)
  | (?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z))
  | (?P<labels>[0-9bf?]{2,64}_[0-9io?]{2,64}->[0-9bf?]{2,64})
  | (?P<pad>-?[0-9]+_-?[0-9]+(?:_-?[0-9]+)?(?:x-?[0-9]+_-?[0-9]+(?:_-?[0-9]+)?)*)
  | (?P<sizes>[0-9]+(?:x[0-9]+)+)
  | (?P<number>[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)
  | (?P<name>%[\w.\-]+|[A-Za-z_](?:[\w.]|-(?!>))*)
  | (?P<mark>->|<=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())
_MAX_DIGITS = 19
"""Integers have at most so many digits: 64 bits."""
_MAX_ATTEMPTED = 40
"""How much of an unexpected word a message shows."""


class Cursor:
    """The words of a text from first to last.

    After the last word `peek` gives the empty text and `kind` "end".
    """

    def __init__(self, text: str, file: str) -> None:
        """Cuts `text` into words; comments and white space count for nothing."""
        self.text = text
        self.file = file
        self.words: list[str] = []
        self.kinds: list[str] = []
        self.offsets: list[int] = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or "mark"
            if kind != "skip":
                self.words.append(match.group())
                self.kinds.append(kind)
                self.offsets.append(match.start())
        self.words += [""] * 3
        self.kinds += ["end"] * 3
        self.offsets += [len(text)] * 3
        self.at = 0
        self._line_starts: list[int] | None = None

    def peek(self, ahead: int = 0) -> str:
        """The next word, or the one `ahead` (at most 2) words after it."""
        return self.words[self.at + ahead]

    @property
    def kind(self) -> str:
        """The kind of the next word: string, labels, pad, sizes, number, name, mark, unclosed (a comment)
        or end."""
        return self.kinds[self.at]

    @property
    def offset(self) -> int:
        """Where the next word starts."""
        return self.offsets[self.at]

    def take(self) -> str:
        """The next word, which is then behind the cursor."""
        word = self.words[self.at]
        if word:
            self.at += 1
        return word

    def accept(self, word: str) -> bool:
        """Takes the next word if it is `word`."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        """Takes `word`, or fails."""
        if not self.accept(word):
            raise self.unexpected(f"'{word}'")

    def name(self, what: str = "a name") -> str:
        """Takes a name; a leading `%` is left out."""
        if self.kind != "name":
            raise self.unexpected(what)
        return self.take().removeprefix("%")

    def integer(self) -> int:
        """Takes an integer."""
        if self.kind != "number" or not self.peek().lstrip("+-").isdigit():
            raise self.unexpected("an integer")
        return self.to_integer(self.take())

    def to_integer(self, word: str) -> int:
        """The value of digits just taken."""
        if len(word) > _MAX_DIGITS + 1:
            raise self.error(f"the integer {word[:_MAX_ATTEMPTED]}... has more than {_MAX_DIGITS} digits")
        return int(word)

    def raw(self, what: str = "a value") -> str:
        """Takes words up to a comma, closing bracket or line end outside brackets; gives their text."""
        start = end = self.offset
        while self.kind != "end":
            word = self.peek()
            if word == "," or word in _CLOSING or "\n" in self.text[end : self.offset]:
                break
            if word in _OPENING:
                self._skip_group()
            else:
                self.at += 1
            end = self.offsets[self.at - 1] + len(self.words[self.at - 1])
        if start == end:
            raise self.unexpected(what)
        return self.text[start:end]

    def enclosed(self) -> str:
        """The text between an opening bracket that is next and its closing one; takes both."""
        start = self.offset + 1
        self._skip_group()
        return self.text[start : self.offsets[self.at - 1]].strip()

    def _skip_group(self) -> None:
        """Takes an opening bracket, its closing one, and all that is between."""
        start = self.offset
        waiting = [_OPENING[self.take()]]
        while waiting:
            word = self.peek()
            if not word:
                raise self.error(f"this bracket is not closed by '{waiting[0]}'", start)
            if word in _OPENING:
                waiting.append(_OPENING[word])
            elif word in _CLOSING and waiting.pop() != word:
                raise self.error("this bracket closes no bracket of its kind")
            self.at += 1

    def position(self, offset: int | None = None) -> Position:
        """Line and column of an offset, of the next word if none is given."""
        if self._line_starts is None:
            self._line_starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        offset = self.offset if offset is None else offset
        line = bisect_right(self._line_starts, offset)
        return Position(self.file, line, offset - self._line_starts[line - 1] + 1)

    def error(self, message: str, offset: int | None = None) -> ShardyError:
        """A mistake at `offset`, or at the next word."""
        return ShardyError(Diagnostic(message, self.position(offset)))

    def unexpected(self, expected: str) -> ShardyError:
        """The next word is not what must stand there."""
        word = self.peek()
        got = f"'{word[:_MAX_ATTEMPTED]}'" if word else "the end of the text"
        return self.error(f"expected {expected}, got {got}")
