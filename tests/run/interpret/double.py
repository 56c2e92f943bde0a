"""Programs with f64 in place of f32: their results show what rounding does to the original's.

    precise = in_double(corpus_text("moe"))

Narrower types stay, with their roundings. Bitcasts and constants in hexadecimal keep their types, between
conversions.
"""

from __future__ import annotations

import re

import numpy as np

from shardy_py.ops.compute import Array

_NARROW = re.compile(r"(?<=[x<])(f32)(?=>)")
_RESULT = re.compile(r"^(\s*)(%\w+) = (.*) (tensor<[^>]*?f32>+)(.*)$")
_CALL = re.compile(r"(?<=@lapack_)([sc])(?=[a-z]+_ffi)")


def in_double(text: str) -> str:
    """Returns the program with f64 and complex<f64> in place of f32 and complex<f32>."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if "bitcast_convert" in line:
        given, made = line.rsplit(" : ", 1)[1].split(" -> ")
        if _NARROW.search(given):
            name = re.search(r"bitcast_convert (%\w+)", line)
            assert name is not None
            given = given[1:-1]
            narrow = f"    {_short(name[1])} = stablehlo.convert {name[1]} : ({_wide(given)}) -> {given}"
            return f"{narrow}\n{line.replace(name[0], f'bitcast_convert {_short(name[1])}')}"
        return _widened(line) if _NARROW.search(made) else line
    if "stablehlo.constant" in line and "0x" in line:
        return _widened(line)
    if "stablehlo.dot_general" in line:  # the numbers of bits that a product keeps
        line = re.sub(r", algorithm = <.*?>(?= :)", "", line)
    return _CALL.sub(lambda match: {"s": "d", "c": "z"}[match[1]], _wide(line))


def _wide(text: str) -> str:
    return _NARROW.sub("f64", text)


def _widened(line: str) -> str:
    """The line, whose result has a narrow type, and its conversion."""
    match = _RESULT.match(line)
    if match is None:
        return line
    indent, name, rest, narrow, end = match.groups()
    convert = f"{indent}{name} = stablehlo.convert {_short(name)} : ({narrow}) -> {_wide(narrow)}"
    return f"{indent}{_short(name)} = {rest} {narrow}{end}\n{convert}"


def _short(name: str) -> str:
    """The name of the value before it is widened."""
    return f"%narrow_{name[1:]}"


def as_argument(array: Array) -> Array:
    """Returns an input of the program as that of the program in f64."""
    return wide(array) if array.dtype in (np.float32, np.complex64) else array


def wide(array: Array) -> Array:
    """Returns floats as f64 or complex of them; other types as they are."""
    if array.dtype.kind in "iub":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
