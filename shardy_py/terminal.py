r"""Text for a terminal: names and places come from the input, and must not control what shows them.

>>> without_controls("a\x1b[31m"), without_controls("f\nerror: forged", lines=False)
('a\\1B[31m', 'f\\0Aerror: forged')
"""

from __future__ import annotations

import re

_ASCII_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def without_controls(text: str, *, lines: bool = True) -> str:
    """Text for a terminal: control and bidirectional characters and bytes that are not UTF-8 are escaped.

    lines: keep newlines; names and places must not have any.
    """
    if not lines:
        text = text.replace("\n", "\\0A")
    if text.isascii():
        data = text.encode()
        if len(data.translate(None, _ASCII_CONTROLS)) == len(data):
            return text
    return _CONTROLS.sub(lambda match: _escaped(match.group()), text)


def _escaped(character: str) -> str:
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:02X}" for byte in character.encode("utf-8", errors))
