"""Functions of one variable as Chebyshev series, with coefficients from integrals and power series.

    fitted(lambda t: np.exp(t), 20).at(tensor)

`fitted` interpolates a function on -1 to 1 in the Chebyshev points, exact to the last bits if the degree
suffices; `at` drops terms below the precision of the elements. Not here: ops (`bessel.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.frontends.builder import Tensor
from shardy_py.frontends.builder.types import dtype_of

Array = Any


@dataclass(frozen=True)
class Series:
    """A sum of Chebyshev polynomials."""

    coefficients: tuple[float, ...]

    def at(self, t: Tensor) -> Tensor:
        """The sum at elements from -1 to 1 (Clenshaw's recurrence)."""
        kept = self._needed(float(np.finfo(dtype_of(t.element_type)).eps))
        last: Tensor = t * 0.0
        before: Tensor = last
        for coefficient in reversed(kept[1:]):
            last, before = t * 2.0 * last - before + coefficient, last
        return t * last - before + kept[0]

    def _needed(self, precision: float) -> tuple[float, ...]:
        least = precision / 8 * max(map(abs, self.coefficients))
        places = [place for place, each in enumerate(self.coefficients) if abs(each) >= least]
        return self.coefficients[: places[-1] + 1]


def fitted(function: Callable[[Array], Array], degree: int) -> Series:
    """The series of a function on -1 to 1 of arrays in f64."""
    from numpy.polynomial.chebyshev import chebinterpolate

    return Series(tuple(map(float, chebinterpolate(function, degree))))


def summed(terms: Sequence[float], z: Array) -> Array:
    """terms[0] + terms[1] z + ..."""
    total = np.zeros_like(z)
    for term in reversed(terms):
        total = total * z + term
    return total


_TERMS = 60
"""The number of terms of power series, enough for arguments up to 8."""


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return float(sum(1 / k for k in range(1, count + 1)))


@lru_cache(maxsize=8)
def power_terms(order: int, sign: int) -> tuple[float, ...]:
    """sign^k / (k! (k + order)!), of Bessel functions (-1) and modified ones (1) in (x/2)^2."""
    return tuple(sign**k / (factorial(k) * factorial(k + order)) for k in range(_TERMS))


@lru_cache(maxsize=8)
def logarithmic_terms(order: int, sign: int) -> tuple[float, ...]:
    """The terms of `power_terms` times psi(k + 1) + psi(k + 1 + order), the derivatives of log gamma."""
    return tuple(
        term * (harmonic(k) + harmonic(k + order) - 2 * float(np.euler_gamma))
        for k, term in enumerate(power_terms(order, sign))
    )


def over_angle(function: Callable[[Array, Array], Array], x: Array) -> Array:
    """The mean of function(x, angle) over angles from 0 to pi; the trapezoidal rule is exact if periodic."""
    angles = np.linspace(0, np.pi, 8001)
    weights = np.full(angles.shape, 1 / 8000)
    weights[[0, -1]] /= 2
    return (function(np.asarray(x)[:, None], angles) * weights).sum(1)


def over_line(function: Callable[[Array, Array], Array], x: Array, limit: Array) -> Array:
    """The integral of a function of (x, s), even in s and 0 behind the limit, over s from 0."""
    steps = np.arange(2001)
    width = np.broadcast_to(np.asarray(limit) / 2000, np.shape(x))[:, None]
    weights = np.where(steps == 0, 0.5, 1.0)
    return (function(np.asarray(x)[:, None], steps * width) * weights * width).sum(1)
