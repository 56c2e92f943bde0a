"""Arithmetic of a finite field on arrays of float64, whose elements represent residues.

    field = Residues.random(np.random.default_rng(0), "middle")
    field.multiply(x, y), field.divide(x, y), field.matmul(x, y)

All integers on the way are below 2^53, so float64 is exact. Infinities and NaN stay what they are in numpy.
Complex numbers are the field with i, which has no root as p = 3 mod 4. `order` says which representatives are
taken, and so which residues are less than others: "middle" from -p/2, "lowest" from 0, "highest" up to 0.

>>> field = Residues(2147483579, "middle")
>>> x = np.array([3.0, -7.0])
>>> half = field.encoded(np.array([0.5]))
>>> field.multiply(field.inverse(x), x).tolist(), field.add(half, half).tolist()
([1.0, 1.0], [1.0])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from shardy_py.ops.compute import Array

Order = Literal["middle", "lowest", "highest"]
ORDERS: tuple[Order, ...] = ("middle", "lowest", "highest")
_SPLIT = 2.0**15
_DIGIT = 2.0**11
_TERMS = 1 << 11
"""The products of 30 and 10 bits that are summed before they are reduced."""
_LEAST_EXPONENT, _MOST_EXPONENT = -1200, 1200


@dataclass(frozen=True, eq=False)
class Residues:
    """A field. prime: p, of 31 bits, 3 mod 4. order: of its elements."""

    prime: int
    order: Order

    @staticmethod
    def random(random: np.random.Generator, order: Order) -> Residues:
        """Returns the field of a random prime of 31 bits; never 2^31 - 1, in which 2^31 is 1."""
        while True:
            prime = int(random.integers(1 << 30, (1 << 31) - 1)) | 3
            if prime != (1 << 31) - 1 and _is_prime(prime):
                return Residues(prime, order)

    def uniform(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Returns uniform residues."""
        return self.arranged(random.integers(0, self.prime, shape).astype(np.float64))

    def arranged(self, array: Array) -> Array:
        """Returns the representatives of integers below 2^53 in size."""
        if array.dtype.kind == "c":
            return _joined(self.arranged(np.real(array)), self.arranged(np.imag(array)))
        result = self._centred(array)
        if self.order == "lowest":
            result = np.where(result < 0, result + self.prime, result)
        elif self.order == "highest":
            result = np.where(result > 0, result - self.prime, result)
        return result + 0.0  # no -0.0

    def _centred(self, array: Array) -> Array:
        prime = float(self.prime)
        result: Array = array - prime * np.rint(array / prime)
        half = (prime - 1) / 2
        if result.size and not -half <= float(result.min()) <= float(result.max()) <= half:
            result = np.where(result > half, result - prime, np.where(result < -half, result + prime, result))
            finite = np.isfinite(array)
            if not finite.all():
                result = np.where(finite, result, array)
        return result

    def canonical(self, array: Array) -> Array:
        """Returns residues from 0 as uint64; those of infinities and NaN are codes from p on."""
        finite = np.isfinite(array)
        if finite.all():
            return np.where(array < 0, array + self.prime, array).astype(np.uint64)
        code = np.where(np.isnan(array), 2, np.where(array > 0, 0, 1)) + self.prime
        plain = np.where(finite, array, 0)
        return np.where(finite, np.where(plain < 0, plain + self.prime, plain), code).astype(np.uint64)

    def add(self, left: Array, right: Array) -> Array:
        """Returns the sum."""
        return self.arranged(np.add(left, right))

    def subtract(self, left: Array, right: Array) -> Array:
        """Returns the difference."""
        return self.arranged(np.subtract(left, right))

    def negative(self, array: Array) -> Array:
        """Returns the additive inverse."""
        return self.arranged(-array)

    def square(self, array: Array) -> Array:
        """Returns the product with itself."""
        return self.multiply(array, array)

    def conjugate(self, array: Array) -> Array:
        """Returns the complex conjugate."""
        return self.arranged(np.conjugate(array))

    def multiply(self, left: Array, right: Array) -> Array:
        """Returns the product."""
        if left.dtype.kind == "c" or right.dtype.kind == "c":
            return self._complex(self.multiply, left, right)
        return self.arranged(self._product(left, right))

    def _product(self, left: Array, right: Array) -> Array:
        high = np.rint(right / _SPLIT)
        low = right - high * _SPLIT
        result = self._centred(self._centred(left * high) * _SPLIT + left * low)
        return self._as_numpy(result, np.multiply, left, right)

    def _as_numpy(self, result: Array, function: Callable[..., Array], left: Array, right: Array) -> Array:
        """Replaces results of operands that are not finite by numpy's."""
        if np.isfinite(left).all() and np.isfinite(right).all():
            return result
        plain = function(left, right)
        unbounded = ~(np.isfinite(left) & np.isfinite(right))
        return np.where(unbounded, plain, result)

    def _complex(self, function: Callable[[Array, Array], Array], left: Array, right: Array) -> Array:
        a, b, c, d = (
            np.ascontiguousarray(x) for x in (np.real(left), np.imag(left), np.real(right), np.imag(right))
        )
        real = self.subtract(function(a, c), function(b, d))
        return _joined(real, self.add(function(a, d), function(b, c)))

    def inverse(self, array: Array) -> Array:
        """Returns the multiplicative inverses; zeros and what is not finite give numpy's."""
        if array.dtype.kind == "c":
            real, imaginary = np.ascontiguousarray(np.real(array)), np.ascontiguousarray(np.imag(array))
            size = self.add(self.multiply(real, real), self.multiply(imaginary, imaginary))
            by = self.inverse(size)
            return _joined(self.multiply(real, by), self.multiply(self.negative(imaginary), by))
        plain = np.isfinite(array) & (array != 0)
        values = np.where(plain, array, 1.0)
        result = self._inverses(values.reshape(-1)).reshape(array.shape)
        return self.arranged(result if plain.all() else np.where(plain, result, 1 / array))

    def _inverses(self, values: Array) -> Array:
        """By a tree of products: 1/a = b * 1/(ab)."""
        size = len(values)
        if size < 2:
            powers = [float(pow(int(value), -1, self.prime)) for value in values.tolist()]
            return self._centred(np.array(powers, np.float64))
        half = size // 2
        left, right = values[:half], values[half : 2 * half]
        rest = values[2 * half :]
        products = np.concatenate((self._product(left, right), rest))
        found = self._inverses(products)
        by = found[:half]
        return np.concatenate((self._product(right, by), self._product(left, by), found[half:]))

    def divide(self, left: Array, right: Array) -> Array:
        """Returns the quotient; of 0 and what is not finite numpy's."""
        result = self.multiply(left, self.inverse(right))
        plain = np.isfinite(left) & np.isfinite(right) & (right != 0)
        if plain.all():
            return result
        return self.arranged(np.where(plain, result, np.divide(left, right)))

    def matmul(self, left: Array, right: Array) -> Array:
        """Returns the products of matrices: three of float64, by the digits of the right one."""
        if left.dtype.kind == "c" or right.dtype.kind == "c":
            return self._complex(self.matmul, left, right)
        finite = np.isfinite(left).all() and np.isfinite(right).all()
        plain = np.zeros(())
        if not finite:
            plain = np.matmul(left, right)
            left, right = (np.where(np.isfinite(array), array, 0) for array in (left, right))
        left, right = self._centred(left), self._centred(right)
        terms = left.shape[-1]
        total: Array = np.array(0.0)
        for start in range(0, max(terms, 1), _TERMS):
            chosen = slice(start, start + _TERMS)
            total = total + self._matmul(left[..., chosen], right[..., chosen, :])
        result: Array = self.arranged(total)
        return result if finite else np.where(np.isfinite(plain), result, plain)

    def _matmul(self, left: Array, right: Array) -> Array:
        rest = np.rint(right / _DIGIT)
        low = right - rest * _DIGIT
        high = np.rint(rest / _DIGIT)
        middle = rest - high * _DIGIT
        result = self._centred(np.matmul(left, high))
        for digit in (middle, low):
            result = self._centred(result * _DIGIT + self._centred(np.matmul(left, digit)))
        return result

    def encoded(self, array: Array) -> Array:
        """Returns the residues of floats: m * 2^e for each, exactly.

        All integers are distinct that are below p in size; 0.5 is the inverse of 2.
        """
        if array.dtype.kind == "c":
            return _joined(self.encoded(np.real(array)), self.encoded(np.imag(array)))
        array = np.asarray(array, np.float64)
        finite = np.isfinite(array)
        plain = array if finite.all() else np.where(finite, array, 0)
        if bool((np.rint(plain) == plain).all()) and bool((np.abs(plain) < 2.0**52).all()):
            result = self.arranged(plain)
        else:
            mantissa, exponent = np.frexp(plain)
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            residues = (whole % self.prime).astype(np.float64)
            result = self.multiply(residues, self._powers[exponent - 53 - _LEAST_EXPONENT])
        return result if finite.all() else np.where(finite, result, array)

    @cached_property
    def _powers(self) -> Array:
        """The powers of 2 as residues, from the least exponent on."""
        half = (self.prime + 1) // 2
        value, values = pow(half, -_LEAST_EXPONENT, self.prime), list[int]()
        for _ in range(_LEAST_EXPONENT, _MOST_EXPONENT):
            values.append(value)
            value = value * 2 % self.prime
        return np.array(values, np.float64)

    def decoded(self, array: Array, largest: int = 1 << 16) -> tuple[Array, Array]:
        """Returns which residues are those of small numbers with denominators up to 2^8, and the numbers."""
        scaled = self._centred(array * 256.0)
        near = np.isfinite(scaled) & (np.abs(scaled) <= 256.0 * largest)
        return near, np.where(near, scaled, 0) / 256.0


def _joined(real: Array, imaginary: Array) -> Array:
    result: Array = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _is_prime(number: int) -> bool:
    """By Miller and Rabin; these bases decide below 3.2e9."""
    odd, twos = number - 1, 0
    while not odd % 2:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        x = pow(base, odd, number)
        if x in (1, number - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % number
            if x == number - 1:
                break
        else:
            return False
    return True
