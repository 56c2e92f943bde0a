"""Special functions of real numbers, by scipy (extra: interpret), which is imported at the first use.

They are called with f32 or f64; docs/design/interpret.md gives the reason for scipy.

>>> erf(np.float64([0.0]))
array([0.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.ops.compute.lanes import Array

INSTALL = "`pip install 'shardy_py[interpret]'` installs scipy"


@lru_cache(maxsize=1)
def _scipy_special() -> Any:
    try:
        return import_module("scipy.special")
    except ImportError as error:
        raise ShardyError.unsupported("special functions without scipy", remedy=INSTALL) from error


def _of_scipy(name: str) -> Callable[[Array], Array]:
    def function(operand: Array) -> Array:
        return getattr(_scipy_special(), name)(operand)

    return function


def _odd(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Keeps the sign of zeros."""
    return lambda operand: np.copysign(function(operand), operand)


erf, erfc = _of_scipy("erf"), _of_scipy("erfc")
erf_inv, bessel_i1e = _odd(_of_scipy("erfinv")), _odd(_of_scipy("i1e"))


def lgamma(operand: Array) -> Array:
    """Returns log |gamma(x)|; infinite at both infinities, as in XLA."""
    found: Array = _scipy_special().gammaln(operand)
    return np.where(np.isinf(operand), np.abs(operand), found)


def digamma(operand: Array) -> Array:
    """Returns the derivative of log gamma(x); NaN at its poles, as in XLA, or -inf at 0 since JAX 0.12."""
    is_pole = (operand <= 0) & (operand == np.floor(operand))
    found: Array = _scipy_special().psi(operand)
    at_zero = -np.inf if Behaviour.DIGAMMA_OF_ZERO_IS_INFINITE.holds else np.nan
    at_pole = np.where(operand == 0, at_zero, np.nan).astype(operand.dtype)
    return np.where(is_pole, at_pole, found)


def zeta(x: Array, q: Array) -> Array:
    """Returns the sum of (q + k)^-x over k >= 0; at poles inf if x is 1 or even, else NaN, as in XLA."""
    exponent, start = x.astype(np.float64), q.astype(np.float64)
    found = np.where(np.isnan(exponent), exponent, _scipy_special().zeta(exponent, start))
    at_pole = np.where((exponent % 2 == 0) | (exponent == 1), np.inf, np.nan)
    return np.where((start <= 0) & (start == np.floor(start)), at_pole, found).astype(x.dtype)


def polygamma(n: Array, x: Array) -> Array:
    """Returns derivative n of digamma, (-1)^(n + 1) n! zeta(n + 1, x); NaN if n is not a natural number."""
    order, place = n.astype(np.float64), x.astype(np.float64)
    special = _scipy_special()
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    found = sign * np.exp(special.gammaln(order + 1)) * zeta(order + 1, place)
    found = np.where(order == 0, digamma(place), found)
    return np.where((order < 0) | (order != np.floor(order)), np.nan, found).astype(x.dtype)
