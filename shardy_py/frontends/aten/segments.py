"""ATen's reductions of runs of a dimension, and histograms: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.frontends.aten.elements import Maybe, Row, convert, dimension, filled, sizes
from shardy_py.frontends.aten.reductions import cumulative
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import (
    RankedTensorType,
    Tensor,
    ops,
    reduce_max,
    reduce_min,
    reduce_sum,
    scatter,
)
from shardy_py.frontends.builder.tensor import Operand, elementwise
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers

_REDUCTIONS: dict[str, tuple[str, float]] = {
    "max": ("maximum", -np.inf),
    "mean": ("add", 0),
    "min": ("minimum", np.inf),
    "prod": ("multiply", 1),
    "sum": ("add", 0),
}
"""The combination of two elements, and what segments without elements have."""


def _segments(
    out: RankedTensorType,
    data: Tensor,
    reduce: str,
    *,
    lengths: Maybe = None,
    indices: Maybe = None,
    offsets: Maybe = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Operand | None = None,
) -> Tensor:
    """Each run of data along dimension 0 reduced; lengths: of the runs; offsets: their bounds."""
    counts, ends = _runs(data, lengths, offsets, axis)
    op_name, empty = _REDUCTIONS[reduce]
    start = empty if initial is None else initial
    found = _reduced(op_name, filled(out, start), _segment_of_each(ends, sizes(data.type)[0]), data)
    if reduce != "mean":
        return found
    spread = ops.broadcast_in_dim(convert(counts, out.element_type), sizes(out), (0,))
    is_empty = ops.compare(spread, 0, "EQ")
    none = np.nan if initial is None else initial
    return ops.select(is_empty, none, found / ops.select(is_empty, 1, spread))


def _runs(data: Tensor, lengths: Maybe, offsets: Maybe, axis: int) -> tuple[Tensor, Tensor]:
    """The lengths and the ends of segments. Raises `ShardyError` for segments of each of several batches."""
    bounds = offsets if lengths is None else lengths
    if bounds is None or dimension(axis, data.rank) or bounds.rank != 1:
        raise ShardyError.unsupported(
            "segment_reduce of several batches", remedy="use scatter_reduce with the segment of each element"
        )
    if lengths is not None:
        return lengths, cumulative("add", lengths, 0)
    count = sizes(bounds.type)[0]
    starts, ends = part(bounds, 0, 0, count - 1), part(bounds, 0, 1, count)
    return ends - starts, ends


def _reduced(op_name: str, start: Tensor, segments: Tensor, data: Tensor) -> Tensor:
    """The rows of data of each segment combined."""
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, data.rank)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    places = ops.reshape(segments, (-1, 1))
    return scatter((start,), places, (data,), numbers, partial(elementwise, op_name))[0]


def _segments_backward(
    out: RankedTensorType,
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Maybe = None,
    offsets: Maybe = None,
    axis: int = 0,
    initial: Operand | None = None,
) -> Tensor:
    """The gradient of each element: that of its segment, times the element's part in the result.

    Equal extremes share a positive one evenly. The part in a product is that of the others, without a
    division by zero.
    """
    counts, ends = _runs(data, lengths, offsets, axis)
    segments = _segment_of_each(ends, sizes(data.type)[0])
    total = sizes(output.type)[0]
    is_inside = ops.broadcast_in_dim(ops.compare(segments, total, "LT"), sizes(out), (0,))
    places = ops.minimum(segments, total - 1)

    def spread(per_segment: Tensor) -> Tensor:
        return ops.take(per_segment, places)

    def sums(elements: Tensor) -> Tensor:
        return _reduced("add", filled(output.type, 0), segments, elements)

    found = spread(grad)
    if reduce == "mean":
        count = ops.maximum(convert(counts, out.element_type), 1)
        found = found / spread(ops.broadcast_in_dim(count, sizes(output.type), (0,)))
    elif reduce in ("max", "min"):
        is_extreme = convert(ops.compare(data, spread(output), "EQ"), out.element_type)
        found = found * is_extreme
        # torch's kernels leave negative gradients undivided.
        found = ops.select(found > 0, found / ops.maximum(spread(sums(is_extreme)), 1), found)
    elif reduce == "prod":
        is_zero = ops.compare(data, 0, "EQ")
        start = filled(output.type, 1 if initial is None else initial)
        others = _reduced("multiply", start, segments, ops.select(is_zero, 1, data))
        zeros = spread(sums(convert(is_zero, out.element_type))) - convert(is_zero, out.element_type)
        product = ops.select(ops.compare(zeros, 0, "EQ"), spread(others), 0)
        found = found * product / ops.select(is_zero, 1, data)
    return ops.select(is_inside, found, 0)


def _segment_of_each(ends: Tensor, count: int) -> Tensor:
    """The number of segments that end at or before each place."""
    return _passed(ends, ops.iota((count,), 0, ends.element_type))


def _passed(bounds: Tensor, elements: Tensor) -> Tensor:
    """The number of bounds that each element is at or above."""
    shape = (*sizes(elements.type), *sizes(bounds.type))
    spread = ops.broadcast_in_dim(bounds, shape, (1,))
    passed = ops.compare(spread, ops.broadcast_in_dim(elements, shape, (0,)), "LE")
    return reduce_sum(convert(passed, "i64"), (1,))


# ---------------------------------------------------------------------- histograms


def _histogram(
    out: Sequence[RankedTensorType],
    self: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Maybe = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """The sum of weights between edges, given or equally spaced; the last interval includes its end."""
    flat = ops.reshape(self, (-1,))
    edges = bins if isinstance(bins, Tensor) else _equal_edges(flat, bins, range)
    (many,), (count,) = sizes(flat.type), sizes(out[0])
    shape = (count, many)
    low, high = (ops.broadcast_in_dim(part(edges, 0, s, s + count), shape, (0,)) for s in (0, 1))
    elements = ops.broadcast_in_dim(flat, shape, (1,))
    is_last = ops.compare(ops.iota(shape, 0, "i64"), count - 1, "EQ")
    below = ops.or_(elements < high, ops.and_(is_last, ops.compare(elements, high, "EQ")))
    inside = ops.and_(elements >= low, below)
    ones = filled(flat.type, 1) if weight is None else ops.reshape(weight, (-1,))
    found = reduce_sum(ops.select(inside, ops.broadcast_in_dim(ones, shape, (1,)), 0), (1,))
    if density:
        widths = part(edges, 0, 1, count + 1) - part(edges, 0, 0, count)
        found = found / ops.broadcast_to(reduce_sum(found, (0,)), sizes(found.type)) / widths
    return found, edges


def _equal_edges(flat: Tensor, bins: int, bounds: Sequence[float] | None) -> Tensor:
    """The ends of equal intervals from the smallest element to the largest, or between bounds."""
    if bounds is None:
        low, high = reduce_min(flat, (0,)), reduce_max(flat, (0,))
    else:
        low, high = (filled(RankedTensorType((), flat.element_type), bound) for bound in bounds)
    is_one = ops.compare(low, high, "EQ")
    low, high = ops.select(is_one, low - 0.5, low), ops.select(is_one, high + 0.5, high)
    low, high = (ops.broadcast_to(bound, (bins + 1,)) for bound in (low, high))
    count = ops.iota((bins + 1,), 0, flat.element_type)
    step = (high - low) / float(bins)
    return ops.select(count < (bins + 1) // 2, low + step * count, high - step * (float(bins) - count))


# ---------------------------------------------------------------------- histograms of points


def _edges_of_each(
    out: object,
    self: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    **_: object,
) -> tuple[Tensor, ...]:
    """The edges along each coordinate of points, which are the last dimension; range: two for each."""
    pairs = [None] * len(bins) if range is None else zip(range[::2], range[1::2], strict=True)
    return tuple(map(_equal_edges, _coordinates(self), bins, pairs))


def _coordinates(points: Tensor) -> list[Tensor]:
    count = sizes(points.type)[-1]
    flat = ops.reshape(points, (-1, count))
    return [ops.reshape(part(flat, 1, d, d + 1), (-1,)) for d in np.arange(count).tolist()]


def _of_points(
    out: RankedTensorType,
    self: Tensor,
    bins: Sequence[int] | Sequence[Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Maybe = None,
    density: bool = False,
) -> Tensor:
    """The sum of weights of the points in each box between edges, given or equally spaced."""
    given = [each for each in bins if isinstance(each, Tensor)]
    counts = [each for each in bins if isinstance(each, int)]
    edges = given or _edges_of_each(out, self, counts, range=range)
    columns = _coordinates(self)
    place, is_inside = filled(RankedTensorType(columns[0].shape, "i64"), 0), None
    for column, own, count in zip(columns, edges, sizes(out), strict=True):
        first, last = (
            ops.broadcast_to(ops.reshape(part(own, 0, i, i + 1), ()), sizes(column.type)) for i in (0, count)
        )
        inside = ops.and_(column >= first, column <= last)
        is_inside = inside if is_inside is None else ops.and_(is_inside, inside)
        # The last interval includes its end.
        number = ops.minimum(_passed(own, column) - 1, count - 1)
        place = place * count + number
    kept = place if is_inside is None else ops.select(is_inside, place, -1)
    ones = filled(columns[0].type, 1) if weight is None else ops.reshape(weight, (-1,))
    total = RankedTensorType((prod(sizes(out)),), out.element_type)
    found = ops.reshape(_reduced("add", filled(total, 0), kept, ones), sizes(out))
    if not density:
        return found
    found = found / ops.broadcast_to(reduce_sum(found), sizes(out))
    for d, own in enumerate(edges):
        count = sizes(out)[d]
        widths = part(own, 0, 1, count + 1) - part(own, 0, 0, count)
        found = found / ops.broadcast_in_dim(widths, sizes(out), (d,))
    return found


ROWS: dict[str, Row] = {
    "_histogramdd_bin_edges": _edges_of_each,
    "_histogramdd_from_bin_cts": _of_points,
    "_histogramdd_from_bin_tensors": _of_points,
    "_segment_reduce_backward": _segments_backward,
    "histogram": _histogram,
    "segment_reduce": _segments,
}
"""The rows by the name of the op without overload."""
