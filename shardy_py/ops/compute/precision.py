"""The numpy types that ops compute in, where that is not the type of the elements.

Floats narrower than f32 are computed in f32 and rounded once, integers of 2 and 4 bits in 8 bits and wrapped.
Not here: conversions between element types as an op (`conversion.py`).

>>> np.add(*[np.array([[7]], ml_dtypes.int4)] * 2).astype(ml_dtypes.int4)
array([[-2]], dtype=int4)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import ml_dtypes
import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.indexing.layout.element_types import ElementType, element_type_of
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute

Dtype = AnyDtype


def element_of(dtype: Dtype) -> ElementType:
    """Returns the element type of arrays of that numpy type."""
    found = element_type_of(dtype)
    assert found is not None
    return found


@lru_cache(maxsize=64)
def kind_of(dtype: Dtype) -> str:
    """Returns "b" for i1, "i" and "u" for integers, "f" and "c": the numpy kind, for ml_dtypes as well."""
    first = element_of(dtype).name[0]
    return {"p": "b", "s": "i", "u": "u", "c": "c"}.get(first, "f")


def _types(names: str, computed_in: type) -> dict[Dtype, Dtype]:
    return {np.dtype(getattr(ml_dtypes, name)): np.dtype(computed_in) for name in names.split()}


SMALL_INTEGERS = _types("int2 int4", np.int8) | _types("uint2 uint4", np.uint8)
"""Integers without ufuncs of their own: the type that holds them."""
_SMALL_FLOATS = _types(
    "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2"
    " float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn float6_e2m3fn float6_e3m2fn",
    np.float32,
)
NARROW_FLOATS = {np.dtype(np.float16): np.dtype(np.float32)} | _SMALL_FLOATS
"""Floats narrower than f32."""
NARROW = NARROW_FLOATS | SMALL_INTEGERS
"""Types and a wider one that holds their values."""
PRECISE = NARROW_FLOATS | {np.dtype(np.complex64): np.dtype(np.complex128)}
"""Types whose transcendental functions are computed in a wider type."""


def exact(function: Callable[..., Array]) -> Compute:
    """Makes the function of an op from a ufunc that rounds once in every float type."""

    def compute(record: OpRecord, *operands: Array) -> Array:
        dtype = operands[0].dtype
        result = function(*operands)
        return result if dtype not in SMALL_INTEGERS else result.astype(dtype)

    return compute


def rounded(function: Callable[..., Array]) -> Compute:
    """Makes the function of an op from one on f32, f64 and c128; narrower types are rounded once."""

    def compute(record: OpRecord, *operands: Array) -> Array:
        dtype = operands[0].dtype
        wide = PRECISE.get(dtype)
        if wide is None:
            return function(*operands)
        return function(*(operand.astype(wide) for operand in operands)).astype(dtype)

    return compute


def integers(function: Callable[..., Array]) -> Compute:
    """Makes the function of an op from one on integers of 8 bits and more, which it gets with their width."""

    def compute(record: OpRecord, *operands: Array) -> Array:
        dtype = operands[0].dtype
        held_in = SMALL_INTEGERS.get(dtype)
        if held_in is None:
            return function(8 * dtype.itemsize, *operands)
        bits = element_of(dtype).bits
        return function(bits, *(operand.astype(held_in) for operand in operands)).astype(dtype)

    return compute
