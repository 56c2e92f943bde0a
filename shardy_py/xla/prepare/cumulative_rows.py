"""Cumulative reductions as XLA:TPU makes them, before it propagates shardings: those of rows of 128.

    cumsum(x)  ->  rows = cumsum(x as [..., n / 128, 128]);  rows + cumsum of the last of each row before

The dimension becomes the last one before, and returns to its place behind, so devices exchange totals of rows
instead of all elements. Source: openxla/xla, `TryOptimizeCumSumOrProd` in
xla/hlo/transforms/expanders/reduce_window_rewriter.cc. Not here: dimensions that 128 does not divide, scans
that the program writes itself.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, Region, SSAValue

from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import combiners_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized
from shardy_py.ops import OpRecord
from shardy_py.xla.prepare import folding

ROW: Final = 128
"""The elements of a row."""
WINDOW = stablehlo.ReduceWindowOp.name


def cumulative_along(record: OpRecord) -> int | None:
    """Returns the dimension along which windows begin at the first element and end at each; None for others.

    >>> from shardy_py.ops import TensorType
    >>> x, zero = TensorType((4, 8), "f32"), TensorType((), "f32")
    >>> windows = {"window_dimensions": (1, 8), "padding": ((0, 0), (7, 0))}
    >>> cumulative_along(OpRecord(WINDOW, (x, zero), (x,), windows))
    1
    """
    types, windows = record.operands[:1], record.attributes.get("window_dimensions") or ()
    if len(record.results) != 1 or types[0] is None or record.results != types:
        return None
    along = [i for i, size in enumerate(windows) if size > 1]
    dilated = ("window_strides", "base_dilations", "window_dilations")
    if len(along) != 1 or any(set(record.attributes.get(name) or (1,)) != {1} for name in dilated):
        return None
    size = types[0].shape[along[0]] or 0
    padding = [(size - 1, 0) if i == along[0] else (0, 0) for i in range(len(windows))]
    is_whole = windows[along[0]] == size and [*record.attributes.get("padding", ())] == padding
    return along[0] if is_whole else None


def fold_cumulative(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A cumulative reduction as those of rows."""
    dimension, combined = cumulative_along(record_of(op)), combiners_of(op)
    if dimension is None or len(combined) != 1 or combined[0] is None:
        return None
    value = operands_of(op)[0]
    sizes = folding.sizes_of(value)
    size, rank = sizes[dimension], len(sizes)
    if size <= ROW or size % ROW:
        return None
    build = StablehloBuilder(before=op)
    order = (*(i for i in range(rank) if i != dimension), dimension)
    if dimension != rank - 1:
        value = build.transpose(value, order)
    last = tuple(sizes[i] for i in order)
    totals = (*last[:-1], size // ROW)
    rows = _cumulated(build, op, build.reshape(value, (*totals, ROW)), ROW, 1)
    ends = build.slice(rows, (0,) * rank + (ROW - 1,), (*totals, ROW))
    before = _cumulated(build, op, build.reshape(ends, totals), size // ROW, 0)
    before = build.slice(before, (0,) * rank, totals)
    spread = build.broadcast(before, (*totals, ROW), tuple(range(rank)))
    made = build.reshape(build.binary(combined[0].removeprefix("stablehlo."), rows, spread), last)
    return made if dimension == rank - 1 else build.transpose(made, [order.index(i) for i in range(rank)])


def _cumulated(
    build: StablehloBuilder, op: Operation, value: SSAValue, size: int, is_inclusive: int
) -> SSAValue:
    """The windows of elements up to each one along the last dimension, or of those before it."""
    shape, region = folding.sizes_of(value), Region()
    clone_region_into(op.regions[0], region, {})
    low, rank = size - is_inclusive, len(shape)
    made = build.insert(
        *("reduce_window", (value, operands_of(op)[1])),
        (resized(value, (*shape[:-1], shape[-1] + 1 - is_inclusive)),),
        (region,),
        window_dimensions=(*(1,) * (rank - 1), size),
        window_strides=(1,) * rank,
        base_dilations=(1,) * rank,
        window_dilations=(1,) * rank,
        padding=(*((0, 0),) * (rank - 1), (low, 0)),
    )
    return made.results[0]
