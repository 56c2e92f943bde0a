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
from functools import cached_property
from math import isfinite, prod
from typing import Literal

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops.compute import Array

Order = Literal["middle", "lowest", "highest"]
ORDERS: tuple[Order, ...] = ("middle", "lowest", "highest")
_DIGIT = 2.0**15
_TERMS = 1 << 7
"""The products of 30 and 15 bits that are summed before they are reduced."""
MARGIN_BITS = 20
"""Small integers keep their order: "lowest" begins so far below zero, "highest" ends so far above it."""
_BLOCK = 1 << 15
"""Elements that are multiplied at a time, as intermediate results should stay in the cache."""
_FEW = 4
"""Elements that are inverted one by one."""
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

    @cached_property
    def least(self) -> float:
        """The least representative."""
        half = (self.prime - 1) // 2
        return float(
            {
                "middle": -half,
                "lowest": -(1 << MARGIN_BITS),
                "highest": (1 << MARGIN_BITS) - (self.prime - 1),
            }[self.order]
        )

    @property
    def greatest(self) -> float:
        """The greatest representative."""
        return self.least + self.prime - 1

    @cached_property
    def one(self) -> float:
        """The representative of 1."""
        return float(self.encoded(np.ones(1))[0])

    def uniform(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Returns uniform residues."""
        return self._placed(random.integers(0, self.prime, shape).astype(np.float64))

    def of_bits(self, bits: Array) -> Array:
        """Returns uniform residues of uniform 64 bits."""
        result = (bits >> np.uint64(11)).astype(np.float64)
        result *= self.prime * 2.0**-53
        np.floor(result, out=result)
        result += self.least
        return result

    def arranged(self, array: Array) -> Array:
        """Returns the representatives of integers below 2^53 in size."""
        if array.dtype.kind == "c":
            return _joined(self.arranged(np.real(array)), self.arranged(np.imag(array)))
        result = self._placed(self._near(array))
        return result if is_finite(result) else np.where(np.isfinite(array), result, array)

    def _placed(self, array: Array) -> Array:
        """Returns the representatives of integers below 2^49, whose quotients are exact to 1 / 2p."""
        if array.dtype.kind == "c":
            return _joined(self._placed(np.real(array)), self._placed(np.imag(array)))
        array, shape = _without_repeats(array)
        turns: Array = np.subtract(array, self.least - 0.5, out=np.empty_like(array, np.float64))
        turns *= 1.0 / self.prime
        np.floor(turns, out=turns)
        turns *= self.prime
        result = np.subtract(array, turns, out=turns)
        result += 0.0  # no -0.0
        if not is_finite(result):
            result = np.where(np.isfinite(array), result, array)
        return result if result.shape == shape else np.broadcast_to(result, shape)

    def _near(self, array: Array) -> Array:
        """Returns integers up to p / 2 + 1 in size that are the same residues."""
        turns: Array = np.multiply(array, 1.0 / self.prime, out=np.empty_like(array, np.float64))
        np.rint(turns, out=turns)
        turns *= self.prime
        return np.subtract(array, turns, out=turns)

    def canonical(self, array: Array) -> Array:
        """Returns residues from 0 as uint64; those of infinities and NaN are codes from p on."""
        finite = is_finite(array)
        plain = array if finite else np.where(np.isfinite(array), array, 0)
        integers = plain.astype(np.int64)
        integers += (integers >> 63) & self.prime
        result = integers.view(np.uint64)
        if finite:
            return result
        code = np.where(np.isnan(array), 2, np.where(array > 0, 0, 1)) + self.prime
        return np.where(np.isfinite(array), result, code.astype(np.uint64))

    def add(self, left: Array, right: Array) -> Array:
        """Returns the sum."""
        return self._placed(np.add(left, right))

    def subtract(self, left: Array, right: Array) -> Array:
        """Returns the difference."""
        return self._placed(np.subtract(left, right))

    def negative(self, array: Array) -> Array:
        """Returns the additive inverse."""
        return self._placed(np.negative(array))

    def square(self, array: Array) -> Array:
        """Returns the product with itself."""
        return self.multiply(array, array)

    def conjugate(self, array: Array) -> Array:
        """Returns the complex conjugate."""
        return self._placed(np.conjugate(array))

    def multiply(self, left: Array, right: Array) -> Array:
        """Returns the product."""
        if left.dtype.kind == "c" or right.dtype.kind == "c":
            return self._complex(self.multiply, left, right)
        shape = np.broadcast_shapes(left.shape, right.shape)
        (left, _), (right, _) = _without_repeats(left), _without_repeats(right)
        if left.shape == right.shape and left.size > _BLOCK:
            result: Array = np.empty(left.shape)
            flat, sides = result.reshape(-1), (left.reshape(-1), right.reshape(-1))
            for start in range(0, left.size, _BLOCK):
                chosen = slice(start, start + _BLOCK)
                flat[chosen] = self._product(sides[0][chosen], sides[1][chosen])
        else:
            result = self._product(left, right)
        return result if result.shape == shape else np.broadcast_to(result, shape)

    def _product(self, left: Array, right: Array) -> Array:
        if not (is_finite(left) and is_finite(right)):
            finite = np.isfinite(left), np.isfinite(right)
            plain = np.multiply(left, right)
            kept = self._product(*(np.where(*pair, 0) for pair in zip(finite, (left, right), strict=True)))
            return np.where(finite[0] & finite[1], kept, plain)
        least = int(self.least)
        result: Array = np.multiply(left.astype(np.int64), right.astype(np.int64))
        result -= least
        result %= self.prime
        result += least
        return result.astype(np.float64)

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
        array, shape = _without_repeats(array)
        plain = np.isfinite(array) & (array != 0)
        is_plain = bool(plain.all())
        values = array if is_plain else np.where(plain, array, 1.0)
        result = self._inverses(values.reshape(-1)).reshape(array.shape)
        if not is_plain:
            result = np.where(plain, result, 1 / array)
        return result if result.shape == shape else np.broadcast_to(result, shape)

    def _inverses(self, values: Array) -> Array:
        """By a tree of products: 1/a = b * 1/(ab)."""
        size = len(values)
        if size <= _FEW:
            powers = [float(pow(int(value), -1, self.prime)) for value in values.tolist()]
            return self._placed(np.array(powers, np.float64))
        half = size // 2
        left, right = values[:half], values[half : 2 * half]
        products = np.concatenate((self.multiply(left, right), values[2 * half :]))
        found = self._inverses(products)
        by = found[:half]
        return np.concatenate((self.multiply(right, by), self.multiply(left, by), found[half:]))

    def divide(self, left: Array, right: Array) -> Array:
        """Returns the quotient; of 0 and what is not finite numpy's."""
        result = self.multiply(left, self.inverse(right))
        if left.dtype.kind != "c" and right.dtype.kind != "c" and is_finite(result) and right.all():
            return result  # finite as both operands are
        plain = np.isfinite(left) & np.isfinite(right) & (right != 0)
        return result if plain.all() else self.arranged(np.where(plain, result, np.divide(left, right)))

    def matmul(self, left: Array, right: Array) -> Array:
        """Returns the products of matrices: two of float64, by the digits of the smaller one."""
        if left.dtype.kind == "c" or right.dtype.kind == "c":
            return self._complex(self.matmul, left, right)
        finite = is_finite(left) and is_finite(right)
        plain = np.zeros(())
        if not finite:
            plain = np.matmul(left, right)
            left, right = (np.where(np.isfinite(array), array, 0) for array in (left, right))
        if self.order != "middle":
            left, right = self._near(left), self._near(right)
        is_right = right.size <= left.size
        high, low = self._digits(right if is_right else left)
        # Both digits in one product: a matrix of few columns, or rows, is slow.
        if is_right:
            product = self._sums(left, np.concatenate((high, low), -1))
            high, low = np.split(product, 2, -1)
        else:
            product = self._sums(np.concatenate((high, low), -2), right)
            high, low = np.split(product, 2, -2)
        high = high * _DIGIT
        high += low
        result = self._placed(high)
        return result if finite else np.where(np.isfinite(plain), result, plain)

    def _digits(self, array: Array) -> tuple[Array, Array]:
        """Both digits of integers."""
        high: Array = np.rint(array * (1 / _DIGIT))
        return high, array - high * _DIGIT

    def _sums(self, left: Array, right: Array) -> Array:
        """The products of matrices of which one has digits: sums of 2^7 products of 30 and 15 bits."""
        shape = *np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1]
        terms, step = left.shape[-1], _TERMS * max(1, _BLOCK // max(1, prod(shape)))
        total: Array | None = None
        start = 0
        while start < terms or total is None:
            several = min(step, (terms - start) // _TERMS * _TERMS)
            end = start + (several or _TERMS)
            lhs, rhs = left[..., start:end], right[..., start:end, :]
            if several > _TERMS:  # many products of few elements at once
                lhs = np.moveaxis(lhs.reshape(*lhs.shape[:-1], -1, _TERMS), -2, -3)
                rhs = rhs.reshape(*rhs.shape[:-2], -1, _TERMS, rhs.shape[-1])
                part = np.add.reduce(self._near(np.matmul(lhs, rhs)), -3)
            else:
                part = np.matmul(lhs, rhs)
            total = self._near(part if total is None else total + part)
            start = end
        return total

    def encoded(self, array: Array) -> Array:
        """Returns the residues of floats: m * 2^e for each, exactly.

        All integers are distinct that are below p in size; 0.5 is the inverse of 2.
        """
        if array.dtype.kind == "c":
            return _joined(self.encoded(np.real(array)), self.encoded(np.imag(array)))
        array, shape = _without_repeats(np.asarray(array, np.float64))
        finite = np.isfinite(array)
        plain = array if finite.all() else np.where(finite, array, 0)
        if bool((np.rint(plain) == plain).all()) and bool((np.abs(plain) < 2.0**52).all()):
            result = self.arranged(plain)
        else:
            mantissa, exponent = np.frexp(plain)
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            residues = (whole % self.prime).astype(np.float64)
            result = self.multiply(residues, self._powers[exponent - 53 - _LEAST_EXPONENT])
        if not finite.all():
            result = np.where(finite, result, array)
        return result if result.shape == shape else np.broadcast_to(result, shape)

    @cached_property
    def _powers(self) -> Array:
        """The powers of 2 as residues, from the least exponent on."""
        half = (self.prime + 1) // 2
        values: Array = np.array([pow(half, -_LEAST_EXPONENT, self.prime)], np.float64)
        while len(values) < _MOST_EXPONENT - _LEAST_EXPONENT:
            step = np.array([pow(2, len(values), self.prime)], np.float64)
            values = np.concatenate((values, self.multiply(values, step)))
        return values

    def decoded(self, array: Array, largest: int = 1 << 16) -> tuple[Array, Array]:
        """Returns which residues are those of small numbers with denominators up to 2^8, and the numbers."""
        scaled = self._near(array * 256.0)
        near = np.isfinite(scaled) & (np.abs(scaled) <= 256.0 * largest)
        return near, np.where(near, scaled, 0) / 256.0


def is_finite(array: Array) -> bool:
    """Returns whether all elements are: sums of residues do not overflow."""
    total = np.add.reduce(array, None)
    return bool(np.isfinite(total)) if array.dtype.kind == "c" else isfinite(total)


def _without_repeats(array: Array) -> tuple[Array, tuple[int, ...]]:
    """Returns the array with one element along each dimension that repeats it, and the whole shape."""
    shape = array.shape
    if 0 in array.strides:
        array = array[tuple(slice(0, 1) if not step else slice(None) for step in array.strides)]
    return array, shape


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
