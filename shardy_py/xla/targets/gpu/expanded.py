"""Ops that XLA:GPU computes by others: sums along a dimension, ragged products, selections.

    reduce_window(x), whose windows end at each element  ->  add(sums in blocks, sums of the blocks before)
    ragged_dot(x, w)  ->  dot(x by group, 0 in other groups, w)
    top_k(x)  ->  slices of sort(x, iota), but where there is a kernel for it

Source: openxla/xla, xla/hlo/transforms/expanders/reduce_window_rewriter.cc,
xla/service/ragged_dot_rewriter.cc, xla/backends/gpu/transforms/topk_specializer.cc. Not here: other ops
(`graph.py`).

>>> from shardy_py.ops import TensorType
>>> type_ = TensorType((4, 64), "f32")
>>> attributes = {"window_dimensions": (1, 64), "padding": ((0, 0), (63, 0))}
>>> cumulative_dimension(OpRecord("stablehlo.reduce_window", (type_, None), (type_,), attributes))
1
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Protocol

from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.dialects.stablehlo import (
    AddOp,
    BroadcastInDimOp,
    ConcatenateOp,
    DotGeneralOp,
    ReduceWindowOp,
    ScatterOp,
    SliceOp,
)
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.reads import integers
from shardy_py.ops.table import call_target

BLOCK = 16
"""The elements that are added one after another; sums of blocks are added in the same way."""


_MOST_SELECTED, _LEAST_ROW = 16, 1024
"""The most elements that the kernel of a selection finds in a row, and the least of a row."""


def is_sorted_selection(record: OpRecord, source: TensorType | None) -> bool:
    """True for a selection of the largest elements of what a device holds for which it sorts them all.

    >>> call = OpRecord("chlo.top_k", (TensorType((4096,), "f32"),), (TensorType((8,), "f32"),), {"k": 8})
    >>> [is_sorted_selection(call, TensorType((size,), "f32")) for size in (1023, 1024)]
    [True, False]
    """
    is_called = call_target(record) in ("TopK", "mhlo.topk")
    made = record.results[0] if record.results else None
    if not (is_called or record.name == TopKOp.name) or source is None or made is None or not made.rank:
        return False
    selected, row = made.shape[-1] or 0, source.shape[-1] or 0
    is_simple = source.rank <= 2 and source.element in ("f32", "bf16")
    return not (is_simple and selected <= _MOST_SELECTED and row >= _LEAST_ROW)


class Ops(Protocol):
    """A graph to which ops are added."""

    def add(self, kind: str, reads: Sequence[int], type_: TensorType | None) -> int:
        """Adds an op and returns its number."""
        ...


class Elements(Ops, Protocol):
    """A graph in which ops may have several results."""

    def add_element(self, maker: int, position: int, type_: TensorType) -> int:
        """Adds one of the results of an op and returns its number."""
        ...


def cumulative_dimension(record: OpRecord) -> int | None:
    """The dimension along which windows have all elements up to each, or from each on; None for others."""
    type_, made = record.operands[0], record.results[0]
    window = integers(record.attributes, "window_dimensions")
    if len(record.results) != 1 or type_ is None or made is None or type_.shape != made.shape:
        return None
    wide = [d for d, size in enumerate(window) if size != 1]
    return wide[0] if len(wide) == 1 and window[wide[0]] == type_.shape[wide[0]] else None


def add_cumulative(graph: Ops, source: int, type_: TensorType, dimension: int) -> int:
    """Adds the sums of all elements up to each, and returns their number."""
    size = type_.shape[dimension] or 0
    inner = graph.add(ReduceWindowOp.name, (source,), type_)
    if size <= BLOCK:
        return inner
    shape = list(type_.shape)
    shape[dimension] = ceil(size / BLOCK)
    blocks = TensorType(tuple(shape), type_.element)
    ends = graph.add(SliceOp.name, (inner,), blocks)
    before = graph.add(BroadcastInDimOp.name, (add_cumulative(graph, ends, blocks, dimension),), type_)
    return graph.add(AddOp.name, (inner, before), type_)


def add_pooled_gradient(graph: Elements, reads: Sequence[int], pooled: TensorType, made: TensorType) -> int:
    """Adds a scatter to what each window selects, whose places a reduction of windows finds, and returns it.

    reads: what was pooled, the gradient, and what sums start with. Source: openxla/xla,
    xla/hlo/transforms/expanders/select_and_scatter_expander.cc.
    """
    windows = graph.add(ReduceWindowOp.name, reads[:1], None)
    places = TensorType(pooled.shape, "i32")
    types = pooled, *(places for _ in pooled.shape)
    found = [graph.add_element(windows, position, type_) for position, type_ in enumerate(types)]
    base = graph.add(BroadcastInDimOp.name, reads[2:3], made)
    return graph.add(ScatterOp.name, (base, *found, reads[1]), made)


def add_ragged(
    graph: Ops, reads: Sequence[int], types: Sequence[TensorType | None], made: TensorType
) -> int | None:
    """Adds a product of rows in groups, as one with all groups; None if a type is not known."""
    left, sizes = types[0], types[2]
    if left is None or sizes is None or not sizes.rank or left.rank < 2:
        return None
    groups = sizes.shape[-1] or 1
    *rows, depth = left.shape
    by_group = TensorType((*rows, groups, depth), left.element)
    # Each element is computed once, for its group, and no product reads it before: as in a concatenation.
    apart = graph.add(ConcatenateOp.name, (reads[0], reads[2]), by_group)
    return graph.add(DotGeneralOp.name, (apart, reads[1]), made)
