"""Numbers as MLIR prints them.

A float is printed with six decimals in scientific notation if that reads back as the same bits, with as many
digits as its format needs otherwise, and as the hexadecimal of its bits if it is not finite.

>>> from xdsl.dialects.builtin import f32
>>> float_text(f32.pack([0.5]), f32), float_text(f32.pack([0.1]), f32), float_text(f32.pack([float("inf")]), f32)
('5.000000e-01', '1.000000e-01', '0x7F800000')
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

_PRECISION_BITS = {
    "f16": 11, "bf16": 8, "f32": 24, "f64": 53, "f80": 64, "f128": 113, "tf32": 11,
    "f8E5M2": 3, "f8E4M3": 4, "f8E4M3FN": 4, "f8E5M2FNUZ": 3, "f8E4M3FNUZ": 4, "f8E4M3B11FNUZ": 4,
    "f8E3M4": 5, "f8E8M0FNU": 1, "f6E2M3FN": 4, "f6E3M2FN": 3, "f4E2M1FN": 2,
}  # fmt: skip
"""Bits of the significand by float type, the implicit one included."""

FLOAT_NAMES = frozenset(_PRECISION_BITS)
"""The names of the float types."""

_FORMAT_PRECISION = 6
_MAX_PADDING = 3


@lru_cache(maxsize=8192)
def float_text(data: bytes, element: Any) -> str:
    """The text of the float with the little-endian bytes `data` and the xDSL float type `element`."""
    value = element.unpack(data, 1)[0]
    if math.isfinite(value):
        text = _scientific(value, _FORMAT_PRECISION)
        if element.pack([float(text)]) == data:
            return text
        text = _shortest_form(value, 2 + _PRECISION_BITS[element.name] * 59 // 196)
        if "." in text:
            return text
    return hexadecimal(int.from_bytes(data, "little"))


def hexadecimal(value: int) -> str:
    """A C literal: `0x7F800000`; zero is `0x0`."""
    return f"0x{value:X}"


def _scientific(value: float, precision: int) -> str:
    """`precision` significant digits and padding zeros: `d.dddddde+xx`."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.{'0' * precision}e+00"
    digits, exponent = _digits(value, precision)
    exponent += len(digits) - 1
    return f"{sign}{digits[0]}.{digits[1:].ljust(precision, '0')}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _shortest_form(value: float, precision: int) -> str:
    """The form without padding: plain decimals where few zeros are needed, `d.dE+x` elsewhere."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0"
    digits, exponent = _digits(value, precision)
    count = len(digits)
    if exponent >= 0:
        if exponent > _MAX_PADDING or count + exponent > precision:
            return sign + _with_exponent(digits, exponent)
        return sign + digits + "0" * exponent
    most_significant = exponent + count - 1
    if most_significant >= 0:
        return f"{sign}{digits[: count + exponent]}.{digits[count + exponent :]}"
    if -most_significant > _MAX_PADDING:
        return sign + _with_exponent(digits, exponent)
    return f"{sign}0.{'0' * (-most_significant - 1)}{digits}"


def _with_exponent(digits: str, exponent: int) -> str:
    exponent += len(digits) - 1
    return f"{digits[0]}.{digits[1:] or '0'}E{'-' if exponent < 0 else '+'}{abs(exponent)}"


def _digits(value: float, precision: int) -> tuple[str, int]:
    """The significant digits, rounded to `precision`, without trailing zeros, and the exponent of the last."""
    rounded = Context(prec=precision, rounding=ROUND_HALF_UP).plus(Decimal(abs(value)))
    _, digits, exponent = rounded.as_tuple()
    text = "".join(map(str, digits))
    stripped = text.rstrip("0")
    assert isinstance(exponent, int)
    return stripped, exponent + len(text) - len(stripped)
