"""ATen's fake quantization, and quantized tensors of `quantized_decomposed`: `ROWS` by full name.

A quantum is round(x / scale) + zero_point within bounds; its number is (quantum - zero_point) * scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardy_py.frontends.aten.elements import Maybe, Row, convert, dimension, is_float, sizes
from shardy_py.frontends.aten.products import along
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops

Scale = float | Tensor


def _spread(value: object, axis: int | None, like: Tensor) -> Any:
    """A scale or zero point for every element: one for all, or one for each index along a dimension."""
    if not isinstance(value, Tensor):
        return value
    value = value if is_float(value.element_type) else convert(value, "f32")
    value = convert(value, like.element_type)
    if axis is None:
        return ops.broadcast_to(ops.reshape(value, ()), sizes(like.type))
    return along(value, dimension(axis, like.rank), sizes(like.type))


def _quanta(self: Tensor, scale: Scale, zero_point: object, axis: int | None) -> Tensor:
    scales, zeros = _spread(scale, axis, self), _spread(zero_point, axis, self)
    # torch multiplies by the inverse of the scale.
    inverse = ops.divide(1, scales) if isinstance(scales, Tensor) else 1 / scales
    zeros = zeros if isinstance(zeros, Tensor) else float(zeros)
    return ops.round_nearest_even(self * inverse) + zeros


def _faked(
    self: Tensor, scale: Scale, zero_point: object, low: int, high: int, axis: int | None = None
) -> tuple[Tensor, Tensor]:
    """Numbers rounded to those of quanta, and whether each is within bounds."""
    quanta = _quanta(self, scale, zero_point, axis)
    mask = ops.and_(quanta >= float(low), quanta <= float(high))
    kept = ops.clamp(float(low), quanta, float(high))
    zeros = _spread(zero_point, axis, self)
    zeros = zeros if isinstance(zeros, Tensor) else float(zeros)
    return (kept - zeros) * _spread(scale, axis, self), mask


def _fake_tensor(
    out: Sequence[RankedTensorType],
    self: Tensor,
    scale: Scale,
    zero_point: object,
    quant_min: int,
    quant_max: int,
) -> tuple[Tensor, Tensor]:
    return _faked(self, scale, zero_point, quant_min, quant_max)


def _fake_tensor_qparams(
    out: Sequence[RankedTensorType],
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    fake_quant_enabled: Tensor,
    quant_min: int,
    quant_max: int,
) -> tuple[Tensor, Tensor]:
    """The numbers themselves unless quantization is enabled."""
    found, mask = _faked(self, scale, zero_point, quant_min, quant_max)
    enabled = ops.compare(ops.reshape(fake_quant_enabled, ()), 0, "NE")
    enabled = ops.broadcast_to(enabled, sizes(out[0]))
    return ops.select(enabled, found, self), ops.or_(mask, ops.not_(enabled))


def _fake_channel(
    out: Sequence[RankedTensorType],
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> tuple[Tensor, Tensor]:
    return _faked(self, scale, zero_point, quant_min, quant_max, axis)


def _quantize(
    out: RankedTensorType,
    input: Tensor,
    scale: Scale,
    zero_point: object,
    low: float,
    high: float,
    *_: object,
    axis: int | None = None,
) -> Tensor:
    quanta = _quanta(input, scale, zero_point, axis)
    return ops.convert(ops.clamp(float(low), quanta, float(high)), out.element_type)


def _quantize_channel(
    out: RankedTensorType,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    low: int,
    high: int,
    *_: object,
) -> Tensor:
    return _quantize(out, input, convert(scales, "f32"), zero_points, low, high, axis=axis)


def _dequantize(
    out: RankedTensorType,
    input: Tensor,
    scale: Scale,
    zero_point: object,
    *_: object,
    axis: int | None = None,
    **__: object,
) -> Tensor:
    numbers = ops.convert(input, out.element_type)
    zeros = _spread(zero_point, axis, numbers)
    zeros = zeros if isinstance(zeros, Tensor) or zeros is None else float(zeros)
    shifted = numbers if zeros is None else numbers - zeros
    return shifted * _spread(scale, axis, numbers)


def _dequantize_channel(
    out: RankedTensorType,
    input: Tensor,
    scales: Tensor,
    zero_points: Maybe,
    axis: int,
    *_: object,
    **__: object,
) -> Tensor:
    return _dequantize(out, input, scales, zero_points, axis=axis)


ROWS: dict[str, Row] = {
    "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _fake_tensor_qparams,
    "aten.fake_quantize_per_channel_affine_cachemask": _fake_channel,
    "aten.fake_quantize_per_tensor_affine_cachemask": _fake_tensor,
    "quantized_decomposed.dequantize_per_channel": _dequantize_channel,
    "quantized_decomposed.dequantize_per_tensor": _dequantize,
    "quantized_decomposed.quantize_per_channel": _quantize_channel,
    "quantized_decomposed.quantize_per_tensor": _quantize,
}
"""The rows by namespace and name of the op."""
