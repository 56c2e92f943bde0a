"""Floats as MLIR prints them.

Six decimals in scientific notation if that reads back as the same bits, else as many digits as the format
needs, and the hexadecimal of the bits if the number is not finite. LLVM cuts the decimal expansion to a few
digits more than asked for before it rounds, which is why 0.01 in f32 prints as 0.00999999977: so does
`_digits`.

Not here: the bits (`float_formats.py`).

>>> [float_text(bytes.fromhex(data), "f32") for data in ("0000003f", "0ad7233c", "0000807f")]
['5.000000e-01', '0.00999999977', '0x7F800000']
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from shardy_py.text.float_formats import FORMATS, FloatFormat

_FORMAT_PRECISION = 6
_MAX_PADDING = 3


@lru_cache(maxsize=8192)
def float_text(data: bytes, name: str) -> str:
    """The text of the float with the little-endian bytes `data` and the float type called `name`."""
    form = FORMATS[name]
    bits = int.from_bytes(data, "little")
    parts = form.decode(bits)
    if parts is not None:
        text = _scientific(parts, _FORMAT_PRECISION)
        if _encode_text(form, text) == bits:
            return text
        text = _shortest_form(parts, 2 + form.precision * 59 // 196)
        if "." in text:
            return text
    return hexadecimal(bits)


def hexadecimal(value: int) -> str:
    """A C literal: `0x7F800000`; zero is `0x0`."""
    return f"0x{value:X}"


def _encode_text(form: FloatFormat, text: str) -> int:
    ratio = Fraction(text.lstrip("-"))
    return form.encode_ratio(text[0] == "-", ratio.numerator, ratio.denominator)


def _scientific(parts: tuple[bool, int, int], precision: int) -> str:
    """`precision` significant digits and padding zeros: `d.dddddde+xx`."""
    sign = "-" if parts[0] else ""
    if not parts[1]:
        return f"{sign}0.{'0' * precision}e+00"
    digits, exponent = _digits(parts, precision)
    exponent += len(digits) - 1
    mantissa = f"{digits[0]}.{digits[1:].ljust(precision, '0')}"
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _shortest_form(parts: tuple[bool, int, int], precision: int) -> str:
    """The form without padding: plain decimals where few zeros are needed, `d.dE+x` elsewhere."""
    sign = "-" if parts[0] else ""
    digits, exponent = _digits(parts, precision)
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


def _digits(parts: tuple[bool, int, int], precision: int) -> tuple[str, int]:
    """At most `precision` significant digits without trailing zeros, and the power of ten of the last."""
    _, significand, exponent = parts
    zeros = (significand & -significand).bit_length() - 1
    significand, exponent = significand >> zeros, exponent + zeros
    if exponent >= 0:
        significand, exponent = significand << exponent, 0
    else:
        significand *= 5**-exponent
    bits_required = (precision * 196 + 58) // 59
    removable = max(significand.bit_length() - bits_required, 0) * 59 // 196
    text, exponent = str(significand // 10**removable), exponent + removable
    excess = len(text) - precision
    if excess > 0:
        kept = int(text[:precision]) + (text[precision] >= "5")
        text, exponent = str(kept), exponent + excess
    stripped = text.rstrip("0")
    return stripped, exponent + len(text) - len(stripped)
