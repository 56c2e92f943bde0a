"""ATen's pointwise ops on builder tensors: `ROWS` by name.

A row takes the op's output type, then its arguments, which ATen's names and order
(native_functions.yaml). Not here: shapes, products, reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

import numpy as np

from shardy_py.frontends.aten.chlo_ops import chlo, erf, erf_inv
from shardy_py.frontends.aten.elements import Row, convert, converted, filled, promoted, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops
from shardy_py.frontends.builder.tensor import elementwise
from shardy_py.ops import names

Operand = Any


def _unary(function: Callable[[Tensor], Tensor]) -> Row:
    def row(out: RankedTensorType, self: Tensor, **_: object) -> Tensor:
        return function(convert(self, out.element_type))

    return row


def _binary(op_name: str, element: str = "") -> Row:
    """An op on operands of the element type, that of the result by default."""

    def row(out: RankedTensorType, self: Operand, other: Operand, *, alpha: object = 1) -> Tensor:
        lhs, rhs = converted(element or out.element_type, self, other)
        return elementwise(op_name, lhs, _scaled(rhs, alpha))

    return row


def _scaled(operand: Operand, factor: object) -> Operand:
    return operand if factor == 1 else operand * factor


def _comparison(direction: str) -> Row:
    def row(out: RankedTensorType, self: Operand, other: Operand) -> Tensor:
        lhs, rhs = promoted(self, other)
        return ops.compare(lhs, rhs, direction)

    return row


def _divide(
    out: RankedTensorType, self: Operand, other: Operand, *, rounding_mode: str | None = None
) -> Tensor:
    lhs, rhs = converted(out.element_type, self, other)
    quotient = ops.divide(lhs, rhs)
    whole = out.element_type.startswith(("i", "ui"))
    if rounding_mode is None or (whole and rounding_mode == "trunc"):
        return quotient
    if rounding_mode == "trunc":
        return trunc(quotient)
    return floor_quotient(lhs, rhs) if whole else _float_floor_quotient(lhs, rhs)


def floor_quotient(lhs: Operand, rhs: Operand) -> Tensor:
    """The quotient of integers, rounded down."""
    quotient = ops.divide(lhs, rhs)
    return ops.select(_falls_short(lhs, rhs), quotient - 1, quotient)


def _float_floor_quotient(lhs: Operand, rhs: Operand) -> Tensor:
    """Python's `//`, but the quotient for a divisor 0; NaN for an infinite dividend."""
    rest, quotient = ops.remainder(lhs, rhs), ops.divide(lhs, rhs)
    exact = ops.divide(lhs - rest, rhs)
    exact = ops.round_nearest_even(ops.select(_falls_short(lhs, rhs), exact - 1, exact))
    floor = ops.select(ops.compare(exact, 0, "EQ"), quotient * 0, exact)  # 0 with the sign of the quotient
    if not isinstance(rhs, Tensor):
        return quotient if rhs == 0 else floor
    is_zero = ops.broadcast_to(ops.compare(rhs, 0, "EQ"), sizes(quotient.type))
    return ops.select(is_zero, quotient, floor)


def _falls_short(lhs: Operand, rhs: Operand) -> Tensor:
    """Returns whether a truncated quotient is above the floor: remainder and divisor differ in sign."""
    rest = ops.remainder(lhs, rhs)
    return ops.and_(ops.compare(rest, 0, "NE"), ops.compare(rest < 0, rhs < 0, "NE"))


def _remainder(out: RankedTensorType, self: Operand, other: Operand) -> Tensor:
    """Python's `%`: the sign of the divisor."""
    lhs, rhs = converted(out.element_type, self, other)
    rest = ops.remainder(lhs, rhs)
    return ops.select(_falls_short(lhs, rhs), rest + rhs, rest)


def _power(out: RankedTensorType, self: Operand, exponent: Operand) -> Tensor:
    base, power = converted(out.element_type, self, exponent)
    match None if isinstance(power, Tensor) else power:
        case 0.5:
            return ops.sqrt(base)
        case -0.5:
            return ops.rsqrt(base)
        case 2:
            return base * base
        case 3:
            return base * base * base
        case _:
            return ops.power(base, power)


def trunc(operand: Tensor) -> Tensor:
    """Towards 0."""
    return ops.select(operand < 0, ops.ceil(operand), ops.floor(operand))


def _sign(operand: Tensor) -> Tensor:
    """0 for NaN, unlike StableHLO's."""
    sign = ops.sign(operand)
    is_float = operand.element_type.startswith(("f", "bf"))
    return ops.select(ops.compare(operand, operand, "NE"), 0, sign) if is_float else sign


def _where(out: RankedTensorType, condition: Tensor, self: Operand, other: Operand) -> Tensor:
    pred = ops.broadcast_to(condition, sizes(out))
    return ops.select(pred, *(_spread(operand, out) for operand in (self, other)))


def _spread(operand: Operand, out: RankedTensorType) -> Tensor:
    if not isinstance(operand, Tensor):
        return ops.constant(operand, out.element_type, sizes(out))
    return ops.broadcast_to(convert(operand, out.element_type), sizes(out))


def _clamp(out: RankedTensorType, self: Tensor, min: Operand = None, max: Operand = None) -> Tensor:
    result, low, high = converted(out.element_type, self, min, max)
    result = result if low is None else ops.maximum(result, low)
    return result if high is None else ops.minimum(result, high)


