r"""String literals: unescaped when read, made string attributes. Escaping is in `sharding/spelling.py`.

Bytes that are not UTF-8 travel as surrogates.

>>> unescape(r"a\22\0A")
'a"\n'
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import StringAttr

from shardy_py.session import SESSION

_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9a-fA-F]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}
_strings: dict[str, StringAttr] = SESSION.table("string attributes")


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
