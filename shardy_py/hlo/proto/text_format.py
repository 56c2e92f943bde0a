"""Protocol buffers as text (`.pbtxt`, `.textproto`), as bytes: `encoded_module`.

Source: https://protobuf.dev/reference/protobuf/textformat-spec. Fields that are not read are skipped, so that
nothing but their form is checked. Not here: what messages mean (`reader.py`).

>>> encoded_module('name: "m"  # a module', "-").hex()
'0a016d'
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.wire import FIXED32, FIXED64, bytes_field, integer_field, varint
from shardy_py.hlo.proto.message import MOST_NESTED
from shardy_py.hlo.proto.text_schema import TEXT_FIELDS, TextField, enum_number

_TOKEN = re.compile(
    r"""(?>(?:\s++|\#[^\n]*+)*)(?:
        ("(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')
        |([+-]?[A-Za-z0-9_.][A-Za-z0-9_.+-]*+)
        |(.))""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"{": "}", "<": ">"}
_MODULE_IN = "hlo_module"
"""The field of an `HloProto`; snapshots have that in a field `hlo`."""
_MOST_DIGITS = 20
_WORD = (1 << 64) - 1


def encoded_module(text: str, file: str) -> bytes:
    """Returns the bytes of an `HloModuleProto` that is text, also within an `HloProto` or a snapshot.

    Raises:
        ShardyError: the text is invalid, with its place.
    """
    reader = _TextReader(text, file)
    made = reader.message("HloModuleProto", "")
    return reader.inner or made


class _TextReader:
    """token: the current one; kind: string, word, mark, or end; start: its offset.

    inner: the module that the fields `hlo_module` and `hlo` hold.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.inner = b""
        self.end = 0
        self.depth = 0
        self.advance()

    def advance(self) -> str:
        """Goes to the next token; returns the one before."""
        before = getattr(self, "token", "")
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self.kind, self.token, self.start = "end", "", len(self.text)
            return before
        group = match.lastindex or 3
        self.kind = ("string", "word", "mark")[group - 1]
        self.token, self.start, self.end = match[group], match.start(group), match.end()
        return before

    def accept(self, mark: str) -> bool:
        found = self.kind == "mark" and self.token == mark
        if found:
            self.advance()
        return found

    def error(self, message: str, start: int) -> ShardyError:
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        return ShardyError(Diagnostic(message, Position(self.file, line, column)))

    def unexpected(self, expected: str) -> ShardyError:
        got = f"'{self.token[:40]}'" if self.token else "the end"
        return self.error(f"protocol buffer as text: expected {expected}, got {got}", self.start)

    def message(self, name: str, closing: str) -> bytes:
        """The bytes of a message, up to a mark or the end of the text."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.error(f"nesting exceeds {MOST_NESTED} levels", self.start)
        rows, made = TEXT_FIELDS.get(name, {}), bytearray()
        while not (self.accept(closing) if closing else self.kind == "end"):
            made += self.field(rows)
            _ = self.accept(",") or self.accept(";")
        self.depth -= 1
        return bytes(made)

    def field(self, rows: dict[str, TextField]) -> bytes:
        if self.kind == "mark" and self.token == "[":
            name = self.extension()
        elif self.kind == "word":
            name = self.advance()
        else:
            raise self.unexpected("a field")
        row = rows.get(name)
        has_colon = self.accept(":")
        if self.kind == "mark" and self.token in _CLOSING:
            return self.inside(name, row)
        if not has_colon:
            raise self.unexpected("':'")
        if not self.accept("["):
            return self.scalar(name, row)
        made = bytearray()
        while not self.accept("]"):
            if self.kind == "mark" and self.token in _CLOSING:
                made += self.inside(name, row)
            else:
                made += self.scalar(name, row)
            if not self.accept(",") and self.token != "]":
                raise self.unexpected("']'")
        return bytes(made)

    def extension(self) -> str:
        """The name of an extension, in brackets, of which none is read."""
        start = self.start
        while not self.accept("]"):
            if self.kind == "end":
                raise self.error("the name of an extension has no end", start)
            self.advance()
        return ""

    def inside(self, name: str, row: TextField | None) -> bytes:
        """A field that is a message."""
        closing = _CLOSING[self.advance()]
        if self.depth <= 2 and row is None and name in ("hlo", _MODULE_IN):
            made = self.message("HloModuleProto", closing)
            self.inner = made if name == _MODULE_IN else self.inner or made
            return b""
        kind = "" if row is None or row.kind not in TEXT_FIELDS else row.kind
        made = self.message(kind, closing)
        return bytes_field(row.number, made) if row is not None and kind else b""

    def scalar(self, name: str, row: TextField | None) -> bytes:
        """A field that is a number, a word or strings."""
        start, text, is_string = self.start, self.token, self.kind == "string"
        if is_string:
            data = bytearray()
            while self.kind == "string":
                data += unescaped_data(self.advance()[1:-1])
            found: object = bytes(data)
        elif self.kind == "word":
            self.advance()
            found = text
        elif self.accept("-"):
            return self.negative(name, row)
        else:
            raise self.unexpected("a value")
        if row is None:
            return b""
        encode = _ENCODERS.get(row.kind)
        made = None if encode is None or is_string != (row.kind in _STRINGS) else encode(row.number, found)
        if made is None and row.kind == "int" and (number := enum_number(name, text)) is not None:
            made = integer_field(row.number, number)
        if made is None:
            raise self.error(
                f"protocol buffer as text: '{name}': expected {row.kind}, got '{text[:40]}'", start
            )
        return made

    def negative(self, name: str, row: TextField | None) -> bytes:
        """A number whose sign is apart from it."""
        if self.kind != "word":
            raise self.unexpected("a number")
        self.token = f"-{self.token}"
        return self.scalar(name, row)


_STRINGS = ("string", "bytes")
_ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_ESCAPES = dict(zip(b"ntrabfv", b"\n\t\r\a\b\f\v", strict=True))


def unescaped_data(text: str) -> bytes:
    r"""The bytes of a string, whose escapes are C's.

    >>> unescaped_data(r"a\"\303\251\n")
    b'a"\xc3\xa9\n'
    """
    return _ESCAPE.sub(_character, text.encode("utf-8", "surrogatepass")) if "\\" in text else text.encode()


def _character(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, mark = match.groups()
    if octal or hexadecimal:
        return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])
    if short or long:
        code = int(short or long, 16)
        return chr(code if code < 0x110000 else 0xFFFD).encode("utf-8", "surrogatepass")
    return bytes([_ESCAPES.get(mark[0], mark[0])])


