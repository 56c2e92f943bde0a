"""Literals of HLO text as bytes of MLIR's elements.

| text | meaning |
|---|---|
| `1.5`, `-inf`, `nan`, `true`, `(1, -2)` | a scalar; a complex number |
| `{ { 1, 2 }, /*i0=1*/ { 3, 4 } }` | an array |
| `{...}` | elements that XLA left out of a dump |
| `( 1, {2, 3} )`, `s32[2] {2, 3}` | a tuple; an array with its shape |

>>> from shardy_py.hlo.text.values import Shape
>>> literal_bytes("{ 1, -2 }", Shape("s16", (2,))).hex(), literal_bytes("{...}", Shape("s16", (2,)))
('0100feff', None)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import Shape
from shardy_py.indexing.layout import element_type

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[^\s{},()]+")
_COMPLEX = re.compile(r"\(\s*([^\s{},()]+)\s*,\s*([^\s{},()]+)\s*\)")
_PAYLOAD = re.compile(r"nan\(0x[0-9a-fA-F]{1,16}\)")
"""A NaN of other bits than that of the machine, which it is read as."""
_BOOLEANS = {"true": 1, "false": 0, "1": 1, "0": 0}
_SHAPE = re.compile(r"\s*[a-z]\w*\[[\d,<=]*\](?:\{[^{}]*\})?\s*(?=[{(\w-])")
_MAX_DIGITS = 400
ELIDED = "..."


def literal_bytes(text: str, shape: Shape) -> bytes | None:
    """Returns the bytes of all elements of an array; None if the text leaves them out.

    Raises:
        ShardyError: the text is not that of an array of that shape.
    """
    text = _COMMENT.sub("", text) if "/*" in text else text
    text = _PAYLOAD.sub("nan", text) if "nan(" in text else text
    if match := _SHAPE.match(text):
        text = text[match.end() :]
    if ELIDED in text:
        return None
    count = prod(size or 0 for size in shape.sizes)
    dtype = element_type(shape.element).dtype
    is_complex = np.issubdtype(dtype, np.complexfloating)
    words: Sequence[str] | Sequence[tuple[str, str]] = (_COMPLEX if is_complex else _WORD).findall(text)
    if len(words) != count:
        raise ShardyError.unexpected("literal", expected=f"{count:,} elements", got=f"{len(words):,}")
    if is_complex:
        halves = np.array([[_float(part) for part in word] for word in words], np.float64)
        return halves.reshape(-1).astype(_half(dtype)).tobytes()
    if shape.element == "pred":
        return bytes(_boolean(word) for word in words)
    if dtype.kind in "iu" or shape.element in _NARROW_INTEGERS:
        return _integers(words, shape.element, dtype.itemsize)
    with np.errstate(all="ignore"):
        return np.array([_float(word) for word in words], np.float64).astype(dtype).tobytes()


_NARROW_INTEGERS = frozenset({"s1", "s2", "s4", "u1", "u2", "u4"})


def _half(dtype: object) -> type[np.float32] | type[np.float64]:
    return np.float32 if dtype == np.complex64 else np.float64


def _boolean(word: str) -> int:
    if word not in _BOOLEANS:
        raise ShardyError.unexpected("literal", expected="true or false", got=f"'{word[:40]}'")
    return _BOOLEANS[word]


def _float(word: str) -> float:
    try:
        if len(word) > _MAX_DIGITS:
            raise ValueError
        return float(word)
    except ValueError:
        raise ShardyError.unexpected("literal", expected="a number", got=f"'{word[:40]}'") from None


def _integers(words: Sequence[str] | Sequence[tuple[str, str]], element: str, size: int) -> bytes:
    bits = element_type(element).value_bits
    low, high = (0, 1 << bits) if element[0] == "u" else (-1 << bits - 1, 1 << bits - 1)
    data = bytearray()
    for word in words:
        text = str(word)
        try:
            value = int(text) if len(text) <= _MAX_DIGITS else high
        except ValueError:
            raise ShardyError.unexpected("literal", expected="an integer", got=f"'{text[:40]}'") from None
        if not low <= value < high:
            raise ShardyError.unexpected("literal", expected=f"integers of {element}", got=text[:40])
        data += value.to_bytes(size, "little", signed=value < 0)
    return bytes(data)


def parts(text: str) -> list[str]:
    """Returns the texts of the elements of a tuple: split at commas outside of brackets."""
    inner = text.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        raise ShardyError.unexpected("literal", expected="a tuple", got=f"'{inner[:40]}'")
    found, depth, start = list[str](), 0, 1
    for at in range(1, len(inner) - 1):
        mark = inner[at]
        depth += (mark in "({[") - (mark in ")}]")
        if mark == "," and not depth:
            found.append(inner[start:at])
            start = at + 1
    last = inner[start:-1]
    return [*found, last] if found or last.strip() else []