def _gelu(out: RankedTensorType, self: Tensor, *, approximate: str = "none") -> Tensor:
    """Hendrycks and Gimpel, "Gaussian Error Linear Units", with erf or their tanh."""
    if approximate == "tanh":
        inner = (self + self * self * self * 0.044715) * sqrt(2 / pi)
        return self * 0.5 * (ops.tanh(inner) + 1.0)
    return self * 0.5 * (erf(self * sqrt(0.5)) + 1.0)


def _leaky_relu(out: RankedTensorType, self: Tensor, negative_slope: float = 0.01) -> Tensor:
    return ops.select(self > 0, self, self * negative_slope)


def _elu(
    out: RankedTensorType, self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Tensor:
    negative = ops.exponential_minus_one(_scaled(self, input_scale)) * (alpha * scale)
    return ops.select(self > 0, _scaled(self, scale), negative)


def _round(out: RankedTensorType, self: Tensor, *, decimals: int = 0) -> Tensor:
    if decimals:
        scale = 10.0 ** abs(decimals)
        shifted = self * scale if decimals > 0 else self / scale
        rounded = ops.round_nearest_even(shifted)
        return rounded / scale if decimals > 0 else rounded * scale
    return self if self.element_type.startswith(("i", "ui")) else ops.round_nearest_even(self)


def _is_infinite(out: RankedTensorType, self: Tensor) -> Tensor:
    is_whole = self.element_type.startswith(("i", "ui"))
    return filled(out, False) if is_whole else ops.compare(ops.abs(self), np.inf, "EQ")


def _shift(shifted: Callable[[Any, Any], Tensor]) -> Row:
    def row(out: RankedTensorType, self: Tensor, other: Operand) -> Tensor:
        return shifted(*converted(out.element_type, self, other))

    return row


def _complex(out: RankedTensorType, real: Tensor, imag: Tensor) -> Tensor:
    return ops.complex(*(ops.broadcast_to(part, sizes(out)) for part in (real, imag)))


def _polar(out: RankedTensorType, abs: Tensor, angle: Tensor) -> Tensor:
    return _complex(out, abs * ops.cosine(angle), abs * ops.sine(angle))


_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    **{name: ops.FUNCTIONS[name] for name in names("ceil floor log rsqrt sqrt tan tanh")},
    **{name: chlo(name) for name in names("acos acosh asin asinh atan atanh cosh erf erfc sinh")},
    **dict.fromkeys(("_conj", "_conj_physical"), lambda x: ops.complex(ops.real(x), -ops.imag(x))),
    "bitwise_not": ops.not_,
    "cos": ops.cosine,
    "digamma": chlo("digamma"),
    "erfinv": erf_inv,
    "exp": ops.exponential,
    "exp2": lambda x: ops.exponential(x * log(2)),
    "expm1": ops.exponential_minus_one,
    "lgamma": chlo("lgamma"),
    "log10": lambda x: ops.log(x) / log(10),
    "log1p": ops.log_plus_one,
    "log2": lambda x: ops.log(x) / log(2),
    "logical_not": ops.not_,
    "neg": ops.negate,
    "reciprocal": lambda x: ops.divide(1, x),
    "relu": lambda x: ops.maximum(x, 0),
    "sigmoid": ops.logistic,
    "sign": _sign,
    "sin": ops.sine,
    "trunc": trunc,
}
"""Ops whose operand gets the result's element type."""
_COMPARISONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_BINARY = {
    **{f"bitwise_{name}": name for name in ("and", "or", "xor")},
    **{name: name for name in ("add", "atan2", "maximum", "minimum")},
    "fmod": "remainder",
    "mul": "multiply",
    "sub": "subtract",
}
_OF_ONE: dict[str, Callable[[RankedTensorType, Tensor], Tensor]] = {
    "abs": lambda out, self: ops.abs(self),
    # torch decomposes the angle of real numbers
    "angle": lambda out, self: elementwise("atan2", ops.imag(self), ops.real(self)),
    "isnan": lambda out, self: ops.compare(self, self, "NE"),
}


def _hard_tanh(out: RankedTensorType, self: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    return _clamp(out, self, min_val, max_val)


ROWS: dict[str, Row] = {
    **{name: _unary(function) for name, function in _UNARY.items()},
    **{name: _comparison(direction) for name, direction in _COMPARISONS.items()},
    **{name: _binary(op_name) for name, op_name in _BINARY.items()},
    **{f"logical_{name}": _binary(name, "i1") for name in ("and", "or", "xor")},
    **dict.fromkeys(("bitwise_left_shift", "__lshift__"), _shift(lambda lhs, rhs: lhs << rhs)),
    **dict.fromkeys(("bitwise_right_shift", "__rshift__"), _shift(lambda lhs, rhs: lhs >> rhs)),
    **_OF_ONE,
    "clamp": _clamp,
    "complex": _complex,
    "div": _divide,
    "elu": _elu,
    "gelu": _gelu,
    "hardtanh": _hard_tanh,
    "isinf": _is_infinite,
    "leaky_relu": _leaky_relu,
    "polar": _polar,
    "pow": _power,
    "remainder": _remainder,
    "round": _round,
    "where": _where,
}
"""The rows by the name of the op without overload."""
