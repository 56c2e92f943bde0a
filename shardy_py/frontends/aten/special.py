"""ATen's pointwise ops of signs, of NaN and of special functions: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shardy_py.frontends.aten.chlo_ops import chlo, erf_inv
from shardy_py.frontends.aten.elements import Row, convert, is_float, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce, while_loop
from shardy_py.frontends.builder.tensor import Operand, elementwise
from shardy_py.frontends.builder.types import dtype_of


def _is_nan(tensor: Tensor) -> Tensor:
    return ops.compare(tensor, tensor, "NE")


def _is_negative(tensor: Tensor) -> Tensor:
    """True if the sign bit is set: that of -0.0 is, too."""
    if not is_float(tensor.element_type):
        return ops.compare(tensor, 0, "LT")
    bits = ops.bitcast_convert(tensor, f"i{8 * dtype_of(tensor.element_type).itemsize}")
    return ops.compare(bits, 0, "LT")


def _sign_bit(out: RankedTensorType, self: Tensor) -> Tensor:
    unsigned = self.element_type.startswith("ui") or self.element_type == "i1"
    return ops.constant(False, "i1", sizes(out)) if unsigned else _is_negative(self)


def _spread(operand: Operand, out: RankedTensorType) -> Tensor:
    if not isinstance(operand, Tensor):
        return ops.constant(operand, out.element_type, sizes(out))
    return ops.broadcast_to(convert(operand, out.element_type), sizes(out))


def _copy_sign(out: RankedTensorType, self: Tensor, other: Operand) -> Tensor:
    """The magnitude of one operand with the sign of the other."""
    size, sign = ops.abs(_spread(self, out)), _spread(other, out)
    return ops.select(_is_negative(sign), -size, size)


def _without_nan(op_name: str) -> Callable[..., Tensor]:
    """The maximum or minimum; of a number and NaN, the number."""

    def row(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
        lhs, rhs = (_spread(operand, out) for operand in (self, other))
        both = ops.FUNCTIONS[op_name](lhs, rhs)
        if not is_float(out.element_type):
            return both
        return ops.select(_is_nan(lhs), rhs, ops.select(_is_nan(rhs), lhs, both))

    return row


def _next_after(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    lhs, rhs = (_spread(operand, out) for operand in (self, other))
    return chlo("next_after")(lhs, rhs)


def _polygamma(out: RankedTensorType, n: int, self: Tensor) -> Tensor:
    operand = convert(self, out.element_type)
    if n == 0:
        return chlo("digamma")(operand)
    order = ops.constant(float(n), out.element_type, sizes(out))
    return chlo("polygamma")(order, operand)


def _zeta(out: RankedTensorType, self: Operand, other: Operand) -> Tensor:
    lhs, rhs = (_spread(operand, out) for operand in (self, other))
    return chlo("zeta")(lhs, rhs)


def _hypotenuse(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    """sqrt(x^2 + y^2) without overflow of the squares."""
    lhs, rhs = (ops.abs(_spread(operand, out)) for operand in (self, other))
    greater, less = ops.maximum(lhs, rhs), ops.minimum(lhs, rhs)
    ratio = ops.divide(less, ops.select(ops.compare(greater, 0, "EQ"), 1, greater))
    # Infinite, too, with NaN.
    is_infinite = ops.or_(*(ops.compare(size, float("inf"), "EQ") for size in (lhs, rhs)))
    return ops.select(is_infinite, float("inf"), greater * ops.sqrt(ratio * ratio + 1))


def _greatest_divisor(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    """Euclid's algorithm on all elements at once."""
    lhs, rhs = (ops.abs(_spread(operand, out)) for operand in (self, other))

    def goes_on(_: Tensor, rest: Tensor) -> Tensor:
        nonzero = ops.compare(rest, 0, "NE")
        return reduce((nonzero,), (False,), None, partial(elementwise, "or"))[0]

    def divided(value: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        ends = ops.compare(rest, 0, "EQ")
        next_rest = ops.remainder(value, ops.select(ends, 1, rest))
        return ops.select(ends, value, rest), ops.select(ends, 0, next_rest)

    return while_loop(goes_on, divided, (lhs, rhs))[0]


def _least_multiple(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    lhs, rhs = (ops.abs(_spread(operand, out)) for operand in (self, other))
    divisor = _greatest_divisor(out, lhs, rhs)
    return ops.divide(lhs, ops.select(ops.compare(divisor, 0, "EQ"), 1, divisor)) * rhs


def _normal_quantile(out: RankedTensorType, self: Tensor) -> Tensor:
    """The inverse of the distribution function of the standard normal distribution."""
    argument = convert(self, out.element_type) * 2.0 - 1.0
    return erf_inv(argument) * 2.0**0.5


def _mantissa(out: Sequence[RankedTensorType], self: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers m and e of m 2^e with m from 0.5 to before 1; 0, infinities and NaN have e = 0."""
    element = out[0].element_type
    wide = "f64" if element == "f64" else "f32"
    width, fraction = (64, 52) if wide == "f64" else (32, 23)
    bias = 2 ** (width - fraction - 2) - 1
    operand = convert(self, wide)
    # Below the normal numbers, exponents are those of a multiple.
    is_small = ops.abs(operand) < 2.0 ** (2 - bias)
    scaled = ops.select(is_small, operand * 2.0**fraction, operand)
    bits = ops.bitcast_convert(scaled, f"i{width}")
    exponent = (bits >> fraction) & (2 ** (width - fraction - 1) - 1)
    exponent = exponent - ops.select(
        is_small, ops.constant(bias - 1 + fraction, bits.element_type, sizes(self.type)), bias - 1
    )
    kept = (bits & ~((2 ** (width - fraction - 1) - 1) << fraction)) | ((bias - 1) << fraction)
    size = ops.abs(operand)
    is_plain = ops.and_(ops.compare(size, 0, "NE"), ops.compare(size, float("inf"), "LT"))
    mantissa = ops.select(is_plain, ops.bitcast_convert(kept, wide), operand)
    return convert(mantissa, element), convert(ops.select(is_plain, exponent, 0), "i32")


ROWS: dict[str, Row] = {
    "copysign": _copy_sign,
    "fmax": _without_nan("maximum"),
    "fmin": _without_nan("minimum"),
    "frexp": _mantissa,
    "gcd": _greatest_divisor,
    "hypot": _hypotenuse,
    "lcm": _least_multiple,
    "nextafter": _next_after,
    "polygamma": _polygamma,
    "signbit": _sign_bit,
    "special_ndtri": _normal_quantile,
    "special_zeta": _zeta,
}
"""The rows by the name of the op without overload."""
