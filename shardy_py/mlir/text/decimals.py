"""Decimal literals as the bits of a float format.

A literal is rounded to its type once; before, to f64 first, and what is half way then to the even neighbor:

>>> from shardy_py.base import releases
>>> for release in ("0.10", "0.12"):
...     with releases.of(release):
...         print(hex(decimal_bits(FORMATS["bf16"], "1.00390625000000000001", negated=False)))
0x3f80
0x3f81
"""

from __future__ import annotations

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.text.float_formats import FORMATS, FloatFormat

__all__ = ["FORMATS", "decimal_bits"]

_F64 = FORMATS["f64"]
MOST_DIGITS = 12_000
"""More than a number half way between two of any format has: of what follows only counts whether it is 0."""
LARGEST_POWER = 6_000
"""Powers of ten beyond those of any format."""
_FAR = 12
"""Digits of the exponents that are distinguished: those of larger ones round to 0 or to infinity."""
_MOST_CONVERTED = 4_000
"""Digits that Python converts at once."""


def decimal_bits(form: FloatFormat, text: str, *, negated: bool) -> int:
    """The bits of a literal such as `1.5e3` under a format."""
    if form is _F64 or not Behaviour.LITERALS_ARE_ROUNDED_ONCE.holds:
        return form.encode(-float(text) if negated else float(text))
    mantissa, _, power_text = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return form.encode_ratio(negated, 0, 1)
    power = _power(power_text) - len(fraction)
    if len(digits) > MOST_DIGITS:
        power += len(digits) - MOST_DIGITS - 1
        digits = digits[:MOST_DIGITS] + ("1" if digits[MOST_DIGITS:].strip("0") else "0")
    first = power + len(digits)
    if abs(first) > LARGEST_POWER:
        power += (LARGEST_POWER if first > 0 else -LARGEST_POWER) - first
    number = _integer(digits)
    return form.encode_ratio(negated, number * 10 ** max(power, 0), 10 ** max(-power, 0))


def _power(text: str) -> int:
    """The exponent, with a sign or empty, at most one of `_FAR` digits and one more."""
    digits = text.lstrip("+-").lstrip("0")
    size = int(digits or "0") if len(digits) <= _FAR else 10**_FAR
    return -size if text[:1] == "-" else size


def _integer(digits: str) -> int:
    if len(digits) <= _MOST_CONVERTED:
        return int(digits)
    from decimal import Decimal  # takes as long to load as a small program to read

    return int(Decimal(digits))
