"""Quantized tensors: arrays of their storage type, `value = (stored - zero_point) * scale`.

    quantized(function)(record, *operands)    dequantizes, applies the function to floats, quantizes

Ops that move elements, and ops with regions, run on the stored integers. The forms are those of StableHLO's
specification, "Quantized types" and "Quantization computations".

>>> type_ = quantization("!quant.uniform<i8<-100:100>:f32:0, {0.1:-30, 0.5}>")
>>> type_.low, type_.high, type_.axis, type_.scales, type_.zero_points
(-100, 100, 0, (0.1, 0.5), (-30, 0))
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.compute.conversion import converted
from shardy_py.ops.compute.lanes import Array, Compute
from shardy_py.ops.compute.precision import Dtype
from shardy_py.ops.table import row_of


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantized element type.

    storage: the type of the stored integers, which are from `low` to `high`.
    expressed: the float type in MLIR's spelling, "f32".
    axis: the dimension along which scales differ; None: there is one scale.
    scales, zero_points: of each index of that dimension.
    """

    storage: Dtype
    low: int
    high: int
    expressed: str
    axis: int | None
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]


_FORM = re.compile(
    r"!quant\.uniform<(?P<storage>\w+)(?:<(?P<low>-?\d{1,18}):(?P<high>-?\d{1,18})>)?:(?P<expressed>\w+)(?::(?P<axis>\d{1,9}))?,"
    r"(?P<open>\{)?(?P<parameters>[^{}<>]+)(?(open)\})>"
)


@SESSION.cache(1024)
def quantization(spelling: str) -> Quantization:
    """Returns the element type of that spelling. Raises `ShardyError` for other forms than `uniform`."""
    found = _FORM.fullmatch(spelling.replace(" ", ""))
    if found is None:
        raise ShardyError.unsupported(f"computing with '{spelling}'")
    storage = element_type(found["storage"]).dtype
    info = ml_dtypes.iinfo(storage)
    parameters = [part.partition(":") for part in found["parameters"].split(",")]
    return Quantization(
        storage,
        int(info.min if found["low"] is None else found["low"]),
        int(info.max if found["high"] is None else found["high"]),
        found["expressed"],
        None if found["axis"] is None else int(found["axis"]),
        tuple(float(scale) for scale, _, _ in parameters),
        tuple(int(zero_point or 0) for _, _, zero_point in parameters),
    )


def is_quantized(type_: TensorType | None) -> bool:
    """True if a tensor has a quantized element type."""
    return type_ is not None and type_.element.startswith("!quant.")


@SESSION.cache(1024)
def _parameters(type_: Quantization, rank: int) -> tuple[Array, Array]:
    """The scales and zero points of a tensor of that rank, for arrays with an axis of lanes."""
    shape = [1] * (rank + 1)
    if type_.axis is not None:
        shape[type_.axis + 1] = len(type_.scales)
    scales = np.array(type_.scales, np.float64).astype(element_type(type_.expressed).dtype)
    return scales.reshape(shape), np.array(type_.zero_points, np.int64).reshape(shape)


def dequantized(operand: Array, type_: Quantization) -> Array:
    """Returns the floats that stored integers stand for."""
    scales, zero_points = _parameters(type_, operand.ndim - 1)
    # Sums with zero points do not fit the storage type.
    wide = np.int32 if type_.storage.itemsize < 4 else np.int64
    return (operand.astype(wide) - zero_points.astype(wide)).astype(scales.dtype) * scales


def quantize(operand: Array, type_: Quantization) -> Array:
    """Returns the stored integers nearest to floats."""
    scales, zero_points = _parameters(type_, operand.ndim - 1)
    dtype = scales.dtype.type
    stored = operand.astype(scales.dtype, copy=False) / scales + zero_points.astype(scales.dtype)
    bounded = np.minimum(np.maximum(stored, dtype(type_.low)), dtype(type_.high))
    return converted(np.rint(bounded), type_.storage)


def uniform_quantize(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "uniform_quantize"."""
    return _stored(_expressed(operand, record.operands[0]), record.results[0])


def uniform_dequantize(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "uniform_dequantize"."""
    return _expressed(operand, record.operands[0])


def _expressed(operand: Array, type_: TensorType | None) -> Array:
    """Returns an operand as floats, if it is quantized."""
    return dequantized(operand, quantization(type_.element)) if type_ and is_quantized(type_) else operand


def _stored(result: Array, type_: TensorType | None) -> Array:
    """Returns a result as stored integers, if its type is quantized."""
    return quantize(result, quantization(type_.element)) if type_ and is_quantized(type_) else result


_ON_STORAGE = {"stablehlo.bitcast_convert", "stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"}
"""Ops that treat quantized types themselves."""


def quantized(function: Compute) -> Compute:
    """Makes the function of an op on quantized tensors from that on floats."""

    def compute(record: OpRecord, *operands: Any) -> object:
        on_storage = record.name in _ON_STORAGE or row_of(record).moves_elements
        if on_storage or not all(isinstance(operand, np.ndarray) for operand in operands):
            return function(record, *operands)
        floats = map(_expressed, operands, record.operands)
        results: Array | tuple[Array, ...] = function(_float_record(record), *floats)
        if isinstance(results, tuple):
            return tuple(map(_stored, results, record.results))
        return _stored(results, record.results[0])

    return compute


def _float_record(record: OpRecord) -> OpRecord:
    operands, results = (tuple(map(_float_type, types)) for types in (record.operands, record.results))
    return replace(record, operands=operands, results=results)


def _float_type(type_: TensorType | None) -> TensorType | None:
    if type_ is None or not is_quantized(type_):
        return type_
    return replace(type_, element=quantization(type_.element).expressed)


COMPUTE: dict[str, Compute] = {
    "stablehlo.uniform_dequantize": uniform_dequantize,
    "stablehlo.uniform_quantize": uniform_quantize,
}
"""The function of each op."""