def _integer(number: int, text: object) -> bytes | None:
    word = str(text)
    if word in _FLAGS:
        return _flag(number, word)
    try:
        value = int(word, 0) if len(word) <= _MOST_DIGITS else None
    except ValueError:
        return None
    fits = value is not None and -(1 << 63) <= value <= _WORD
    return integer_field(number, value) if fits and value is not None else None


_FLAGS = {"true": 1, "True": 1, "t": 1, "1": 1, "false": 0, "False": 0, "f": 0, "0": 0}
_SUFFIXED = re.compile(r"[+-]?[\d.][\d.eE+-]*[fF]\Z")


def _flag(number: int, text: object) -> bytes | None:
    value = _FLAGS.get(str(text))
    return None if value is None else integer_field(number, value)


def _real(form: str, kind: int) -> Callable[[int, object], bytes | None]:
    def encode(number: int, text: object) -> bytes | None:
        try:
            word = str(text)
            value = float(word[:-1] if _SUFFIXED.match(word) else word)
            return varint(number << 3 | kind) + struct.pack(form, value)
        except (ValueError, OverflowError):
            return None

    return encode


def _string(number: int, data: object) -> bytes | None:
    return bytes_field(number, data) if isinstance(data, bytes) else None


_ENCODERS: dict[str, Callable[[int, object], bytes | None]] = {
    "int": _integer,
    "bool": _flag,
    "string": _string,
    "bytes": _string,
    "float": _real("<f", FIXED32),
    "double": _real("<d", FIXED64),
}
"""The functions that encode the values of a kind; they return None for others."""
