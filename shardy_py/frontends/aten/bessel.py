"""ATen's Bessel functions and the scaled complement of the error function: `ROWS` by name.

Near 0 they are Chebyshev series of power series (Abramowitz and Stegun 9.1, 9.6), logarithms apart; far from
0 of integrals without their leading behaviour (Hankel's P and Q, 9.2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import pi

import numpy as np

from shardy_py.frontends.aten.chlo_ops import chlo
from shardy_py.frontends.aten.elements import Row, convert, widened
from shardy_py.frontends.aten.series import (
    Array,
    Series,
    fitted,
    logarithmic_terms,
    over_angle,
    over_line,
    power_terms,
    summed,
)
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops

_DEGREE = 40
_NEAR, _NEAR_K = 8.0, 2.0
"""The ends of the series near 0; that of K is earlier."""


# ---------------------------------------------------------------------- modified


@cache
def _i0_near() -> Series:
    def scaled(t: Array) -> Array:
        x = (t + 1) * _NEAR / 2
        return np.exp(-x) * summed(power_terms(0, 1), x * x / 4)

    return fitted(scaled, _DEGREE)


@cache
def _i0_far() -> Series:
    def scaled(t: Array) -> Array:
        x = 2 * _NEAR / (t + 1)
        return np.sqrt(x) * over_angle(lambda x, angle: np.exp(-x * (1 - np.cos(angle))), x)

    return fitted(scaled, _DEGREE)


def _i0e(x: Tensor) -> Tensor:
    """exp(-x) I0(x) for positive x."""
    far = ops.maximum(x, _NEAR)
    near = _i0_near().at(ops.minimum(x, _NEAR) * (2 / _NEAR) - 1.0)
    return ops.select(x <= _NEAR, near, _i0_far().at(2 * _NEAR / far - 1.0) * ops.rsqrt(far))


@lru_cache(maxsize=8)
def _k_near(order: int) -> Series:
    """x^order K(x) without its logarithm and its pole, of x^2."""

    def regular(t: Array) -> Array:
        z = (t + 1) / 2 * _NEAR_K**2 / 4
        found = summed(logarithmic_terms(order, 1), z)
        return found / 2 if order == 0 else -z * found

    return fitted(regular, _DEGREE)


@lru_cache(maxsize=8)
def _k_far(order: int) -> Series:
    def scaled(t: Array) -> Array:
        x = 2 * _NEAR_K / (t + 1)
        limit = np.arccosh(1 + 745 / x)
        return np.sqrt(x) * over_line(
            lambda x, s: np.exp(-x * (np.cosh(s) - 1)) * np.cosh(order * s), x, limit
        )

    return fitted(scaled, _DEGREE)


def _ke(order: int) -> Callable[[Tensor], Tensor]:
    """exp(x) K(x)."""

    def function(x: Tensor) -> Tensor:
        near, far = ops.minimum(x, _NEAR_K), ops.maximum(x, _NEAR_K)
        series = _k_near(order).at(near * near * (2 / _NEAR_K**2) - 1.0)
        grown = ops.exponential(near)
        logarithm = ops.log(near * 0.5)
        if order == 0:
            inside = (series - logarithm * _i0e(near) * grown) * grown
        else:
            inside = (series + 1.0) / near + logarithm * chlo("bessel_i1e")(near) * grown
            inside = inside * grown
        outside = _k_far(order).at(2 * _NEAR_K / far - 1.0) * ops.rsqrt(far)
        found = ops.select(x <= _NEAR_K, inside, outside)
        return ops.select(ops.compare(x, 0, "EQ"), np.inf, found)

    return function


# ---------------------------------------------------------------------- of the first and second kind


@lru_cache(maxsize=8)
def _j_near(order: int) -> Series:
    """J(x) / x^order, of x^2."""
    return fitted(lambda t: summed(power_terms(order, -1), (t + 1) / 2 * _NEAR**2 / 4) / 2**order, _DEGREE)


@lru_cache(maxsize=8)
def _y_near(order: int) -> Series:
    """x^order Y(x) without its logarithm and its pole, of x^2."""

    def regular(t: Array) -> Array:
        z = (t + 1) / 2 * _NEAR**2 / 4
        return -summed(logarithmic_terms(order, -1), z) / pi * (1 if order == 0 else 2 * z)

    return fitted(regular, _DEGREE)


@lru_cache(maxsize=8)
def _hankel(order: int, *, real: bool) -> Series:
    """P, or Q times x, of (8 / x)^2."""

    def integral(t: Array) -> Array:
        x = _NEAR / np.sqrt((t + 1) / 2)
        power = order - 0.5

        def integrand(x: Array, s: Array) -> Array:
            return np.exp(-s * s) * s ** (2 * order) * (1 + 0.5j * s * s / x) ** power

        found = over_line(integrand, x, 6.5) * 2 / np.sqrt(pi) * (1 if order == 0 else 2)
        return found.real if real else found.imag * x

    return fitted(integral, _DEGREE)


def _far(order: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """J and Y for x of at least 8."""
    t = 2 * _NEAR**2 / (x * x) - 1.0
    p, q = _hankel(order, real=True).at(t), _hankel(order, real=False).at(t) / x
    angle = x - (order / 2 + 0.25) * pi
    cosine, sine = ops.cosine(angle), ops.sine(angle)
    scale = ops.rsqrt(x) * float(np.sqrt(2 / pi))
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


def _j_inside(order: int, x: Tensor) -> Tensor:
    found = _j_near(order).at(x * x * (2 / _NEAR**2) - 1.0)
    return found if order == 0 else found * x


def _j(order: int) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        size = ops.abs(x)
        outside = _far(order, ops.maximum(size, _NEAR))[0]
        found = ops.select(size <= _NEAR, _j_inside(order, ops.minimum(size, _NEAR)), outside)
        found = ops.select(ops.compare(size, np.inf, "EQ"), 0, found)
        return ops.select(x < 0, -found, found) if order else found

    return function


def _y(order: int) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        near = ops.minimum(x, _NEAR)
        series = _y_near(order).at(near * near * (2 / _NEAR**2) - 1.0)
        logarithm = ops.log(near * 0.5) * _j_inside(order, near) * (2 / pi)
        inside = series + logarithm if order == 0 else (series - 2 / pi) / near + logarithm
        found = ops.select(x <= _NEAR, inside, _far(order, ops.maximum(x, _NEAR))[1])
        found = ops.select(ops.compare(x, np.inf, "EQ"), 0, found)
        return ops.select(ops.compare(x, 0, "EQ"), -np.inf, found)

    return function


def _spherical_j0(x: Tensor) -> Tensor:
    found = ops.sine(x) / ops.select(ops.compare(x, 0, "EQ"), 1, x)
    found = ops.select(ops.compare(x, 0, "EQ"), 1, found)
    return ops.select(ops.compare(ops.abs(x), np.inf, "EQ"), 0, found)


# ---------------------------------------------------------------------- error function

_PLACE = 3.75
"""The middle of the series of Shepherd and Laframboise (1981)."""


@cache
def _erfcx_series() -> Series:
    """(1 + 2 x) exp(x^2) erfc(x) for positive x, of (x - 3.75) / (x + 3.75)."""
    places, weights = np.polynomial.legendre.leggauss(200)
    places, weights = (places + 1) / 2, weights / 2

    def scaled(t: Array) -> Array:
        x = _PLACE * (1 + t) / (1 - t)
        # exp(-s^2 - 2 x s) over s, to where it is 0.
        limit = 40 / (x + np.sqrt(x * x + 40))
        s = limit[:, None] * places
        values = np.exp(-s * s - 2 * x[:, None] * s)
        return (1 + 2 * x) * 2 / np.sqrt(pi) * (values * weights * limit[:, None]).sum(1)

    return fitted(scaled, _DEGREE)


def _erfcx(x: Tensor) -> Tensor:
    size = ops.abs(x)
    finite = ops.minimum(size, 1e30)
    found = _erfcx_series().at((finite - _PLACE) / (finite + _PLACE)) / (finite * 2.0 + 1.0)
    return ops.select(x < 0, ops.exponential(x * x) * 2.0 - found, found)


def _row(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def row(out: RankedTensorType, self: Tensor) -> Tensor:
        (operand,) = widened(convert(self, out.element_type))
        return convert(function(operand), out.element_type)

    return row


def _i1(x: Tensor) -> Tensor:
    return chlo("bessel_i1e")(x) * ops.exponential(ops.abs(x))


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **dict.fromkeys(
        ("i0", "special_modified_bessel_i0"), lambda x: _i0e(ops.abs(x)) * ops.exponential(ops.abs(x))
    ),
    "special_bessel_j0": _j(0),
    "special_bessel_j1": _j(1),
    "special_bessel_y0": _y(0),
    "special_bessel_y1": _y(1),
    "special_erfcx": _erfcx,
    "special_i0e": lambda x: _i0e(ops.abs(x)),
    **dict.fromkeys(("special_i1", "special_modified_bessel_i1"), _i1),
    "special_i1e": chlo("bessel_i1e"),
    "special_modified_bessel_k0": lambda x: _ke(0)(x) * ops.exponential(-x),
    "special_modified_bessel_k1": lambda x: _ke(1)(x) * ops.exponential(-x),
    "special_scaled_modified_bessel_k0": _ke(0),
    "special_scaled_modified_bessel_k1": _ke(1),
    "special_spherical_bessel_j0": _spherical_j0,
}
ROWS: dict[str, Row] = {name: _row(function) for name, function in _FUNCTIONS.items()}
"""The rows by the name of the op without overload."""
