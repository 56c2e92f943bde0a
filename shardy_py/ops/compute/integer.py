"""Ops on integers alone, and division, remainder and powers of integers: two's complement that wraps.

Not here: arithmetic that is the same for all types (`elementwise.py`).

>>> from shardy_py.ops import OpRecord
>>> divide(OpRecord("stablehlo.divide", (), ()), np.int8([[-7, 7]]), np.int8([[2, -2]]))
array([[-3, -3]], dtype=int8)
"""

from __future__ import annotations

import numpy as np

from shardy_py.ops.compute.lanes import Array, Compute
from shardy_py.ops.compute.precision import integers


def _divide(bits: int, left: Array, right: Array) -> Array:
    """Truncates; a division by zero sets all bits; the smallest integer divided by -1 is itself."""
    quotient = np.floor_divide(left, right)
    if left.dtype.kind == "i":
        quotient += (quotient * right != left) & ((left ^ right) < 0)
    if not right.all():
        quotient = np.where(right == 0, ~np.zeros((), left.dtype), quotient)
    return quotient


def _remainder(bits: int, left: Array, right: Array) -> Array:
    """Has the sign of the dividend; the remainder of a division by zero is the dividend."""
    rest = np.fmod(left, right)
    return rest if right.all() else np.where(right == 0, left, rest)


def _power(bits: int, base: Array, exponent: Array) -> Array:
    """Wraps; negative powers of 1 and -1 are 1 and -1, those of other integers are zero."""
    if base.dtype.kind == "u" or not (negative := exponent < 0).any():
        return np.power(base, exponent)
    # Negation keeps the smallest integer, whose parity is right as well.
    parity = np.where(negative, exponent & 1, exponent)
    return np.where(negative & (np.abs(base) != 1), base.dtype.type(0), np.power(base, parity))


def _shift_left(bits: int, operand: Array, amount: Array) -> Array:
    return _shifted(np.left_shift(operand, amount), operand, amount, bits)


def _shift_right_logical(bits: int, operand: Array, amount: Array) -> Array:
    result = np.right_shift(_unsigned(bits, operand), _unsigned(bits, amount)).view(operand.dtype)
    return _shifted(result, operand, amount, bits)


def _shift_right_arithmetic(bits: int, operand: Array, amount: Array) -> Array:
    signed = f"i{operand.dtype.itemsize}"
    unused = 8 * operand.dtype.itemsize - bits
    value = np.left_shift(operand, unused).view(signed) >> unused
    amount = np.minimum(_unsigned(bits, amount), bits - 1).view(signed)
    return (value >> amount).view(operand.dtype)


def _shifted(result: Array, operand: Array, amount: Array, bits: int) -> Array:
    """Replaces what was shifted by the width or more by zero; numpy does so for its own types."""
    if bits == 8 * operand.dtype.itemsize:
        return result
    return np.where(_unsigned(bits, amount) < bits, result, operand.dtype.type(0))


def _unsigned(bits: int, operand: Array) -> Array:
    """Returns the bits of an integer of that width."""
    unsigned = operand.view(f"u{operand.dtype.itemsize}")
    return unsigned if bits == 8 * operand.dtype.itemsize else unsigned & ((1 << bits) - 1)


def _popcnt(bits: int, operand: Array) -> Array:
    return np.bitwise_count(_unsigned(bits, operand)).astype(operand.dtype)


def _count_leading_zeros(bits: int, operand: Array) -> Array:
    unsigned = _unsigned(bits, operand)
    if bits <= 32:
        length = np.frexp(unsigned.astype(np.float64))[1]
    else:
        high, low = (np.frexp(half.astype(np.float64))[1] for half in (unsigned >> 32, unsigned & 0xFFFFFFFF))
        length = np.where(high > 0, high + 32, low)
    return (bits - length).astype(operand.dtype)


def _multiply_high(bits: int, left: Array, right: Array) -> Array:
    if bits < 64:
        wide = f"{left.dtype.kind}8"
        return ((left.astype(wide) * right.astype(wide)) >> bits).astype(left.dtype)
    # Halves of 32 bits; the upper ones have the sign. No sum of a product and two halves overflows.
    low_bits = left.dtype.type(0xFFFFFFFF)
    (high, low), (other_high, other_low) = ((part >> 32, part & low_bits) for part in (left, right))
    middle = (high * other_low, low * other_high)
    carried = _logical_half(low * other_low) + (middle[0] & low_bits) + (middle[1] & low_bits)
    return high * other_high + (middle[0] >> 32) + (middle[1] >> 32) + (carried >> 32)


def _logical_half(product: Array) -> Array:
    """Returns the upper half of 64 unsigned bits."""
    return (product.view(np.uint64) >> np.uint64(32)).view(product.dtype)


divide, remainder, power = integers(_divide), integers(_remainder), integers(_power)
"""Functions of integers: `stablehlo.divide`, `remainder`, `power`."""

multiply_high = integers(_multiply_high)
"""`chlo.mulhi`: the upper half of the product of twice the width."""

COMPUTE: dict[str, Compute] = {
    "stablehlo.count_leading_zeros": integers(_count_leading_zeros),
    "stablehlo.popcnt": integers(_popcnt),
    "stablehlo.shift_left": integers(_shift_left),
    "stablehlo.shift_right_arithmetic": integers(_shift_right_arithmetic),
    "stablehlo.shift_right_logical": integers(_shift_right_logical),
}
"""The function of each op."""
