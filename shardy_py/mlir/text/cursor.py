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
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from shardy_py.base.cursor import TextCursor
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.patterns import on_use
from shardy_py.mlir.text.builtin_attributes import unescape
from shardy_py.mlir.text.source import Source

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from shardy_py.mlir.text.syntax import SyntaxTable

TOKEN = re.compile(
    r"""(?>(?:[ \t\r\n\0]+|//[^\n\r]*)*)     # white space and comments
    (   [A-Za-z_][\w$.]*+                   # bare identifier
    |   %(?:[0-9]++|[A-Za-z_$.-][\w$.-]*+)(?:\#[0-9]++)?    # value, with its result number
    |   0x[0-9a-fA-F]++ | [0-9]++(?:\.[0-9]*+(?:[eE][-+]?[0-9]++)?)?
    |   "(?>(?:[^"\\\n\v\f]++|\\(?:["\\nt]|[0-9a-fA-F]{2}))*)"
    |   @(?:[A-Za-z_][\w$.]*+|"(?>(?:[^"\\\n\v\f]++|\\(?:["\\nt]|[0-9a-fA-F]{2}))*)")
    |   \#-\} | [\#!^](?:[0-9]++|[A-Za-z_$.-][\w$.-]*+)
    |   -> | ::? | \.\.\. | \{-\# | [{}()\[\]<>,=+*/?|-]
    |   \Z )""",
    re.VERBOSE | re.ASCII,
)
"""A token, with the white space and comments before it."""

_SPACE = on_use(r"(?>(?:[ \t\r\n\0]+|//[^\n\r]*)*)")
_STRING_BODY = on_use(r'(?>(?:[^"\\\n\v\f]++|\\(?:["\\nt]|[0-9a-fA-F]{2}))*)')
_INTEGERS = on_use(r"\[(\s*+-?[0-9]{1,18}\s*+(?>(?:,\s*+-?[0-9]{1,18}\s*+)*))\]", re.ASCII)
_INVALID_STARTS = {
    "@": (1, "@ identifier expected to start with letter or '_'"),
    "#": (0, "invalid attribute name"),
    "!": (0, "invalid type identifier"),
    "^": (0, "invalid block name"),
    "%": (0, "invalid SSA name"),
    ".": (1, "expected three consecutive dots for an ellipsis"),
}
"""Errors by the first character of an invalid token: offset of the place, and MLIR's message."""

MAX_NESTING = 200
"""Maximum nesting of regions, attributes and types; deeper text is an error."""

MAX_ALIAS_SIZE = 10_000
"""Maximum number of aliases that an alias may refer to, directly or not."""

MAX_DIGITS = 4000
"""Maximum length of an integer literal: Python refuses to convert much longer ones."""

T = TypeVar("T")


class TokenError(ShardyError):
    """The text at the cursor is not a token; no message about what was expected there follows."""


