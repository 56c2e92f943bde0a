r"""Text for a terminal: names and places come from the input, and must not control what shows them.

>>> without_controls("a\x1b[31m"), lines_text(["@f\nerror: forged", "  %0"])
('a\\1B[31m', '@f\\0Aerror: forged\n  %0')
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.patterns import on_use

_ASCII_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_CONTROLS = on_use("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_SURROGATES = on_use("[\ud800-\udfff]")
_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "strong": "1", "faint": "2"}


def has_colors(stream: TextIO | None, choice: str = "auto") -> bool:
    """Returns whether text for a stream is coloured: if asked for, else by the environment, or on a terminal.

    choice: `always`, `never`, or `auto`. The environment: `NO_COLOR` (no-color.org), then `FORCE_COLOR`, each
    if it is set and not empty, and `TERM=dumb`.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    is_terminal = stream is not None and not stream.closed and stream.isatty()
    return is_terminal and os.environ.get("TERM") != "dumb"


def painted(text: str, style: str) -> str:
    """Returns a text with the escape sequences of a style, such as a level of findings; "" for none.

    >>> painted("error:", "error"), painted("error:", "")
    ('\\x1b[1;31merror:\\x1b[0m', 'error:')
    """
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style else text


def without_controls(text: str, *, lines: bool = True) -> str:
    """Text for a terminal: control and bidirectional characters and bytes that are not UTF-8 are escaped.

    lines: keep newlines; names and places must not have any.
    """
    if text.isprintable():
        return text
    if not lines:
        text = text.replace("\n", "\\0A")
    if text.isascii():
        data = text.encode()
        if len(data.translate(None, _ASCII_CONTROLS)) == len(data):
            return text
    return _CONTROLS.sub(lambda match: _escaped(match.group()), text)


def lines_text(lines: Iterable[str]) -> str:
    """Lines joined; a newline in one of them, which comes from a name, is escaped."""
    return "\n".join(without_controls(line, lines=False) for line in lines)


def json_text(data: object, indent: int | None = None) -> str:
    """JSON in ASCII; bytes of names that are not UTF-8, which JSON cannot have, are escaped as in MLIR.

    >>> json_text({"file": "\\udcff.py", "names": ("\\u00e9\\n",)})
    '{"file": "\\\\\\\\FF.py", "names": ["\\\\u00e9\\\\n"]}'
    """
    import json  # most commands need none, and start sooner

    text = json.dumps(data, indent=indent)
    return json.dumps(_unicode(data), indent=indent) if "\\ud" in text else text


def _unicode(data: object) -> object:
    """The data with escapes for surrogates in its strings."""
    if isinstance(data, str):
        return _SURROGATES.sub(lambda match: _escaped(match.group()), data)
    if is_mapping(data):
        return {_unicode(key): _unicode(value) for key, value in data.items()}
    return [*map(_unicode, data)] if is_sequence(data) else data


def utf8(text: str) -> bytes:
    """The bytes of a text in which surrogates stand for bytes that are not UTF-8; others are kept.

    >>> utf8("\\u00e9\\udcff\\ud800")
    b'\\xc3\\xa9\\xff\\xed\\xa0\\x80'
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        if len(text) == 1:
            return text.encode("utf-8", "surrogatepass")
        return b"".join(map(utf8, text))


def _escaped(character: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in utf8(character))
