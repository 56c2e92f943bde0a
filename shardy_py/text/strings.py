r"""String literals, names and symbols: unescaped when read, escaped when printed.

Bytes that are not UTF-8 travel as surrogates.

>>> unescape(r"a\22\0A"), string_literal('a"\n'), symbol_text("a b")
('a"\n', '"a\\22\\0A"', '@"a b"')
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr

_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9a-fA-F]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
_BARE = re.compile(r"[A-Za-z_][\w$.]*\Z", re.ASCII)
_PRINTABLE = re.compile(r"[ !#-\[\]-~]*\Z")
_strings: dict[str, StringAttr] = {}


def string_attribute(text: str) -> StringAttr:
    """The string attribute, one object for one text."""
    return _strings.get(text) or _strings.setdefault(text, StringAttr(text))


def unescape(text: str) -> str:
    r"""Resolves the escapes of a string literal: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[bytes]) -> bytes:
        body = match[1]
        return _ESCAPED.get(body) or bytes.fromhex(body.decode())

    return _ESCAPE.sub(replace, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def string_literal(text: str) -> str:
    """A string with quotes, escaped as MLIR does."""
    if _PRINTABLE.match(text):
        return f'"{text}"'
    escaped = "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
    return f'"{escaped}"'


def keyword_or_string(text: str) -> str:
    """A name as it is if it can stand bare, as a string literal otherwise."""
    return text if _BARE.match(text) else string_literal(text)


def symbol_text(name: str) -> str:
    """`@name`, quoted where the name needs it."""
    return "@" + keyword_or_string(name)
