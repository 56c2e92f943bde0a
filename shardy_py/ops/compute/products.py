"""Sums of products in every element type, through products of floats, which BLAS computes.

A bilinear function is written once, for floats: `np.matmul`, a convolution. `summed_products` applies it to
operands of any type, with the accumulation that the result type calls for:

>>> summed_products(np.matmul, np.int8([[100, 100]]), np.int8([[2], [1]]), 2, np.dtype(np.int8))
array([[44]], dtype=int8)

Not here: which dimensions are multiplied (`contraction.py`, `convolution.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.ops.compute.arithmetic import FLOAT, current, using
from shardy_py.ops.compute.lanes import Array
from shardy_py.ops.compute.precision import kind_of

Bilinear = Callable[[Array, Array], Array]
"""A function that is linear in either array, computed in their common type."""

_LIMB_BITS = 16
_FEW_PRODUCTS = 1 << 16
_EXACT = ((np.dtype(np.float32), 1 << 24), (np.dtype(np.float64), 1 << 53))
"""Floats with the bound below which they represent all integers."""


def summed_products(compute: Bilinear, lhs: Array, rhs: Array, terms: int, dtype: AnyDtype) -> Array:
    """Returns `compute(lhs, rhs)` in a type.

    Floats narrower than f32 are computed in f32 and rounded once; integers wrap around, as if multiplied and
    added in the result type; booleans are combined by "and" and "or".

    terms: the number of products summed in one element.
    """
    kind = kind_of(dtype)
    if kind == "b":
        with using(FLOAT):
            return compute(_as(lhs, _EXACT[0][0]), _as(rhs, _EXACT[0][0])) != 0
    if kind in "iu" and kind_of(lhs.dtype) in "biu" and kind_of(rhs.dtype) in "biu":
        with using(FLOAT):  # the floats that integers are computed in are none of the program
            return _integer_products(compute, lhs, rhs, terms, dtype)
    working = working_type(lhs.dtype, rhs.dtype, dtype)
    return compute(_as_float(lhs, working), _as_float(rhs, working)).astype(dtype, copy=False)


def _as_float(array: Array, dtype: AnyDtype) -> Array:
    wide = _as(array, dtype)
    return current().constant(wide) if kind_of(array.dtype) in "biu" else wide


@lru_cache(maxsize=256)
def working_type(*dtypes: AnyDtype) -> AnyDtype:
    """Returns the type to compute floats in: f32 or wider, complex if one of them is."""
    floats = [dtype for dtype in dtypes if dtype.kind in "fc" and dtype.itemsize > 2]
    return np.result_type(np.float32, *floats)


def _as(array: Array, dtype: AnyDtype) -> Array:
    return array if array.dtype == dtype else array.astype(dtype, order="C")


def _integer_products(compute: Bilinear, lhs: Array, rhs: Array, terms: int, dtype: AnyDtype) -> Array:
    """Products of integers: as floats if those are exact, else in parts of 16 bits that are."""
    wide = np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    if lhs.size * rhs.size <= _FEW_PRODUCTS:
        return compute(_as(lhs, wide), _as(rhs, wide)).astype(dtype, copy=False)
    bound = terms * _magnitude(lhs) * _magnitude(rhs)
    for working, limit in _EXACT:
        if bound < limit:
            return compute(_as(lhs, working), _as(rhs, working)).astype(np.int64).astype(dtype, copy=False)
    if terms << (2 * _LIMB_BITS) >= _EXACT[-1][1]:
        return compute(_as(lhs, wide), _as(rhs, wide)).astype(dtype, copy=False)
    # sum_i(l_i b^i) * sum_j(r_j b^j) mod b^n, without the terms of i + j >= n, which are 0 mod b^n.
    limbs = wide.itemsize * 8 // _LIMB_BITS
    result: Array = np.zeros((), np.uint64)
    parts = [[_limb(array, i) for i in range(limbs)] for array in (lhs, rhs)]
    for (i, left), (j, right) in product(*map(enumerate, parts)):
        if i + j < limbs:
            result = result + (compute(left, right).astype(np.uint64) << np.uint64(_LIMB_BITS * (i + j)))
    return result.astype(dtype)


def _magnitude(array: Array) -> int:
    """Returns a bound of the absolute values of integers: of the type if it is narrow, else of the values."""
    if array.dtype.itemsize <= 2:
        return 1 << (8 * array.dtype.itemsize)
    return max(int(array.max(initial=0)), -int(array.min(initial=0)))


def _limb(array: Array, number: int) -> Array:
    bits = array.astype(np.int64, order="C") if array.dtype.itemsize < 8 else array
    return (bits >> (_LIMB_BITS * number) & 0xFFFF).astype(np.float64, order="C")
