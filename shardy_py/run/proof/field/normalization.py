"""Batch normalization in a field: its formulas, with the square root as a function."""

from __future__ import annotations

from math import prod

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import Array, Compute
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite


@dataclass(frozen=True, slots=True)
class _Batch:
    """The common part of the ops. shape: of features in the rank of the operand. axes: of the batch."""

    arithmetic: FieldArithmetic
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    count: Array
    epsilon: Array
    label: str

    @staticmethod
    def of(arithmetic: FieldArithmetic, site: FieldSite, operand: Array) -> _Batch:
        axis: int = site.record.attributes["feature_index"] + 1
        shape = (-1, *(operand.shape[axis] if d == axis else 1 for d in range(1, operand.ndim)))
        axes = tuple(d for d in range(1, operand.ndim) if d != axis)
        encoded = arithmetic.field.encoded
        count = encoded(np.array(float(prod(operand.shape[d] for d in axes))))
        epsilon = encoded(np.array(float(site.record.attributes["epsilon"])))
        return _Batch(arithmetic, shape, axes, count, epsilon, f"root {site.label}")

    def total(self, array: Array) -> Array:
        return self.arithmetic.ufunc(np.add).reduce(array, self.axes)

    def variance(self, variance: Array) -> Array:
        return self.arithmetic.field.add(variance.reshape(self.shape), self.epsilon)

    def deviation(self, variance: Array) -> Array:
        codes = self.arithmetic.codes(self.variance(variance))
        return self.arithmetic.residues(self.arithmetic.hashes.of(self.label, *codes))

    def normalized(self, operand: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Array:
        field = self.arithmetic.field
        centered = field.subtract(operand, mean.reshape(self.shape))
        result = self.arithmetic.divide(centered, self.deviation(variance))
        return field.add(field.multiply(result, scale.reshape(self.shape)), offset.reshape(self.shape))


def inference(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """StableHLO's specification, "batch_norm_inference"."""

    def compute(record: OpRecord, operand: Array, *others: Array) -> Array:
        return _Batch.of(arithmetic, site, operand).normalized(operand, *others)

    return compute


def training(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """StableHLO's specification, "batch_norm_training"."""

    def compute(record: OpRecord, operand: Array, scale: Array, offset: Array) -> tuple[Array, ...]:
        field, batch = arithmetic.field, _Batch.of(arithmetic, site, operand)
        mean = field.divide(batch.total(operand), batch.count)
        centered = field.subtract(operand, mean.reshape(batch.shape))
        variance = field.divide(batch.total(field.multiply(centered, centered)), batch.count)
        return batch.normalized(operand, scale, offset, mean, variance), mean, variance

    return compute


def grad(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """StableHLO's specification, "batch_norm_grad"."""

    def compute(
        record: OpRecord, operand: Array, scale: Array, mean: Array, variance: Array, output: Array
    ) -> tuple[Array, ...]:
        field, batch = arithmetic.field, _Batch.of(arithmetic, site, operand)
        shape, deviation = batch.shape, batch.deviation(variance)
        centered = field.subtract(operand, mean.reshape(shape))
        moment = batch.total(field.multiply(output, centered)).reshape(shape)
        moment = arithmetic.divide(field.multiply(moment, centered), batch.variance(variance))
        offset = batch.total(output)
        inner = field.subtract(field.multiply(output, batch.count), offset.reshape(shape))
        outer = field.divide(arithmetic.divide(scale.reshape(shape), deviation), batch.count)
        result = field.multiply(outer, field.subtract(inner, moment))
        return result, batch.total(field.multiply(output, arithmetic.divide(centered, deviation))), offset

    return compute
