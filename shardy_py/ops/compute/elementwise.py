"""Elementwise ops of StableHLO: arithmetic, logic, comparison, choice, elementary functions.

    COMPUTE["stablehlo.add"](record, lhs, rhs)

Operands have equal shapes but for their lanes; a scalar bound or predicate is broadcast. The section of the
specification of each op has the op's name. Where it leaves a choice, the result is that of XLA on CPU: -0 is
less than +0 for maximum and minimum, an integer divided by 0 has all bits set, shifts by the width or more
leave zeros or signs.

Not here: conversions (`conversion.py`), ops of CHLO (`chlo.py`).

>>> row = OpRecord("stablehlo.maximum", (), ())
>>> COMPUTE["stablehlo.maximum"](row, np.float32([[-0.0, np.nan]]), np.float32([[0.0, 1]]))
array([[ 0., nan]], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from shardy_py.base.arrays import FloatLimits, float_limits
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import complex_functions
from shardy_py.ops.compute.integer import COMPUTE as INTEGER
from shardy_py.ops.compute.integer import divide as divide_integers
from shardy_py.ops.compute.integer import power as integer_power
from shardy_py.ops.compute.integer import remainder as integer_remainder
from shardy_py.ops.compute.lanes import Array, Compute, RegionFunction, dtype_of, lanes_of
from shardy_py.ops.compute.precision import NARROW_FLOATS, Dtype, exact, kind_of, rounded


def _by_kind(integer: Compute, other: Compute) -> Compute:
    def compute(record: OpRecord, *operands: Array) -> Array:
        return (integer if kind_of(operands[0].dtype) in "iu" else other)(record, *operands)

    return compute


def real_or_complex(real: Callable[..., Array], complex_: Callable[..., Array]) -> Compute:
    """Makes the function of an op from those on real and on complex numbers."""

    def compute(*operands: Array) -> Array:
        return (complex_ if operands[0].dtype.kind == "c" else real)(*operands)

    return rounded(compute)


def _subtract(left: Array, right: Array) -> Array:
    return np.logical_xor(left, right) if left.dtype == np.bool_ else np.subtract(left, right)


def maximum(left: Array, right: Array) -> Array:
    """Returns the larger; NaN if one is; +0 of two zeros if one is."""
    if left.dtype.kind == "c":
        return complex_functions.maximum(left, right)
    result = np.maximum(left, right)
    return result if _has_no_zero(result) else _with_zeros(result, left, right, np.add)


def minimum(left: Array, right: Array) -> Array:
    """Returns the smaller; NaN if one is; -0 of two zeros if one is."""
    if left.dtype.kind == "c":
        return complex_functions.minimum(left, right)
    result = np.minimum(left, right)
    return result if _has_no_zero(result) else _with_zeros(result, left, right, _add_downwards)


def _has_no_zero(array: Array) -> bool:
    return kind_of(array.dtype) != "f" or bool(array.all())


def _with_zeros(result: Array, left: Array, right: Array, add: Callable[[Array, Array], Array]) -> Array:
    """Sums of equal zeros have the sign of the larger one, or of the smaller one when rounding down."""
    zeros = (result == 0) & (left == right)
    return np.where(zeros, add(left, right), result)


def _add_downwards(left: Array, right: Array) -> Array:
    return -(-left - right)


def _sign(operand: Array) -> Array:
    """Keeps the sign of zeros."""
    if operand.dtype.kind == "c":
        return complex_functions.sign(operand)
    sign = np.sign(operand)
    return np.copysign(sign, operand) if kind_of(operand.dtype) == "f" else sign


def _rsqrt(operand: Array) -> Array:
    return 1 / np.sqrt(operand)


def _logistic(operand: Array) -> Array:
    return 1 / (1 + np.exp(-operand))


def _round_away(operand: Array) -> Array:
    """Rounds halves away from zero: adding the largest number below a half carries halves only."""
    below_half = np.nextafter(np.asarray(0.5, operand.dtype), np.asarray(0, operand.dtype))
    whole = np.trunc(operand + np.copysign(below_half, operand))
    return np.copysign(whole, operand)


def compare(record: OpRecord, left: Array, right: Array) -> Array:
    """StableHLO's specification, "compare"."""
    if record.attributes.get("compare_type") == "TOTALORDER":
        left, right = total_order(left), total_order(right)
    return _COMPARISONS[record.attributes["comparison_direction"]](left, right)


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def total_order(operand: Array) -> Array:
    """Returns integers in IEEE 754's total order of floats: -NaN < -inf < -0 < +0 < inf < NaN."""
    if kind_of(operand.dtype) != "f":
        return operand
    if operand.dtype.itemsize == 1:
        operand = operand.astype(np.float32)
    bits = operand.view(f"i{operand.dtype.itemsize}")
    return bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)


def _like_scalar(scalar: Array, tensor: Array) -> Array:
    """Gives a scalar operand the rank of a tensor."""
    missing = tensor.ndim - scalar.ndim
    return scalar.reshape(scalar.shape + (1,) * missing) if missing > 0 else scalar


def select(record: OpRecord, predicate: Array, on_true: Array, on_false: Array) -> Array:
    """StableHLO's specification, "select"."""
    if predicate.size == 1:
        return on_true if predicate.item() else on_false
    return np.where(_like_scalar(predicate, on_true), on_true, on_false)


def clamp(record: OpRecord, low: Array, operand: Array, high: Array) -> Array:
    """StableHLO's specification, "clamp"."""
    low, high = _like_scalar(low, operand), _like_scalar(high, operand)
    return minimum(maximum(operand, low), high).astype(operand.dtype, copy=False)


