"""ATen's pointwise ops on builder tensors: `ROWS` by name.

A row takes the op's output type, then its arguments, which ATen's names and order
(native_functions.yaml). Not here: shapes, products, reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, pi, sqrt
from typing import Any

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.builder import Tensor, TensorType, ops
from shardy_py.builder.insertion import insert
from shardy_py.builder.tensor import elementwise
from shardy_py.dialects.chlo import OPS as CHLO
from shardy_py.frontends.aten.elements import convert, converted, dimension, met, sizes

Operand = Any
Row = Callable[..., Any]


def _unary(function: Callable[[Tensor], Tensor]) -> Row:
    def row(out: TensorType, self: Tensor, **_: Any) -> Tensor:
        return function(convert(self, out.element_type))

    return row


def _chlo(name: str) -> Callable[[Tensor], Tensor]:
    """An op of CHLO, the dialect of what StableHLO leaves to be expanded."""

    def build(operand: Tensor) -> Tensor:
        op = CHLO.op_class(name).create(operands=[operand.value], result_types=[operand.value.type])
        insert(op)
        return Tensor(op.results[0])

    return build


erf = _chlo("erf")


def _arithmetic(op_name: str) -> Row:
    def row(out: TensorType, self: Operand, other: Operand, *, alpha: Any = 1) -> Tensor:
        lhs, rhs = converted(out.element_type, self, other)
        return elementwise(op_name, lhs, _scaled(rhs, alpha))

    return row


def _scaled(operand: Operand, factor: Any) -> Operand:
    return operand if factor == 1 else operand * factor


def _rsub(out: TensorType, self: Tensor, other: Operand, alpha: Any = 1) -> Tensor:
    lhs, rhs = converted(out.element_type, self, other)
    return elementwise("subtract", rhs, _scaled(lhs, alpha))


def _bits(op_name: str) -> Row:
    def row(out: TensorType, self: Operand, other: Operand) -> Tensor:
        return elementwise(op_name, *converted(out.element_type, self, other))

    return row


def _logical(op_name: str) -> Row:
    def row(out: TensorType, self: Operand, other: Operand) -> Tensor:
        return elementwise(op_name, *converted("i1", self, other))

    return row


def _comparison(direction: str) -> Row:
    def row(out: TensorType, self: Operand, other: Operand) -> Tensor:
        lhs, rhs = met(self, other)
        return ops.compare(lhs, rhs, direction)

    return row


def _divide(out: TensorType, self: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    lhs, rhs = converted(out.element_type, self, other)
    quotient = ops.divide(lhs, rhs)
    whole = out.element_type.startswith(("i", "ui"))
    if rounding_mode is None or (whole and rounding_mode == "trunc"):
        return quotient
    if rounding_mode == "trunc":
        return trunc(quotient)
    return ops.select(_falls_short(lhs, rhs), quotient - 1, quotient) if whole else ops.floor(quotient)


def _falls_short(lhs: Operand, rhs: Operand) -> Tensor:
    """Whether a division cut towards 0 is above the floor: the rest has another sign than the divisor."""
    rest = ops.remainder(lhs, rhs)
    return ops.and_(ops.compare(rest, 0, "NE"), ops.compare(rest < 0, _negative(rhs), "NE"))


def _negative(operand: Operand) -> Any:
    return operand < 0


def _remainder(out: TensorType, self: Operand, other: Operand) -> Tensor:
    """Python's `%`: the sign of the divisor."""
    lhs, rhs = converted(out.element_type, self, other)
    rest = ops.remainder(lhs, rhs)
    return ops.select(_falls_short(lhs, rhs), rest + rhs, rest)


def _power(out: TensorType, self: Operand, exponent: Operand) -> Tensor:
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


def _where(out: TensorType, condition: Tensor, self: Operand, other: Operand) -> Tensor:
    pred = ops.broadcast_to(condition, sizes(out))
    return ops.select(pred, *(_spread(operand, out) for operand in (self, other)))


def _spread(operand: Operand, out: TensorType) -> Tensor:
    if not isinstance(operand, Tensor):
        return ops.constant(operand, out.element_type, sizes(out))
    return ops.broadcast_to(convert(operand, out.element_type), sizes(out))


def _clamp(out: TensorType, self: Tensor, min: Operand = None, max: Operand = None) -> Tensor:
    found, low, high = converted(out.element_type, self, min, max)
    found = found if low is None else ops.maximum(found, low)
    return found if high is None else ops.minimum(found, high)


def _gelu(out: TensorType, self: Tensor, *, approximate: str = "none") -> Tensor:
    """Hendrycks and Gimpel, "Gaussian Error Linear Units", with erf or their tanh."""
    if approximate == "tanh":
        inner = (self + self * self * self * 0.044715) * sqrt(2 / pi)
        return self * 0.5 * (ops.tanh(inner) + 1.0)
    return self * 0.5 * (erf(self * sqrt(0.5)) + 1.0)


def _leaky_relu(out: TensorType, self: Tensor, negative_slope: float = 0.01) -> Tensor:
    return ops.select(self > 0, self, self * negative_slope)


