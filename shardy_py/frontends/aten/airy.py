"""ATen's Airy function Ai: `ROWS` by name.

Near 0 a Chebyshev series of its power series (DLMF 9.4.1); far from 0 of an integral without its leading
behaviour, exp(-zeta) x^(-1/4) for positive elements, a cosine and a sine of zeta for negative ones, where
zeta is 2/3 x^(3/2) (DLMF 9.5.8, 9.2.14, 9.7.5, 9.7.9).
"""

from __future__ import annotations

from functools import cache
from math import factorial, gamma, pi, prod

import numpy as np

from shardy_py.frontends.aten.elements import Row, convert, widened
from shardy_py.frontends.aten.series import Array, Series, fitted, over_line, summed
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops

_DEGREE = 48
_LOWEST, _HIGHEST = -6.0, 2.0
"""The ends of the series near 0."""
_TERMS = 40


@cache
def _near() -> Series:
    """Ai between the ends: Ai(0) f + Ai'(0) g, whose terms are 1 4 ... (3k - 2) and 2 5 ... (3k - 1)."""
    value, slope = 3 ** (-2 / 3) / gamma(2 / 3), -(3 ** (-1 / 3)) / gamma(1 / 3)

    def function(t: Array) -> Array:
        x = _LOWEST + (t + 1) * (_HIGHEST - _LOWEST) / 2
        even, odd = (
            [prod(range(first, 3 * n, 3)) / factorial(3 * n + first - 1) for n in range(_TERMS)]
            for first in (1, 2)
        )
        return value * summed(even, x**3) + slope * x * summed(odd, x**3)

    return fitted(function, _DEGREE)


def _integral(x: Array, angle: float) -> Array:
    """exp(zeta) z^(1/4) pi Ai(z) at z = x exp(i angle): exp(-sqrt(z) s^2) cos(s^3 / 3) over positive s."""
    root = np.exp(0.5j * angle)
    # What is behind the limit is below exp(-50) of the integral.
    limit = np.sqrt(50 / (np.sqrt(x) * root.real))
    found = over_line(lambda x, s: np.exp(-np.sqrt(x) * root * s**2) * np.cos(s**3 / 3), x, limit)
    return x**0.25 * np.exp(0.25j * angle) * found


def _of_inverse(bound: float, angle: float) -> tuple[Series, Series]:
    """The real and the imaginary part of the integral beyond a bound, as series of x^(-3/2)."""

    def at(t: Array) -> Array:
        return _integral(((t + 1) / 2) ** (-2 / 3) * bound, angle)

    return fitted(lambda t: at(t).real, _DEGREE), fitted(lambda t: at(t).imag, _DEGREE)


@cache
def _above() -> Series:
    return _of_inverse(_HIGHEST, 0)[0]


@cache
def _below() -> tuple[Series, Series]:
    return _of_inverse(-_LOWEST, -pi / 3)


def _far(x: Tensor, bound: float) -> tuple[Tensor, Tensor, Tensor]:
    """The variable of the series beyond a bound, zeta and x^(-1/4), of elements at or above the bound."""
    x = ops.maximum(x, bound)
    power = ops.sqrt(x) * x
    return 2 * bound**1.5 / power - 1.0, power * (2 / 3), ops.rsqrt(ops.sqrt(x))


def _airy(out: RankedTensorType, x: Tensor) -> Tensor:
    """Ai; NaN at both infinities, as in torch."""
    (wide,) = widened(convert(x, out.element_type))
    inside = ops.maximum(ops.minimum(wide, _HIGHEST), _LOWEST)
    near = _near().at((inside - _LOWEST) * (2 / (_HIGHEST - _LOWEST)) - 1.0)
    t, zeta, scale = _far(wide, _HIGHEST)
    above = ops.exponential(-zeta) * scale * _above().at(t) / pi
    t, zeta, scale = _far(-wide, -_LOWEST)
    real, imaginary = (series.at(t) for series in _below())
    turned = zeta - pi / 4
    waves = ops.cosine(turned) * real - ops.sine(turned) * imaginary
    below = waves * scale * (2 / pi)
    found = ops.select(wide > _HIGHEST, above, ops.select(wide < _LOWEST, below, near))
    is_finite = ops.is_finite(wide)
    return convert(ops.select(is_finite, found, np.nan), out.element_type)


ROWS: dict[str, Row] = {"special_airy_ai": _airy}
"""The rows by the name of the op without overload."""
