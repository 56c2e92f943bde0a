"""Ops of CHLO: inverse and special functions, tests of floats, ops that broadcast, `top_k`.

    COMPUTE["chlo.broadcast_add"](record, lhs, rhs)

Not here: `ragged_dot` (`contraction.py`), the special functions themselves (`special.py`).

>>> row = OpRecord("chlo.broadcast_add", (), (), {"broadcast_dimensions": (0,)})
>>> COMPUTE["chlo.broadcast_add"](row, np.float32([[1, 2]]), np.float32([[[0, 0], [10, 20]]]))
array([[[ 1.,  1.],
        [12., 22.]]], dtype=float32)
"""

from __future__ import annotations

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute import complex_functions, special
from shardy_py.ops.compute.elementwise import COMPUTE as ELEMENTWISE
from shardy_py.ops.compute.elementwise import real_or_complex, total_order
from shardy_py.ops.compute.integer import multiply_high
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of
from shardy_py.ops.compute.precision import exact, kind_of, rounded
from shardy_py.ops.elementwise import CHLO_BROADCASTING


def _conj(record: OpRecord, operand: Array) -> Array:
    return np.conjugate(operand) if operand.dtype.kind == "c" else operand


def _constant_like(record: OpRecord, operand: Array) -> Array:
    value = np.asarray(record.attributes["value"]).astype(dtype_of(record.results[0]))
    return np.broadcast_to(value, (1, *operand.shape[1:]))


def _next_after(operand: Array, target: Array) -> Array:
    """Returns the target if it is equal, which zeros of both signs are."""
    return np.where(operand == target, target, np.nextafter(operand, target))


def _cosh(operand: Array) -> Array:
    """Returns the sum of two powers, as StableHLO's decomposition: finite wherever the result is."""
    half = operand.dtype.type(np.log(0.5))
    return np.exp(operand + half) + np.exp(half - operand)


def _sinh(operand: Array) -> Array:
    """Returns the difference of two powers, as StableHLO's decomposition, but for small numbers."""
    half = operand.dtype.type(np.log(0.5))
    powers = np.exp(operand + half) - np.exp(half - operand)
    return np.where(np.abs(operand) < 1, np.sinh(operand), powers)


def is_infinite(record: OpRecord, operand: Array) -> Array:
    """True if elements are infinite."""
    return np.isinf(operand)


def is_positive_infinite(record: OpRecord, operand: Array) -> Array:
    """True if elements are +inf."""
    return np.isinf(operand) & (operand > 0)


def is_negative_infinite(record: OpRecord, operand: Array) -> Array:
    """True if elements are -inf."""
    return np.isinf(operand) & (operand < 0)


def top_k(record: OpRecord, operand: Array) -> tuple[Array, Array]:
    """Returns the largest elements of the last dimension and their indices; equal ones in order.

    Floats are in total order, as in XLA: NaN is the largest, -0 is less than +0.
    """
    count: int = record.attributes["k"]
    size = operand.shape[-1]
    key = total_order(operand)
    if kind_of(operand.dtype) != "b" and key.dtype.itemsize <= 4 and 0 < 4 * count < size < 1 << 31:
        indices = _largest(key, count)
    else:
        indices = np.argsort(~_with_operators(key), axis=-1, kind="stable")[..., :count]
    return np.take_along_axis(operand, indices, -1), indices.astype(np.int32)


def _with_operators(key: Array) -> Array:
    """Returns integers of ml_dtypes as numpy's, which can be inverted and sorted."""
    return key.astype(np.int8) if key.dtype.kind == "V" else key


def _largest(key: Array, count: int) -> Array:
    """Returns indices of the largest: pairs of key and reversed index are distinct, so one partition does."""
    size = key.shape[-1]
    reversed_index = np.arange(size - 1, -1, -1, dtype=np.int64)
    pairs = (key.astype(np.int64) << 31) | reversed_index
    found = np.sort(np.partition(pairs, size - count, axis=-1)[..., size - count :], axis=-1)[..., ::-1]
    return size - 1 - (found & ((1 << 31) - 1))


def broadcasting(function: Compute) -> Compute:
    """Makes the function of a broadcasting op from that of the op on equal shapes.

    Shapes are aligned at their last dimension, as in numpy; an operand of lower rank is placed along the
    attribute `broadcast_dimensions` if that is given.
    """

    def compute(record: OpRecord, *operands: Array) -> Array:
        rank = max(operand.ndim for operand in operands) - 1
        dimensions = record.attributes.get("broadcast_dimensions")
        placed = [_placed(operand, rank, dimensions) for operand in operands]
        shape = np.broadcast_shapes(*(operand.shape[1:] for operand in placed))
        return function(record, *(np.broadcast_to(operand, (len(operand), *shape)) for operand in placed))

    return compute


def _placed(operand: Array, rank: int, dimensions: tuple[int, ...] | None) -> Array:
    own = operand.ndim - 1
    if own == rank:
        return operand
    targets = tuple(range(rank - own, rank)) if dimensions is None else dimensions
    sizes = [1] * rank
    for size, target in zip(operand.shape[1:], targets, strict=True):
        sizes[target] = size
    return operand.reshape(len(operand), *sizes)


_FUNCTIONS: dict[str, Compute] = {
    "_asin_acos_kernel": rounded(complex_functions.asin_acos_kernel),
    "acos": rounded(np.arccos),
    "acosh": rounded(np.arccosh),
    "asin": rounded(np.arcsin),
    "asinh": rounded(np.arcsinh),
    "atan": rounded(np.arctan),
    "atanh": rounded(np.arctanh),
    "bessel_i1e": rounded(special.bessel_i1e),
    "conj": _conj,
    "constant_like": _constant_like,
    "cosh": real_or_complex(_cosh, np.cosh),
    "digamma": rounded(special.digamma),
    "erf": rounded(special.erf),
    "erf_inv": rounded(special.erf_inv),
    "erfc": rounded(special.erfc),
    "is_inf": is_infinite,
    "is_neg_inf": is_negative_infinite,
    "is_pos_inf": is_positive_infinite,
    "lgamma": rounded(special.lgamma),
    "mulhi": multiply_high,
    "next_after": exact(_next_after),
    "polygamma": rounded(special.polygamma),
    "sinh": real_or_complex(_sinh, np.sinh),
    "square": real_or_complex(np.square, complex_functions.square),
    "tan": rounded(np.tan),
    "top_k": top_k,
    "zeta": rounded(special.zeta),
}

COMPUTE: dict[str, Compute] = {
    **{f"chlo.{name}": function for name, function in _FUNCTIONS.items()},
    **{
        f"chlo.broadcast_{name}": broadcasting(ELEMENTWISE.get(f"stablehlo.{name}") or _FUNCTIONS[name])
        for name in CHLO_BROADCASTING
    },
}
"""The function of each op."""
