"""Cumulative reductions along sharded dimensions, which XLA:TPU makes those of rows of 128.

    cumsum(x)  ->  rows = cumsum(x as [..., n / 128, 128]);  rows + cumsum of the last of each row before

The dimension becomes the last one before, and returns to its place behind. So devices exchange totals of rows
instead of all elements. It does so before it partitions. Source: openxla/xla, `TryOptimizeCumSumOrProd` in
xla/hlo/transforms/expanders/reduce_window_rewriter.cc. Tilings are those that reshapes of the result's give.
Not here: dimensions that 128 does not divide, scans that the program writes itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import gcd

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import (
    BroadcastInDimOp,
    ReduceWindowOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.prepare.cumulative_rows import ROW, cumulative_along
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Shape, Tiling


def in_rows(step: PlannedOp, combiner: str | None) -> Sequence[PlannedOp]:
    """Returns the steps that stand for a cumulative reduction; () for others, and along whole dimensions.

    combiner: the op that combines two elements.
    """
    dimension, (target, *_) = cumulative_along(step.record), step.targets
    type_ = step.record.results[0]
    if dimension is None or combiner is None or target is None or type_ is None:
        return ()
    size = type_.shape[dimension] or 0
    if size <= ROW or size % ROW or target.dimensions[dimension] == 1:
        return ()
    return _Rows(step, combiner, type_.element).made(dimension, size)


@dataclass
class _Rows:
    """Makes the steps of one reduction."""

    step: PlannedOp
    combiner: str
    element: str
    steps: list[PlannedOp] = field(default_factory=list[PlannedOp])

    def made(self, dimension: int, size: int) -> Sequence[PlannedOp]:
        """The steps; the last one has the result of the reduction."""
        value, start = self.step.operands
        whole, target = self.step.record.results[0], self.step.targets[0]
        assert whole is not None
        assert target is not None
        shape, rank = tuple(each or 0 for each in whole.shape), whole.rank
        order = (*(i for i in range(rank) if i != dimension), dimension)
        last, tiling = tuple(shape[i] for i in order), target.transposed(order)
        if dimension != rank - 1:
            value = self._add(TransposeOp.name, (value,), shape, last, tiling, {"permutation": order})
        rows = size // ROW
        split = (*last[:-1], rows, ROW)
        apart = tiling.split(rank - 1, gcd(tiling.dimensions[-1], rows))
        value = self._add(ReshapeOp.name, (value,), last, split, apart)
        value = self._add(
            ReduceWindowOp.name, (value, start), split, split, apart, _windows(split, rank, ROW, 1)
        )
        ends, totals = (*split[:-1], 1), split[:-1]
        at = {
            "start_indices": (0,) * rank + (ROW - 1,),
            "limit_indices": split,
            "strides": (1,) * (rank + 1),
        }
        last_of_rows = self._add(SliceOp.name, (value,), split, ends, apart, at)
        of_rows = apart.replicated_on([rank]).without_dimensions([rank])
        before = self._add(ReshapeOp.name, (last_of_rows,), ends, totals, of_rows)
        more = (*totals[:-1], rows + 1)
        before = self._add(
            ReduceWindowOp.name, (before, start), totals, more, of_rows, _windows(totals, rank - 1, rows, 0)
        )
        first = {"start_indices": (0,) * rank, "limit_indices": totals, "strides": (1,) * rank}
        before = self._add(SliceOp.name, (before,), more, totals, of_rows, first)
        where = {"broadcast_dimensions": tuple(range(rank))}
        before = self._add(BroadcastInDimOp.name, (before,), totals, split, apart, where)
        value = self._add(self.combiner, (value, before), split, split, apart)
        if dimension == rank - 1:
            self._add(ReshapeOp.name, (value,), split, last, target, name=self.step.results[0])
            return self.steps
        value = self._add(ReshapeOp.name, (value,), split, last, tiling)
        back = {"permutation": tuple(order.index(i) for i in range(rank))}
        self._add(TransposeOp.name, (value,), last, shape, target, back, name=self.step.results[0])
        return self.steps

    def _add(
        self,
        op: str,
        operands: tuple[Name, ...],
        held: Shape,
        made: Shape,
        target: Tiling,
        attributes: Mapping[str, object] | None = None,
        name: Name = None,
    ) -> Name:
        """The name of the result of a step that is added."""
        is_window = op == ReduceWindowOp.name
        types = [TensorType(held, self.element)] * (1 if is_window else len(operands))
        scalars = [TensorType((), self.element)] if is_window else []
        record = OpRecord(op, (*types, *scalars), (TensorType(made, self.element),), dict(attributes or {}))
        result: Name = (self.step.results[0], f"rows {len(self.steps)}") if name is None else name
        # Windows are those of the program's op, whose region combines elements.
        source = self.step.source if is_window else None
        self.steps.append(PlannedOp(record, operands, (result,), (target,), source=source))
        return result


def _windows(shape: Shape, dimension: int, size: int, is_inclusive: int) -> Mapping[str, object]:
    """The windows of elements up to each one, along a dimension, or of those before it."""
    ones = (1,) * len(shape)
    low = size - is_inclusive
    return {
        "window_dimensions": tuple(size if i == dimension else 1 for i in range(len(shape))),
        "window_strides": ones,
        "base_dilations": ones,
        "window_dilations": ones,
        "padding": tuple((low, 0) if i == dimension else (0, 0) for i in range(len(shape))),
    }
