"""Conversions between element types: of values, and of bits.

    convert(record, operand)            the nearest value of the result's element type
    bitcast_convert(record, operand)    the same bits

Not here: quantized types (`quantization.py`).

>>> converted(np.float32([[-1.5, 7.8, 300]]), np.dtype(np.uint8))
array([[  0,   7, 255]], dtype=uint8)
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of
from shardy_py.ops.compute.precision import NARROW, Dtype, element_of, kind_of


def convert(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "convert"."""
    return converted(operand, dtype_of(record.results[0]))


def converted(operand: Array, dtype: Dtype) -> Array:
    """Returns an array with elements of another type.

    Floats become integers by truncation; those out of range the nearest integer, and NaN 0, as in XLA.
    Integers wrap. Complex numbers lose their imaginary part if the type is not complex.
    """
    if operand.dtype == dtype:
        return operand
    source, target = kind_of(operand.dtype), kind_of(dtype)
    if source == "c" != target:
        operand = np.real(operand)
        source = "f"
    if target == "b":
        return operand != 0
    if operand.dtype.itemsize == 1 and (exact := NARROW.get(operand.dtype)):
        # ml_dtypes does not convert all of its types to each other, nor to complex numbers.
        operand = operand.astype(exact)
    return _truncated(operand, dtype) if source == "f" and target in "iu" else operand.astype(dtype)


def _truncated(operand: Array, dtype: Dtype) -> Array:
    info = ml_dtypes.iinfo(dtype)
    wide = np.float64 if element_of(dtype).bits > 16 or operand.dtype == np.float64 else np.float32
    operand = operand.astype(wide, copy=False)
    if element_of(dtype).bits < 64:
        result = np.minimum(np.maximum(operand, wide(info.min)), wide(info.max)).astype(dtype)
    else:
        # The largest integers are not representable in f64; the next power of two is.
        limit = wide(2.0 ** int(info.max).bit_length())
        inside = np.where(operand < limit, operand, wide(0))
        result = np.maximum(inside, wide(info.min)).astype(dtype)
        result = np.where(operand >= limit, dtype.type(info.max), result)
    unordered = np.isnan(operand)
    return np.where(unordered, dtype.type(0), result) if unordered.any() else result


def bitcast_convert(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "bitcast_convert"; the lowest bits come first."""
    source, target = (element_type(type_.element) for type_ in (*record.operands, *record.results) if type_)
    before, after = source.value_bits, target.value_bits
    if min(before, after) < 8:
        return _regrouped(_to_bits(operand, before), before, after).view(target.dtype)
    if before == after:
        return operand.view(target.dtype)
    operand = np.ascontiguousarray(operand)
    if after < before:
        return operand[..., np.newaxis].view(target.dtype)
    return operand.view(target.dtype)[..., 0]


def _to_bits(operand: Array, bits: int) -> Array:
    """Returns the elements as unsigned integers."""
    unsigned = operand.view(f"u{operand.dtype.itemsize}")
    return unsigned & ((1 << bits) - 1) if bits < 8 else unsigned


def _regrouped(unsigned: Array, before: int, after: int) -> Array:
    """Splits or joins unsigned integers along the last dimension."""
    holder = np.dtype(f"u{max(after // 8, 1)}")
    if after == before:
        return unsigned
    both = np.promote_types(holder, unsigned.dtype)
    shifts = np.arange(0, max(before, after), min(before, after), dtype=both)
    if after < before:
        return ((unsigned[..., np.newaxis] >> shifts) & ((1 << after) - 1)).astype(holder)
    return np.bitwise_or.reduce(unsigned.astype(holder) << shifts, axis=-1)


COMPUTE: dict[str, Compute] = {
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.convert": convert,
}
"""The function of each op."""
