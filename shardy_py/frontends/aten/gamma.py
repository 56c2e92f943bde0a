"""ATen's incomplete gamma functions: `ROWS` by name, as in `pointwise.py`.

A power series for small arguments, a continued fraction for large ones (Abramowitz and Stegun 6.5.29 and
6.5.31), each in a loop until all elements have converged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shardy_py.frontends.aten.chlo_ops import chlo
from shardy_py.frontends.aten.elements import Row, convert, filled, sizes, widened
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce, while_loop
from shardy_py.frontends.builder.tensor import Operand, elementwise
from shardy_py.frontends.builder.types import dtype_of

_MOST = 2000
"""The most terms."""


def _any(condition: Tensor) -> Tensor:
    return reduce((condition,), (False,), None, partial(elementwise, "or"))[0]


def _series(a: Tensor, x: Tensor, precision: float) -> Tensor:
    """1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..."""

    def goes_on(k: Tensor, term: Tensor, total: Tensor) -> Tensor:
        return ops.and_(k < float(_MOST), _any(ops.compare(term, total * precision, "GT")))

    def added(k: Tensor, term: Tensor, total: Tensor) -> tuple[Tensor, ...]:
        following = term * x / (a + ops.broadcast_to(k, sizes(a.type)))
        return k + 1.0, following, total + following

    ones = filled(a.type, 1)
    return while_loop(goes_on, added, (filled(RankedTensorType((), a.element_type), 1), ones, ones))[2]


def _fraction(a: Tensor, x: Tensor, precision: float) -> Tensor:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), by Lentz's method."""
    tiny = float(np.finfo(dtype_of(a.element_type)).tiny) / precision

    def away_from_0(value: Tensor) -> Tensor:
        return ops.select(ops.abs(value) < tiny, tiny, value)

    def goes_on(k: Tensor, _: Tensor, __: Tensor, ___: Tensor, change: Tensor) -> Tensor:
        return ops.and_(k < float(_MOST), _any(ops.abs(change - 1.0) > precision))

    def step(k: Tensor, c: Tensor, d: Tensor, found: Tensor, _: Tensor) -> tuple[Tensor, ...]:
        count = ops.broadcast_to(k, sizes(a.type))
        numerator, denominator = count * (a - count), x + 1.0 - a + count * 2.0
        d = ops.divide(1, away_from_0(denominator + numerator * d))
        c = away_from_0(denominator + numerator / c)
        return k + 1.0, c, d, found * c * d, c * d

    start = ops.divide(1, away_from_0(x + 1.0 - a))
    state = (filled(RankedTensorType((), a.element_type), 1), filled(a.type, 1 / tiny), start, start)
    return while_loop(goes_on, step, (*state, filled(a.type, 0)))[3]


def _regularized(*, upper: bool) -> Callable[..., Tensor]:
    def row(out: RankedTensorType, self: Operand, other: Operand) -> Tensor:
        a, x = widened(*(_spread(given, out) for given in (self, other)))
        precision = float(np.finfo(dtype_of(a.element_type)).eps)
        is_valid = ops.and_(a > 0, ops.and_(x > 0, ops.compare(x, np.inf, "LT")))
        is_valid = ops.and_(is_valid, ops.compare(a, np.inf, "LT"))
        by_series = ops.and_(is_valid, x <= a + 1.0)
        by_fraction = ops.and_(is_valid, x > a + 1.0)
        ones = filled(a.type, 1)
        own, at = ops.select(is_valid, a, ones), ops.select(is_valid, x, ones)
        scale = ops.exponential(own * ops.log(at) - at - chlo("lgamma")(own))
        series = _series(ops.select(by_series, own, ones), ops.select(by_series, at, 0), precision)
        fraction = _fraction(
            ops.select(by_fraction, own, ones), ops.select(by_fraction, at, ones + 1.0), precision
        )
        below, above = scale * series / own, scale * fraction
        parts = (1.0 - below, above) if upper else (below, 1.0 - above)
        found = ops.select(by_series, *parts)
        found = ops.select(is_valid, found, _at_limits(a, x, upper=upper))
        return convert(found, out.element_type)

    return row


def _at_limits(a: Tensor, x: Tensor, *, upper: bool) -> Tensor:
    """The values where a or x is 0 or infinite; NaN for negative ones, and where both are 0 or infinite."""
    low, high = (1.0, 0.0) if upper else (0.0, 1.0)
    zero_a, zero_x = (ops.compare(given, 0, "EQ") for given in (a, x))
    infinite_a, infinite_x = (ops.compare(given, np.inf, "EQ") for given in (a, x))
    full, none = filled(a.type, high), filled(a.type, low)
    found = ops.select(infinite_x, full, filled(a.type, np.nan))
    found = ops.select(ops.and_(zero_a, x > 0), full, found)
    found = ops.select(ops.and_(infinite_a, ops.and_(x >= 0, ops.not_(infinite_x))), none, found)
    found = ops.select(ops.and_(zero_x, a > 0), none, found)
    is_nan = ops.or_(
        ops.or_(a < 0, x < 0), ops.or_(ops.and_(zero_a, zero_x), ops.and_(infinite_a, infinite_x))
    )
    return ops.select(is_nan, np.nan, found)


def _spread(operand: Operand, out: RankedTensorType) -> Tensor:
    if not isinstance(operand, Tensor):
        return filled(out, operand)
    return ops.broadcast_to(convert(operand, out.element_type), sizes(out))


ROWS: dict[str, Row] = {
    "igamma": _regularized(upper=False),
    "igammac": _regularized(upper=True),
}
"""The rows by the name of the op without overload."""
