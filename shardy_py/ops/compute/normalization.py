"""Batch normalization: over all dimensions but that of the features.

Types narrower than f32 are computed in f32 and rounded once.
"""

from __future__ import annotations

from math import prod

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute.combining import wide_type
from shardy_py.ops.compute.lanes import Array, Compute


class _Batch:
    """Values that the ops share: shapes, sums over the batch, and the standard deviation."""

    def __init__(self, record: OpRecord, operand: Array) -> None:
        axis: int = record.attributes["feature_index"] + 1
        self._shape = (-1, *(operand.shape[axis] if d == axis else 1 for d in range(1, operand.ndim)))
        self._axes = tuple(d for d in range(1, operand.ndim) if d != axis)
        self.dtype, self.wide = operand.dtype, wide_type(operand.dtype)
        self._epsilon = self.wide.type(self.dtype.type(record.attributes["epsilon"]))
        self.count = self.wide.type(prod(operand.shape[d] for d in self._axes))

    def widened(self, array: Array) -> Array:
        """Returns an array in the type that is computed in."""
        return array.astype(self.wide, copy=False)

    def spread(self, features: Array) -> Array:
        """Returns (lanes, features) in the rank of the operand."""
        return self.widened(features).reshape(self._shape)

    def total(self, array: Array) -> Array:
        """Returns the sums (lanes, features)."""
        return np.add.reduce(array, self._axes)

    def variance(self, variance: Array) -> Array:
        """Returns the variance as it is divided by, in the rank of the operand."""
        return self.spread(variance) + self._epsilon

    def narrowed(self, *arrays: Array) -> tuple[Array, ...]:
        """Returns arrays in the operand's type."""
        return tuple(array.astype(self.dtype, copy=False) for array in arrays)


def batch_norm_inference(
    record: OpRecord, operand: Array, scale: Array, offset: Array, mean: Array, variance: Array
) -> Array:
    """StableHLO's specification, "batch_norm_inference"."""
    batch = _Batch(record, operand)
    return batch.narrowed(_normalized(batch, operand, scale, offset, mean, variance))[0]


def _normalized(
    batch: _Batch, operand: Array, scale: Array, offset: Array, mean: Array, variance: Array
) -> Array:
    result = batch.widened(operand) - batch.spread(mean)
    result = result / np.sqrt(batch.variance(variance))
    return result * batch.spread(scale) + batch.spread(offset)


def batch_norm_training(record: OpRecord, operand: Array, scale: Array, offset: Array) -> tuple[Array, ...]:
    """StableHLO's specification, "batch_norm_training"."""
    batch = _Batch(record, operand)
    wide = batch.widened(operand)
    mean = batch.total(wide) / batch.count
    variance = batch.total(np.square(wide - batch.spread(mean))) / batch.count
    return batch.narrowed(_normalized(batch, operand, scale, offset, mean, variance), mean, variance)


def batch_norm_grad(
    record: OpRecord, operand: Array, scale: Array, mean: Array, variance: Array, grad_output: Array
) -> tuple[Array, ...]:
    """StableHLO's specification, "batch_norm_grad"."""
    batch = _Batch(record, operand)
    grad = batch.widened(grad_output)
    centered = batch.widened(operand) - batch.spread(mean)
    deviation = np.sqrt(batch.variance(variance))
    moment = batch.spread(batch.total(grad * centered)) * centered / batch.variance(variance)
    grad_offset = batch.total(grad)
    inner = grad * batch.count - batch.spread(grad_offset) - moment
    grad_operand = batch.spread(scale) / deviation / batch.count * inner
    return batch.narrowed(grad_operand, batch.total(grad * (centered / deviation)), grad_offset)


COMPUTE: dict[str, Compute] = {
    "stablehlo.batch_norm_grad": batch_norm_grad,
    "stablehlo.batch_norm_inference": batch_norm_inference,
    "stablehlo.batch_norm_training": batch_norm_training,
}
"""The function of each op."""
