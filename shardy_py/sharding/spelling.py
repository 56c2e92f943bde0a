r"""Names in the text of MLIR: string literals and symbols, escaped where necessary.

Bytes that are not UTF-8 are surrogates in strings. Not here: parsing (`text/builtin_attributes.py`).

>>> string_literal('a"\n'), symbol_text("a b")
('"a\\22\\0A"', '@"a b"')
"""

from __future__ import annotations

import re

from shardy_py.terminal import utf8

_BARE = re.compile(r"[A-Za-z_][\w$.]*\Z", re.ASCII)
_PRINTABLE = re.compile(r"[ !#-\[\]-~]*\Z")


def string_literal(text: str) -> str:
    """A string in quotes, with the escapes of MLIR."""
    if _PRINTABLE.match(text):
        return f'"{text}"'
    escaped = "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in utf8(text)
    )
    return f'"{escaped}"'


def keyword_or_string(text: str) -> str:
    """A name without quotes if it is a bare identifier, else a string literal."""
    return text if _BARE.match(text) else string_literal(text)


def symbol_text(name: str) -> str:
    """`@name`, quoted where necessary."""
    return "@" + keyword_or_string(name)
