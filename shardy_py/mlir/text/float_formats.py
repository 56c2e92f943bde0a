"""Floating point formats: exact conversion between bits, Python floats and decimal text; floats in print.

A float is printed with six decimals in scientific notation if that reads back as the same bits, else with as
many digits as the format needs, and as the hexadecimal of the bits if it is not finite. LLVM cuts the decimal
expansion to a few digits more than asked for before it rounds, which is why 0.01 in f32 prints as
0.00999999977: so does `_digits`.

>>> f16 = FORMATS["f16"]
>>> hex(f16.encode(1.5)), f16.decode(0x3E00), f16.to_float(0x7C00)
('0x3e00', (False, 1536, -10), inf)
>>> [float_text(bytes.fromhex(data), "f32") for data in ("0000003f", "0ad7233c", "0000807f")]
['5.000000e-01', '0.00999999977', '0x7F800000']
"""

from __future__ import annotations

import math
import struct
from enum import Enum, auto

from typing_extensions import override

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION


class Special(Enum):
    """The encodings of infinities and NaNs of a format."""

    IEEE = auto()
    """The highest exponent: infinity without, NaN with mantissa bits."""
    ALL_ONES = auto()
    """NaN is all ones; no infinity."""
    NEGATIVE_ZERO = auto()
    """NaN is the negative zero; no infinity."""
    NONE = auto()
    """Neither NaN nor infinity."""