def is_finite(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "is_finite"."""
    return np.isfinite(operand)


def real(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "real"."""
    return np.real(operand) if operand.dtype.kind == "c" else operand


def imag(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "imag"."""
    return np.imag(operand) if operand.dtype.kind == "c" else np.zeros_like(operand)


def complex_(record: OpRecord, left: Array, right: Array) -> Array:
    """StableHLO's specification, "complex"."""
    return complex_functions.joined(left, right)


_HOLDERS: dict[Dtype, Dtype] = {
    dtype: np.dtype(np.float32 if dtype == ml_dtypes.float8_e8m0fnu else np.float16)
    for dtype in NARROW_FLOATS
    if dtype.itemsize == 1
}
"""Types whose values are exact in an IEEE type, in which they are rounded to other formats."""


def reduce_precision(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "reduce_precision"; what is smaller than the normal numbers becomes zero.

    Floats of 8 bits and less are rounded as f16, or f32 if their range is larger: their biases differ, and
    some have no infinity.
    """
    held_in = _HOLDERS.get(operand.dtype, operand.dtype)
    sizes = record.attributes["exponent_bits"], record.attributes["mantissa_bits"]
    return _reduced(operand.astype(held_in, copy=False), *sizes).astype(operand.dtype, copy=False)


def _reduced(operand: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    info = float_limits(operand.dtype)
    bits = operand.view(f"u{operand.dtype.itemsize}")
    one = bits.dtype.type(1)
    if mantissa_bits < info.nmant:
        dropped = bits.dtype.type(info.nmant - mantissa_bits)
        last_kept = (bits >> dropped) & one
        bits = (bits + (last_kept + ((one << dropped >> one) - one))) & ~((one << dropped) - one)
    if exponent_bits < info.bits - 1 - info.nmant:
        bits = _with_exponents(bits, exponent_bits, info)
    if mantissa_bits:
        return np.where(np.isnan(operand), operand, bits.view(operand.dtype))
    return np.where(np.isnan(operand), operand.dtype.type(np.inf), bits.view(operand.dtype))


def _with_exponents(bits: Array, exponent_bits: int, info: FloatLimits) -> Array:
    """Replaces floats whose exponents do not fit by zeros and infinities."""
    unsigned = bits.dtype.type
    bias = (1 << (info.bits - 2 - info.nmant)) - 1
    reach = (1 << (exponent_bits - 1)) - 1
    infinity = ((2 * bias + 1) << info.nmant) & ~((1 << info.nmant) - 1)
    sign = bits & unsigned(1 << (info.bits - 1))
    exponent = bits & unsigned(infinity)
    bits = np.where(exponent > unsigned((bias + reach) << info.nmant), sign | unsigned(infinity), bits)
    return np.where(exponent <= unsigned((bias - reach) << info.nmant), sign, bits)


def map_(record: OpRecord, body: RegionFunction, *operands: Array) -> Array:
    """StableHLO's specification, "map"."""
    lanes = max(lanes_of(*operands), body.lanes)
    shape = (lanes, *operands[0].shape[1:])
    (result,) = body(*(np.broadcast_to(operand, shape).reshape(-1) for operand in operands))
    flat = np.broadcast_to(result, (operands[0][0].size * lanes,))
    return flat.reshape(shape).astype(dtype_of(record.results[0]), copy=False)


def _table(prefix: str, functions: dict[str, Compute]) -> dict[str, Compute]:
    return {f"{prefix}.{name}": function for name, function in functions.items()}


COMPUTE: dict[str, Compute] = INTEGER | _table(
    "stablehlo",
    {
        "abs": exact(np.abs),
        "add": exact(np.add),
        "and": exact(np.bitwise_and),
        "atan2": real_or_complex(np.arctan2, complex_functions.atan2),
        "cbrt": real_or_complex(np.cbrt, complex_functions.cbrt),
        "ceil": exact(np.ceil),
        "clamp": clamp,
        "compare": compare,
        "complex": complex_,
        "cosine": rounded(np.cos),
        "divide": _by_kind(divide_integers, rounded(np.divide)),
        "exponential": rounded(np.exp),
        "exponential_minus_one": real_or_complex(np.expm1, complex_functions.exponential_minus_one),
        "floor": exact(np.floor),
        "imag": imag,
        "is_finite": is_finite,
        "log": rounded(np.log),
        "log_plus_one": real_or_complex(np.log1p, complex_functions.log_plus_one),
        "logistic": real_or_complex(_logistic, complex_functions.logistic),
        "map": map_,
        "maximum": exact(maximum),
        "minimum": exact(minimum),
        "multiply": exact(np.multiply),
        "negate": exact(np.negative),
        "not": exact(np.invert),
        "or": exact(np.bitwise_or),
        "power": _by_kind(integer_power, rounded(np.power)),
        "real": real,
        "reduce_precision": reduce_precision,
        "remainder": _by_kind(integer_remainder, rounded(np.fmod)),
        "round_nearest_afz": rounded(_round_away),
        "round_nearest_even": exact(np.rint),
        "rsqrt": real_or_complex(_rsqrt, complex_functions.rsqrt),
        "select": select,
        "sign": exact(_sign),
        "sine": rounded(np.sin),
        "sqrt": rounded(np.sqrt),
        "subtract": exact(_subtract),
        "tan": rounded(np.tan),
        "tanh": rounded(np.tanh),
        "xor": exact(np.bitwise_xor),
    },
)
"""The function of each op."""