def _elu(out: TensorType, self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    negative = ops.exponential_minus_one(_scaled(self, input_scale)) * (alpha * scale)
    return ops.select(self > 0, _scaled(self, scale), negative)


def _softplus(out: TensorType, self: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = _scaled(self, beta)
    return ops.select(scaled > threshold, self, ops.log_plus_one(ops.exponential(scaled)) / beta)


def _glu(out: TensorType, self: Tensor, dim: int = -1) -> Tensor:
    number = dimension(dim, self.rank)
    shape = sizes(self.type)
    half = shape[number] // 2
    start = [0] * self.rank
    first = ops.slice_(self, start, [half if d == number else n for d, n in enumerate(shape)])
    start[number] = half
    return first * ops.logistic(ops.slice_(self, start, shape))


def _round(out: TensorType, self: Tensor, *, decimals: int = 0) -> Tensor:
    if decimals:
        raise ShardyError(f"only rounding to whole numbers is known; got: decimals={decimals}")
    return self if self.element_type.startswith(("i", "ui")) else ops.round_nearest_even(self)


def _is_infinite(out: TensorType, self: Tensor) -> Tensor:
    return ops.compare(ops.abs(self), np.inf, "EQ")


def _hard_sigmoid(x: Tensor) -> Tensor:
    return ops.minimum(ops.maximum(x + 3.0, 0), 6) / 6.0


_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": ops.abs,
    "acos": _chlo("acos"),
    "asin": _chlo("asin"),
    "atan": _chlo("atan"),
    "bitwise_not": ops.not_,
    "ceil": ops.ceil,
    "cos": ops.cosine,
    "cosh": _chlo("cosh"),
    "erf": erf,
    "erfc": _chlo("erfc"),
    "exp": ops.exponential,
    "exp2": lambda x: ops.exponential(x * log(2)),
    "expm1": ops.exponential_minus_one,
    "floor": ops.floor,
    "hardsigmoid": _hard_sigmoid,
    "hardswish": lambda x: x * _hard_sigmoid(x),
    "log": ops.log,
    "log10": lambda x: ops.log(x) / log(10),
    "log1p": ops.log_plus_one,
    "log2": lambda x: ops.log(x) / log(2),
    "log_sigmoid": lambda x: ops.log(ops.logistic(x)),
    "logical_not": ops.not_,
    "mish": lambda x: x * ops.tanh(ops.log_plus_one(ops.exponential(x))),
    "neg": ops.negate,
    "reciprocal": lambda x: ops.divide(1, x),
    "relu": lambda x: ops.maximum(x, 0),
    "relu6": lambda x: ops.minimum(ops.maximum(x, 0), 6),
    "rsqrt": ops.rsqrt,
    "sigmoid": ops.logistic,
    "sign": ops.sign,
    "silu": lambda x: x * ops.logistic(x),
    "sin": ops.sine,
    "sinh": _chlo("sinh"),
    "sqrt": ops.sqrt,
    "square": lambda x: x * x,
    "tan": ops.tan,
    "tanh": ops.tanh,
    "trunc": trunc,
}
_COMPARISONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}


def _clamp_max(out: TensorType, self: Tensor, max: Operand) -> Tensor:
    return _clamp(out, self, None, max)


def _hard_tanh(out: TensorType, self: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    return _clamp(out, self, min_val, max_val)


def _is_finite(out: TensorType, self: Tensor) -> Tensor:
    return ops.is_finite(self)


def _is_nan(out: TensorType, self: Tensor) -> Tensor:
    return ops.compare(self, self, "NE")


def _masked_fill(out: TensorType, self: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return _where(out, mask, value, self)


ROWS: dict[str, Row] = {
    **{name: _unary(function) for name, function in _UNARY.items()},
    **{name: _comparison(direction) for name, direction in _COMPARISONS.items()},
    **{f"bitwise_{name}": _bits(name) for name in ("and", "or", "xor")},
    **{f"logical_{name}": _logical(name) for name in ("and", "or", "xor")},
    "add": _arithmetic("add"),
    "atan2": _bits("atan2"),
    "clamp": _clamp,
    "clamp_max": _clamp_max,
    "clamp_min": _clamp,
    "div": _divide,
    "elu": _elu,
    "floor_divide": partial(_divide, rounding_mode="floor"),
    "fmod": _bits("remainder"),
    "gelu": _gelu,
    "glu": _glu,
    "hardtanh": _hard_tanh,
    "isfinite": _is_finite,
    "isinf": _is_infinite,
    "isnan": _is_nan,
    "leaky_relu": _leaky_relu,
    "masked_fill": _masked_fill,
    "maximum": _bits("maximum"),
    "minimum": _bits("minimum"),
    "mul": _arithmetic("multiply"),
    "pow": _power,
    "remainder": _remainder,
    "round": _round,
    "rsub": _rsub,
    "softplus": _softplus,
    "sub": _arithmetic("subtract"),
    "where": _where,
}
"""The rows by the name of the op without overload."""