class WideFloat(float):
    """A number of a format that is wider than f64: the nearest Python float, and the number's own bits."""

    __slots__ = ("bits",)
    bits: int

    def __new__(cls, value: float, bits: int) -> WideFloat:
        """The two."""
        made = super().__new__(cls, value)
        made.bits = bits
        return made

    @override
    def __reduce__(self) -> tuple[type[WideFloat], tuple[float, int]]:
        return WideFloat, (float(self), self.bits)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating point format.

    exponent_bits, mantissa_bits: sizes of the fields; the mantissa without its implicit leading bit.
    bias: what is added to an exponent to store it.
    special: how NaN and infinity are kept.
    has_explicit_lead: whether the leading bit of the mantissa is stored too, above it.
    is_power: whether there is nothing but an exponent: no sign, no zero.
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: Special = Special.IEEE
    has_explicit_lead: bool = False
    is_power: bool = False

    @property
    def precision(self) -> int:
        """Bits of the significand, the leading one included."""
        return self.mantissa_bits + 1

    @property
    def width(self) -> int:
        """Bits of a number."""
        return self.exponent_bits + self.mantissa_bits + self.has_explicit_lead + (not self.is_power)

    @property
    def size(self) -> int:
        """Bytes of a number as stored in dense elements."""
        return (self.width + 7) // 8

    @property
    def _sign_bit(self) -> int:
        return 0 if self.is_power else 1 << (self.width - 1)

    @property
    def _not_a_number(self) -> int:
        if self.special is Special.NEGATIVE_ZERO:
            return self._sign_bit
        if self.special is Special.ALL_ONES:
            return (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        return self._infinity | 1 << max(self.mantissa_bits - 1, 0)

    @property
    def _infinity(self) -> int:
        lead = 1 << self.mantissa_bits if self.has_explicit_lead else 0
        return self._with_exponent((1 << self.exponent_bits) - 1) | lead

    @property
    def largest(self) -> int:
        """The bits of the largest finite number."""
        if self.special is Special.IEEE:
            lead = 1 << self.mantissa_bits if self.has_explicit_lead else 0
            return self._with_exponent((1 << self.exponent_bits) - 2) | lead | ((1 << self.mantissa_bits) - 1)
        ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        return ones - 1 if self.special is Special.ALL_ONES else ones

    def _with_exponent(self, field: int) -> int:
        return field << (self.mantissa_bits + self.has_explicit_lead)

    def decode(self, bits: int) -> tuple[bool, int, int] | None:
        """Sign, significand and exponent of `significand * 2**exponent`; None if not finite."""
        negative = bool(bits & self._sign_bit)
        field = (bits & ~self._sign_bit) >> (self.mantissa_bits + self.has_explicit_lead)
        mantissa = bits & ((1 << (self.mantissa_bits + self.has_explicit_lead)) - 1)
        if self.special is Special.IEEE and field == (1 << self.exponent_bits) - 1:
            return None
        if self.special is Special.NEGATIVE_ZERO and bits == self._sign_bit:
            return None
        if self.special is Special.ALL_ONES and bits & ~self._sign_bit == self._not_a_number:
            return None
        if self.is_power:
            return False, 1, field - self.bias
        if field and not self.has_explicit_lead:
            mantissa |= 1 << self.mantissa_bits
        return negative, mantissa, max(field, 1) - self.bias - self.mantissa_bits

    def to_float(self, bits: int) -> float:
        """The nearest Python float; of a NaN the sign and the leading payload bits stay."""
        parts = self.decode(bits)
        if parts is not None:
            negative, significand, exponent = parts
            try:
                value = (significand << max(exponent, 0)) / (1 << max(-exponent, 0))
            except OverflowError:  # of a format that is wider than f64
                value = math.inf
            return -value if negative else value
        negative = bool(bits & self._sign_bit)
        if self.special is Special.IEEE:
            mantissa = bits & ((1 << self.mantissa_bits) - 1)
            if not mantissa:
                return -math.inf if negative else math.inf
            shift = 52 - self.mantissa_bits
            payload = mantissa << shift if shift >= 0 else mantissa >> -shift
        else:
            negative, payload = negative and self.special is Special.ALL_ONES, 1 << 51
        return struct.unpack("<d", struct.pack("<Q", negative << 63 | 0x7FF << 52 | (payload or 1 << 51)))[0]

    def kept(self, bits: int) -> float:
        """The nearest Python float, from which `encode` makes the same bits also where it is narrower."""
        value = self.to_float(bits)
        return WideFloat(value, bits) if self.mantissa_bits > 52 else value

    def encode(self, value: float) -> int:
        """The bits of the nearest number (ties to even).

        What is too large becomes infinity, NaN or the largest number, as the format has it.
        """
        if isinstance(value, WideFloat) and self.mantissa_bits > 52:
            return value.bits
        if math.isnan(value):
            return self._encode_nan(value)
        negative = math.copysign(1.0, value) < 0
        if math.isinf(value):
            return self._overflow(negative)
        return self.encode_ratio(negative, *abs(value).as_integer_ratio())

    def encode_ratio(self, negative: bool, numerator: int, denominator: int) -> int:
        """The bits of the number nearest to a fraction."""
        if self.is_power and (negative or not numerator):
            return self._not_a_number if negative else 0
        sign = self._sign_bit if negative else 0
        if not numerator:
            return 0 if self.special is Special.NEGATIVE_ZERO else sign
        smallest = (0 if self.is_power else 1) - self.bias - self.mantissa_bits
        unit = max(_floor_log2(numerator, denominator) - self.mantissa_bits, smallest)
        significand = _round(numerator << max(-unit, 0), denominator << max(unit, 0))
        if significand >> self.precision:
            significand, unit = significand >> 1, unit + 1
        if not significand:
            return 0 if self.special is Special.NEGATIVE_ZERO else sign
        is_normal = bool(significand >> self.mantissa_bits)
        field = unit + self.mantissa_bits + self.bias if is_normal else 0
        if not self.has_explicit_lead:
            significand &= (1 << self.mantissa_bits) - 1
        found = self._with_exponent(field) | significand
        return self._overflow(negative) if found > self.largest else sign | found

    def _overflow(self, negative: bool) -> int:
        sign = self._sign_bit if negative else 0
        if self.special is Special.NONE:
            return sign | self.largest
        if self.special is Special.IEEE:
            return sign | self._infinity
        return self._not_a_number | (sign if self.special is Special.ALL_ONES else 0)

    def _encode_nan(self, value: float) -> int:
        bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
        if self.special is not Special.IEEE:
            has_sign = self.special is Special.ALL_ONES and bits >> 63
            return self._not_a_number | (self._sign_bit if has_sign else 0)
        payload = bits & ((1 << 52) - 1)
        shift = 52 - self.mantissa_bits
        mantissa = payload >> shift if shift >= 0 else payload << -shift
        found = self._infinity | mantissa if mantissa else self._not_a_number
        return found | (self._sign_bit if bits >> 63 else 0)


def _floor_log2(numerator: int, denominator: int) -> int:
    guess = numerator.bit_length() - denominator.bit_length()
    fits = numerator << max(-guess, 0) >= denominator << max(guess, 0)
    return guess if fits else guess - 1


def _round(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, the even one of two."""
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient & 1))


FORMATS = {
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "tf32": FloatFormat(8, 10, 127),
    "f32": FloatFormat(8, 23, 127),
    "f64": FloatFormat(11, 52, 1023),
    "f80": FloatFormat(15, 63, 16383, has_explicit_lead=True),
    "f128": FloatFormat(15, 112, 16383),
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3": FloatFormat(4, 3, 7),
    "f8E3M4": FloatFormat(3, 4, 3),
    "f8E4M3FN": FloatFormat(4, 3, 7, Special.ALL_ONES),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, Special.NEGATIVE_ZERO),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, Special.NEGATIVE_ZERO),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, Special.NEGATIVE_ZERO),
    "f8E8M0FNU": FloatFormat(8, 0, 127, Special.ALL_ONES, is_power=True),
    "f6E2M3FN": FloatFormat(2, 3, 1, Special.NONE),
    "f6E3M2FN": FloatFormat(3, 2, 3, Special.NONE),
    "f4E2M1FN": FloatFormat(2, 1, 1, Special.NONE),
}
"""The float types of MLIR by name."""


_FORMAT_PRECISION = 6
_MAX_PADDING = 3


@SESSION.cache(8192)
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
    from fractions import Fraction  # takes as long to load as a small program to read

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
