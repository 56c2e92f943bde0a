r"""Names as MLIR spells them: string literals and symbols, escaped where they need it.

Bytes that are not UTF-8 travel as surrogates. Not here: reading them (`text/strings.py`).

>>> string_literal('a"\n'), symbol_text("a b")
('"a\\22\\0A"', '@"a b"')
"""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z_][\w$.]*\Z", re.ASCII)
_PRINTABLE = re.compile(r"[ !#-\[\]-~]*\Z")


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
