"""The entries of attributes that the reader keeps as text: frontend attributes, metadata, precisions.

>>> entries('{a="#sdy.sharding<@m, [{\\\\"x\\\\"}]>",b={c = 1}}')
{'a': '#sdy.sharding<@m, [{"x"}]>', 'b': '{c = 1}'}
>>> entries('{op_name="jit(f)/dot" source_line=7}')
{'op_name': 'jit(f)/dot', 'source_line': '7'}
"""

from __future__ import annotations

import re

from shardy_py.base.session import SESSION

_ENTRY = re.compile(r'[\s,]*+([\w.\-]++)\s*+=\s*+("(?:[^"\\]|\\.)*+"|(?=[{\[(])|[^\s,{}]++)', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_NO_BRACKETS = re.compile(r'(?:[^{}\[\]()"]++|"(?:[^"\\]|\\.)*+")*+', re.DOTALL)


def unescaped(text: str) -> str:
    r"""The content of a string in HLO text, which has C's escapes.

    >>> unescaped('a\\"b\\n')
    'a"b\n'
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    octal, hexadecimal, mark = match.groups()
    if mark is None:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return _ESCAPES.get(mark, mark)


def entries(text: str) -> dict[str, str]:
    """The entries `name=value` between braces; values are strings, words, or what is in brackets."""
    return dict(_entries(text))


@SESSION.cache(1 << 10)
def _entries(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    at, end = text.find("{") + 1, len(text)
    while at < end and (match := _ENTRY.match(text, at)):
        name, value = match.groups()
        at = match.end()
        if not value:
            start = at
            at = _bracketed_end(text, at)
            value = text[start:at]
        elif value[0] == '"':
            value = unescaped(value[1:-1])
        found[name] = value
    return tuple(found.items())


def _bracketed_end(text: str, at: int) -> int:
    """The offset behind the bracket that closes the one at an offset; the end of the text if none does."""
    waiting: list[str] = []
    while at < len(text):
        match = _NO_BRACKETS.match(text, at) if waiting else None
        at = match.end() if match else at
        mark = text[at : at + 1]
        at += 1
        if mark in _PAIRS:
            waiting.append(_PAIRS[mark])
        elif not waiting or mark != waiting.pop():
            break
        if not waiting:
            break
    return min(at, len(text))


def listed(text: str) -> tuple[str, ...]:
    """The words of a list in braces: `{highest,default}`."""
    return tuple(re.findall(r"[\w.\-]+", text))