class Cursor(TextCursor):
    """Reads tokens one by one.

    token: the text of the current token, empty at the end of the source.
    offset: where it starts; `end`: where it ends.
    custom_op: the name of the op whose form is being read, for messages; empty elsewhere.
    allow_unregistered: whether attributes, types and ops of unregistered dialects are kept.
    deferred: errors after which reading goes on; the next error is reported behind them.
    """

    __slots__ = (
        "alias_extents",
        "alias_size",
        "aliases",
        "allow_unregistered",
        "custom_op",
        "deepest",
        "deferred",
        "depth",
        "source",
        "syntax",
        "type_aliases",
    )

    def __init__(self, source: Source, syntax: SyntaxTable | None = None, offset: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.syntax = syntax
        self.aliases: dict[str, Attribute] = {}
        self.type_aliases: dict[str, Attribute] = {}
        self.allow_unregistered = True
        self.custom_op = ""
        self.depth = self.deepest = 0
        self.alias_extents: dict[str, tuple[int, int]] = {}
        self.alias_size = 0
        self.deferred: list[Diagnostic] = []
        self.token = ""
        self.move_to(offset)

    def advance(self) -> str:
        """Steps to the next token; returns the one left behind."""
        token = self.token
        self.previous_end = end = self.end
        match = TOKEN.match(self.text, end)
        if match is None:
            self._invalid_token()
        self.token = match[1]
        self.offset, self.end = match.span(1)
        return token

    def _invalid_token(self) -> NoReturn:
        text = self.text
        space = _SPACE.match(text, self.end)
        offset = space.end() if space else self.end
        first = text[offset]
        if first == '"' or text.startswith('@"', offset):
            body = _STRING_BODY.match(text, offset + 1 + (first == "@"))
            at = body.end() if body else offset
            is_escape = text[at : at + 1] == "\\"
            self._token_error(
                "unknown escape in string literal" if is_escape else "expected '\"' in string literal", at
            )
        shift, message = _INVALID_STARTS.get(first, (0, "unexpected character"))
        self._token_error(message, offset + shift)

    def _token_error(self, message: str, offset: int) -> NoReturn:
        raise TokenError(*self.deferred, Diagnostic(message, self.source.position(offset)))

    def error(self, message: str, offset: int | None = None, *notes: tuple[str, int]) -> NoReturn:
        """Fails with `message` at `offset`, or at the current token; notes have their own text and offset."""
        if offset is None:
            offset = self.offset if self.token else max(self.offset - 1, 0)
        position = self.source.position
        shown = tuple([Diagnostic(text, position(place), "note") for text, place in notes])
        raise ShardyError(*self.deferred, Diagnostic(message, position(offset), notes=shown))

    def form_error(self, message: str, offset: int | None = None) -> NoReturn:
        """Fails with `message` about the form that is being read: `custom op 'name' message`."""
        self.error(f"custom op '{self.custom_op}' {message}" if self.custom_op else message, offset)

    def explained(self, read: Callable[[Self], T], message: str) -> T:
        """Returns `read(self)`; if it fails, `message` is reported of the form too, at the token reached."""
        form = self.custom_op
        try:
            return read(self)
        except TokenError:
            raise
        except ShardyError as error:
            self.custom_op = form
            message = f"custom op '{form}' {message}" if form else message
            of_form = Diagnostic(message, self.source.position(self.offset))
            raise ShardyError(*error.diagnostics, of_form) from None

    def wrong_token(self, message: str) -> NoReturn:
        """Fails with `message` behind the token before the current one, which is another than expected."""
        before = self.text[: self.offset if self.token else max(self.offset - 1, 0)]
        while trimmed := before.rstrip(" \t"):
            if trimmed[-1] not in "\n\r":
                self.error(message, len(trimmed))
            line_start = max(trimmed.rfind("\n", 0, -1), trimmed.rfind("\r", 0, -1)) + 1
            comment = trimmed.find("//", line_start)
            before = trimmed[:comment] if comment >= 0 else trimmed[:-1]
        self.error(message)

    def expect(self, token: str, context: str = "") -> None:
        """Steps over `token`, or fails: `expected 'token'`."""
        if self.token != token:
            message = f"expected '{token}'{context}"
            self.form_error(message) if token[0].isalpha() else self.wrong_token(message)
        self.advance()

    def is_identifier(self) -> bool:
        """True if the current token is a bare identifier."""
        first = self.token[:1]
        return first.isalpha() or first == "_"

    def keyword(self) -> str:
        """A bare identifier."""
        if not self.is_identifier():
            self.form_error("expected valid keyword")
        return self.advance()

    def is_integer(self) -> bool:
        """True if the cursor is at an integer, with or without a minus sign."""
        token = self.token
        return is_integer_token(token) or (token == "-" and self.text[self.end : self.end + 1].isdigit())

    def integer(self) -> int:
        """A decimal or hexadecimal integer of 64 bits, negative ones included."""
        start = self.offset
        sign = -1 if self.accept("-") else 1
        if not is_integer_token(self.token):
            self.form_error("expected integer value", start)
        value = self.int64(sign)
        return self.form_error("integer value too large", start) if value is None else value

    def int64(self, sign: int = 1) -> int | None:
        """The integer literal at the cursor times `sign`; None, and no step, if 64 bits do not hold it."""
        token = self.token
        value = sign * integer_value(token) if len(token) <= MAX_DIGITS else None
        if value is None or not -(1 << 63) <= value < 1 << 63:
            return None
        self.advance()
        return value

    def integers(self) -> list[int]:
        """`[0, 1, ...]`: integers, however many, between square brackets."""
        match = _INTEGERS.match(self.text, self.offset)
        if match is None:
            return self.items(self.integer)
        self.move_to(match.end())
        return [int(text) for text in match[1].split(",")]

    def string(self) -> str:
        """A string literal, its escapes resolved; bytes that are not UTF-8 come as surrogates."""
        if self.token[:1] != '"':
            self.form_error("expected string")
        return unescape(self.advance()[1:-1])

    def symbol(self) -> str:
        """A symbol `@name` or `@"any name"`, without the `@`."""
        if self.token[:1] != "@":
            self.form_error("expected valid '@'-identifier for symbol name")
        name = self.advance()[1:]
        return unescape(name[1:-1]) if name[:1] == '"' else name

    def nested(self, read: Callable[[], T]) -> T:
        """Returns `read()`, one level deeper; fails where the text nests too deep."""
        depth = self.depth + 1
        if depth > self.deepest:
            self._deepen(depth)
        self.depth = depth
        try:
            return read()
        finally:
            self.depth = depth - 1

    def _deepen(self, depth: int) -> None:
        if depth > MAX_NESTING:
            self.error(f"nesting exceeds {MAX_NESTING} levels")
        self.deepest = depth

    def use_alias(self, name: str) -> None:
        """Counts the alias at the cursor as if it were written out; `name` includes its sigil."""
        depth, size = self.alias_extents.get(name, (0, 0))
        self._deepen(max(self.depth + depth, self.deepest))
        self.alias_size += size + 1

    def measure_alias(self, name: str, read: Callable[[], T]) -> T:
        """Returns `read()`, the definition of an alias; fails if it expands to too much."""
        outer = (self.deepest, self.alias_size)
        self.deepest = self.alias_size = 0
        found = read()
        self.alias_extents[name] = (self.deepest + 1, self.alias_size)
        if self.alias_size > MAX_ALIAS_SIZE:
            self.error(f"alias expands to more than {MAX_ALIAS_SIZE} attributes")
        self.deepest, self.alias_size = outer
        return found

    def type(self) -> Attribute:
        """A type."""
        from shardy_py.mlir.text.type_reader import read_type

        return read_type(self)

    def attribute(self, expected_type: Attribute | None = None) -> Attribute:
        """An attribute; a number without a type of its own takes `expected_type`."""
        from shardy_py.mlir.text.attribute_reader import read_attribute

        outer, self.custom_op = self.custom_op, ""
        found = read_attribute(self, expected_type)
        self.custom_op = outer
        return found

    def attribute_dictionary(self) -> dict[str, Attribute]:
        """`{name = attribute, unit_attribute, ...}`, in the order of the text."""
        from shardy_py.mlir.text.attribute_reader import read_dictionary

        outer, self.custom_op = self.custom_op, ""
        found = read_dictionary(self)
        self.custom_op = outer
        return found


def is_integer_token(token: str) -> bool:
    """True if a token is an integer literal."""
    return token.isdecimal() or token[:2] == "0x"


def integer_value(token: str) -> int:
    """The value of an integer literal of at most `MAX_DIGITS` characters."""
    return int(token, 16) if token[:2] == "0x" else int(token)
