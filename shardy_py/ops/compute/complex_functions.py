"""Functions of complex numbers that numpy does not have, or not precisely.

They are called with c128, whatever the type of the elements; branch cuts are those of C.

>>> log_plus_one(np.complex128([1e-20j]))
array([5.e-41+1.e-20j])
"""

from __future__ import annotations

import numpy as np

from shardy_py.ops.compute.lanes import Array


def joined(real: Array, imaginary: Array) -> Array:
    """Returns complex numbers; `real + 1j * imaginary` would turn infinities to NaN."""
    dtype = np.complex128 if real.dtype == np.float64 else np.complex64
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), dtype)
    result.real, result.imag = real, imaginary
    return result


def _parts(operand: Array) -> tuple[Array, Array]:
    return np.real(operand), np.imag(operand)


def maximum(left: Array, right: Array) -> Array:
    """Returns the greater by real, then by imaginary part; of unordered numbers the second one."""
    return np.where(_is_greater(left, right), left, right)


def minimum(left: Array, right: Array) -> Array:
    """Returns the less by real, then by imaginary part; of unordered numbers the second one."""
    return np.where(_is_greater(-left, -right), left, right)


def _is_greater(left: Array, right: Array) -> Array:
    (x, y), (u, v) = _parts(left), _parts(right)
    return np.where(x == u, y > v, x > u)


def sign(operand: Array) -> Array:
    """Returns z / |z|; 0 of 0."""
    (x, y), size = _parts(operand), np.abs(operand)
    size = np.where(size == 0, size.dtype.type(1), size)
    is_nan = np.isnan(operand)
    return np.where(is_nan, operand.dtype.type(complex(np.nan, np.nan)), joined(x / size, y / size))


def exponential_minus_one(operand: Array) -> Array:
    """Returns exp(z) - 1: the real part is expm1(x) cos(y) - 2 sin(y / 2)^2; real if z is."""
    x, y = _parts(operand)
    real = np.expm1(x) * np.cos(y) - 2 * np.sin(y / 2) ** 2
    return joined(real, np.where(y == 0, y, np.exp(x) * np.sin(y)))


def log_plus_one(operand: Array) -> Array:
    """Returns log(1 + z), precise near |1 + z| = 1: |1 + z|^2 - 1 = x (x + 2) + y y."""
    x, y = _parts(operand)
    excess = x * (x + 2) + y * y
    real = np.where(np.abs(excess) < 0.5, 0.5 * np.log1p(excess), np.log(np.hypot(1 + x, y)))
    return joined(real, np.arctan2(y, 1 + x))


def logistic(operand: Array) -> Array:
    """Returns 1 / (1 + exp(-z)), which is exp(z) / (1 + exp(z)) without its overflow for Re z < 0."""
    is_left = np.real(operand) < 0
    power = np.exp(np.where(is_left, operand, -operand))
    return np.where(is_left, power, operand.dtype.type(1)) / (1 + power)


def rsqrt(operand: Array) -> Array:
    """Returns 1 / sqrt(z); infinite at 0, and 0 at infinity."""
    root = np.sqrt(operand)
    at_end = np.where(operand == 0, complex(np.inf, np.nan), operand.dtype.type(0))
    return np.where((operand == 0) | np.isinf(root), at_end, 1 / root)


def atan2(y: Array, x: Array) -> Array:
    """Returns -i log((x + i y) / sqrt(x x + y y))."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def square(operand: Array) -> Array:
    """Returns z z, whose real part (x - y) (x + y) does not cancel."""
    x, y = _parts(operand)
    return joined((x - y) * (x + y), 2 * x * y)


def asin_acos_kernel(operand: Array) -> Array:
    """Returns w with asin(z) = atan2(x, Re w) + i sign(y) Im w: Re w = Re(sqrt(1 - z) sqrt(1 + z))."""
    real = np.real(np.sqrt(1 - operand) * np.sqrt(1 + operand))
    return joined(real, np.abs(np.imag(np.arcsin(operand))))


def cbrt(operand: Array) -> Array:
    """Returns the principal cube root."""
    return np.power(operand, np.asarray(1 / 3, operand.dtype))
