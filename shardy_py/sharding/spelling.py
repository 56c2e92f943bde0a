r"""Names in the text of MLIR: string literals and symbols, escaped where necessary.

Bytes that are not UTF-8 are surrogates in strings. Not here: parsing (`mlir/text/builtin_attributes.py`).

>>> string_literal('a"\n'), symbol_text("a b")
('"a\\22\\0A"', '@"a b"')
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from shardy_py.base.errors import ShardyError
from shardy_py.base.terminal import utf8

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


def unknown_axis(name: str, known: Iterable[str], *, what: str = "", remedy: str = "") -> ShardyError:
    """The error for the name of an axis that no mesh has; names are escaped as in shardings."""
    spelled = (string_literal(axis)[1:-1] for axis in known)
    return ShardyError.unknown("axis", string_literal(name)[1:-1], spelled, what=what, remedy=remedy)


def keyword_or_string(text: str) -> str:
    """A name without quotes if it is a bare identifier, else a string literal."""
    return text if _BARE.match(text) else string_literal(text)


def symbol_text(name: str) -> str:
    """`@name`, quoted where necessary."""
    return "@" + keyword_or_string(name)
