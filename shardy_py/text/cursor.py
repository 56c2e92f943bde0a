"""A cursor over the tokens of a source: the base of every reader.

One compiled regular expression finds a token together with the white space and comments before it; a token's
kind shows in its first character. Attributes and types are read through the functions that
`attribute_reader.py` and `type_reader.py` put behind `attribute` and `type`.

>>> cursor = Cursor(Source('i = 8 // a size'))
>>> cursor.keyword(), cursor.accept("="), cursor.integer(), cursor.token
('i', True, 8, '')
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.source import Source

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from shardy_py.text.syntax import SyntaxTable

_TOKEN = re.compile(
    r"""(?:[ \t\r\n]+|//[^\n]*)*            # white space and comments
    (   [A-Za-z_][\w$.]*                    # bare identifier
    |   %(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)(?:\#[0-9]+)?      # value, with its result number
    |   0x[0-9a-fA-F]+ | [0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?
    |   "(?:[^"\\\n]|\\[^\n])*"
    |   @(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\[^\n])*")
    |   [\#!^](?:[0-9]+|[A-Za-z_$.-][\w$.-]*)
    |   -> | ::? | \.\.\. | \{-\# | \#-\} | == | >= | <= | [{}()\[\]<>,=+*/?|-]
    |   $ )""",
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9a-fA-F]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}

MAX_NESTING = 200
"""How deep regions, attributes and types may nest; deeper text gets a diagnostic."""

T = TypeVar("T")


class Cursor:
    """Reads tokens one by one.

    token: the text of the current token, empty at the end of the source.
    offset: where it starts; `end`: where it ends.
    """

    __slots__ = ("aliases", "depth", "end", "offset", "previous_end", "source", "syntax", "text", "token", "type_aliases")

    def __init__(self, source: Source, syntax: SyntaxTable | None = None, offset: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.syntax = syntax
        self.aliases: dict[str, Attribute] = {}
        self.type_aliases: dict[str, Attribute] = {}
        self.depth = 0
        self.move_to(offset)

    def move_to(self, offset: int) -> None:
        """Makes the token at or behind `offset` the current one."""
        self.end = offset
        self.advance()

    def advance(self) -> str:
        """Steps to the next token; returns the one left behind."""
        token = getattr(self, "token", "")
        self.previous_end = self.end
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self._unexpected_character()
        self.token = match[1]
        self.offset, self.end = match.span(1)
        return token

    def _unexpected_character(self) -> NoReturn:
        match = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*").match(self.text, self.end)
        offset = match.end() if match else self.end
        if self.text[offset] == '"':
            self.error("expected '\"' in string literal", offset)
        self.error("unexpected character", offset)

    def error(self, message: str, offset: int | None = None) -> NoReturn:
        """Fails with `message` at `offset` (the current token if None)."""
        place = self.source.position(self.offset if offset is None else offset)
        raise ShardyError(Diagnostic(message, place))

    def at(self, token: str) -> bool:
        """Whether the current token is `token`."""
        return self.token == token

    def accept(self, token: str) -> bool:
        """Steps over the current token if it is `token`."""
        if self.token == token:
            self.advance()
            return True
        return False

    def expect(self, token: str, context: str = "") -> None:
        """Steps over `token`, or fails: `expected 'token'`."""
        if self.token != token:
            if token == ">" and self.token == ">=":  # only within `dense<...>=`-like text; split the token
                self.token, self.offset = "=", self.offset + 1
                return
            self.error(f"expected '{token}'{context}")
        self.advance()

    def is_identifier(self) -> bool:
        """Whether the current token is a bare identifier."""
        first = self.token[:1]
        return first.isalpha() or first == "_"

    def keyword(self) -> str:
        """A bare identifier."""
        if not self.is_identifier():
            self.error("expected valid keyword")
        return self.advance()

    def is_integer(self) -> bool:
        """Whether an integer, with or without a minus sign, stands here."""
        token = self.token
        return token.isdigit() or token[:2] == "0x" or (token == "-" and self.text[self.end : self.end + 1].isdigit())

    def integer(self) -> int:
        """A decimal or hexadecimal integer, negative ones included."""
        sign = -1 if self.accept("-") else 1
        token = self.token
        if not (token.isdigit() or token[:2] == "0x"):
            self.error("expected integer value")
        if len(token) > 4000:
            self.error("integer value too large")
        self.advance()
        return sign * int(token, 0 if token[:2] == "0x" else 10)

    def string(self) -> str:
        """A string literal, its escapes resolved; bytes that are not UTF-8 come as surrogates."""
        if self.token[:1] != '"':
            self.error("expected string literal")
        return unescape(self.advance()[1:-1])

    def symbol(self) -> str:
        """A symbol `@name` or `@"any name"`, without the `@`."""
        if self.token[:1] != "@":
            self.error("expected valid '@'-identifier for symbol name")
        name = self.advance()[1:]
        return unescape(name[1:-1]) if name[:1] == '"' else name

    def items(self, read: Callable[[], T], opening: str = "[", closing: str = "]") -> list[T]:
        """A comma-separated list between brackets."""
        self.expect(opening)
        found: list[T] = []
        if self.token != closing:
            found.append(read())
            while self.accept(","):
                found.append(read())
        if self.token != closing:
            self.error(f"expected '{closing}'" if not closing == "]" else "expected ']'")
        self.advance()
        return found

    def nested(self, read: Callable[[], T]) -> T:
        """What `read` gives, one level deeper; fails where the text nests too deep."""
        if self.depth >= MAX_NESTING:
            self.error(f"nesting exceeds {MAX_NESTING} levels")
        self.depth += 1
        try:
            return read()
        finally:
            self.depth -= 1

    def type(self) -> Attribute:
        """A type."""
        from shardy_py.text.type_reader import read_type

        return read_type(self)

    def attribute(self, expected_type: Attribute | None = None) -> Attribute:
        """An attribute; a number without a type of its own takes `expected_type`."""
        from shardy_py.text.attribute_reader import read_attribute

        return read_attribute(self, expected_type)

    def attribute_dictionary(self) -> dict[str, Attribute]:
        """`{name = attribute, unit_attribute, ...}`, in the order of the text."""
        from shardy_py.text.attribute_reader import read_dictionary

        return read_dictionary(self)


def unescape(text: str) -> str:
    r"""Resolves the escapes of a string literal: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits.

    >>> unescape(r"a\22\0A")
    'a"\n'
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[bytes]) -> bytes:
        body = match[1]
        return _ESCAPED.get(body) or bytes.fromhex(body.decode())

    return _ESCAPE.sub(replace, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
