"""Functions of complex numbers that numpy does not have, or not precisely.

They are called with c128, whatever the type of the elements; branch cuts are those of C.

>>> log_plus_one(np.complex128([1e-20j]))
array([5.e-41+1.e-20j])
"""

from __future__ import annotations

import numpy as np

from shardy_py.compute.lanes import Array


def _joined(real: Array, imaginary: Array) -> Array:
    """Returns complex numbers; `real + 1j * imaginary` would turn infinities to NaN."""
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex128)
    result.real, result.imag = real, imaginary
    return result


def log_plus_one(operand: Array) -> Array:
    """Returns log(1 + z), precise near 0: the real part is log1p(x (x + 2) + y y) / 2 there."""
    x, y = np.real(operand), np.imag(operand)
    near = np.maximum(np.abs(x), np.abs(y)) < 0.5
    real = np.where(near, 0.5 * np.log1p(x * (x + 2) + y * y), np.log(np.hypot(1 + x, y)))
    return _joined(real, np.arctan2(y, 1 + x))


def atan2(y: Array, x: Array) -> Array:
    """Returns -i log((x + i y) / sqrt(x x + y y))."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def cbrt(operand: Array) -> Array:
    """Returns the principal cube root."""
    return power(operand, np.asarray(1 / 3, operand.dtype))


def power(base: Array, exponent: Array) -> Array:
    """Returns the principal value; 1 for an exponent of 0."""
    return np.power(base, exponent)
