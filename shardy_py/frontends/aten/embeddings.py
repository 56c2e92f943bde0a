"""ATen's bags of embeddings and their gradients: `ROWS` by name, as in `pointwise.py`.

A bag is a run of indices, whose embeddings are summed, averaged, or of which the greatest elements are taken.
Bags of one size, as of indices in two dimensions, are reduced along a dimension; others are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.api import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.distances import norm
from shardy_py.frontends.aten.elements import Maybe, Row, convert, filled, sizes
from shardy_py.frontends.aten.reductions import lowest
from shardy_py.frontends.aten.scatters import scatter_along
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce, reduce_sum, scatter
from shardy_py.frontends.builder.tensor import Operand, elementwise
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConstantOp, op_class
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers
from shardy_py.mlir.typed import property_of

_SUM, _MEAN, _MAX = 0, 1, 2
_Iota, _Multiply = op_class("iota"), op_class("multiply")


def _step(offsets: Tensor) -> int | None:
    """The size of bags whose offsets are an iota times a constant; None for other offsets."""
    owner = _defining_op(offsets.value)
    if isinstance(owner, _Iota):
        return 1
    if not isinstance(owner, _Multiply):
        return None
    count, factor = map(_defining_op, owner.operands)
    while isinstance(factor, BroadcastInDimOp):
        factor = _defining_op(factor.operands[0])
    if not (isinstance(count, _Iota) and isinstance(factor, ConstantOp)):
        return None
    value = property_of(factor, "value", DenseIntOrFPElementsAttr)
    numbers = {int(cast(int, number)) for number in value.get_values()}
    return numbers.pop() if len(numbers) == 1 else None


def _defining_op(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None


@dataclass(frozen=True)
class _Bags:
    """Runs of indices.

    count, number: of indices and of bags. step: the size of bags, if it is the same. offsets: their starts.
    """

    count: int
    number: int
    step: int | None
    offsets: Tensor

    @staticmethod
    def of(offsets: Tensor, count: int, number: int) -> _Bags:
        """The first bags of those that start at offsets."""
        step = _step(offsets)
        return _Bags(count, number, step if step is not None and step * number == count else None, offsets)

    def each(self) -> Tensor:
        """The bag of each index: the number of bags that start at or before it, less 1."""
        if self.step is not None:
            return ops.reshape(ops.iota((self.number, self.step), 0, "i64"), (self.count,))
        starts = ops.slice_(self.offsets, [0], [self.number])
        shape = (self.count, self.number)
        started = ops.compare(
            ops.broadcast_in_dim(starts, shape, (1,)), ops.iota(shape, 0, starts.element_type), "LE"
        )
        return reduce_sum(convert(started, "i64"), (1,)) - 1

    def reduced(self, rows: Tensor, op_name: str, start: Operand) -> Tensor:
        """Rows [count, ...] of each bag combined: [bags, ...]."""
        body, behind = partial(elementwise, op_name), sizes(rows.type)[1:]
        if self.step is not None:
            apart = ops.reshape(rows, (self.number, self.step, *behind))
            return reduce((apart,), (start,), (1,), body)[0]
        return _put(rows, self.each(), (self.number, *behind), op_name, start)

    def spread(self, values: Tensor) -> Tensor:
        """Values [bags, ...] for each index: [count, ...]."""
        if self.step is None:
            return ops.take(values, self.each())
        behind = sizes(values.type)[1:]
        wide = (self.number, self.step, *behind)
        apart = ops.broadcast_in_dim(values, wide, (0, *range(2, len(wide))))
        return ops.reshape(apart, (self.count, *behind))


def _put(rows: Tensor, places: Tensor, shape: Sequence[int], op_name: str, start: Operand) -> Tensor:
    """Rows combined with those at the same place: [places, ...]."""
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, rows.rank)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    initial = ops.constant(np.asarray(start), rows.element_type, tuple(shape))
    vectors = ops.reshape(places, (*sizes(places.type), 1))
    return scatter((initial,), vectors, (rows,), numbers, partial(elementwise, op_name))[0]


def _along_rows(vector: Tensor, width: int) -> Tensor:
    return ops.broadcast_in_dim(vector, (*sizes(vector.type), width), (0,))


def _kept(indices: Tensor, padding_idx: int) -> Tensor:
    """True if indices belong to their bags: all but `padding_idx`, or all if that is negative."""
    if padding_idx < 0:
        return filled(RankedTensorType(indices.shape, "i1"), True)
    return ops.compare(indices, padding_idx, "NE")


def _embedding_bag(
    out: Sequence[RankedTensorType],
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Maybe = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """The bags, the bag of each index, the sizes of bags, the indices of maxima, or the sizes again.

    offsets: where bags start. padding_idx: an index that belongs to no bag; none if negative.
    """
    number, width = sizes(out[0])
    count = sizes(indices.type)[0]
    bags = _Bags.of(offsets, count, number)
    rows = ops.take(weight, indices)
    if per_sample_weights is not None:
        rows = rows * _along_rows(per_sample_weights, width)
    kept = _kept(indices, padding_idx)
    op_name, start = ("maximum", lowest(weight.element_type)) if mode == _MAX else ("add", 0)
    rows = ops.select(_along_rows(kept, width), rows, start)
    extremes = result = bags.reduced(rows, op_name, start)
    numbers = bags.reduced(convert(kept, weight.element_type), "add", 0)
    spread = _along_rows(numbers, width)
    if mode == _MEAN:
        result = ops.divide(result, ops.maximum(spread, 1))
    elif mode == _MAX:
        result = ops.select(ops.compare(spread, 0, "EQ"), 0, result)
    has_bags = sizes(out[1]) == (count,)
    counts = filled(out[2], 0) if mode == _SUM else convert(numbers, out[2].element_type)
    if mode == _MAX and sizes(out[3]) == (number, width):
        maxima = _maxima(bags, rows, extremes, indices)
    else:
        maxima = counts if out[3].shape == counts.shape else filled(out[3], 0)
    return (
        result,
        convert(bags.each(), out[1].element_type) if has_bags else filled(out[1], 0),
        counts,
        convert(maxima, out[3].element_type),
    )


def _maxima(bags: _Bags, rows: Tensor, extremes: Tensor, indices: Tensor) -> Tensor:
    """The index of the first row of each bag that has the maximum: [bags, width]."""
    places = ops.iota(sizes(rows.type), 0, "i64")
    has_it = ops.compare(rows, bags.spread(extremes), "EQ")
    first = bags.reduced(ops.select(has_it, places, bags.count), "minimum", bags.count)
    # A sum of one index, not a lookup by place, so that indices are not gathered.
    is_first = ops.compare(places, bags.spread(first), "EQ")
    return bags.reduced(ops.select(is_first, _along_rows(indices, sizes(rows.type)[1]), 0), "add", 0)


def _embedding_bag_backward(
    out: RankedTensorType,
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Maybe,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the embeddings: that of each bag added to those of its indices.

    Raises `ShardyError` for sparse gradients. scale_grad_by_freq: divided by the number of an index's uses.
    """
    if sparse:
        raise ShardyError.unsupported("a sparse gradient", remedy="use an embedding bag with sparse=False")
    shape = sizes(out)
    bags = _Bags.of(offsets, sizes(indices.type)[0], sizes(grad.type)[0])
    kept = convert(_kept(indices, padding_idx), grad.element_type)
    numbers = bags.reduced(kept, "add", 0)
    if mode == _MAX:
        used = ops.select(_along_rows(ops.compare(numbers, 0, "NE"), shape[1]), grad, 0)
        return scatter_along(filled(out, 0), 0, maximum_indices, used, partial(elementwise, "add"))
    factor = kept if per_sample_weights is None else kept * per_sample_weights
    if mode == _MEAN:
        grad = ops.divide(grad, _along_rows(ops.maximum(numbers, 1), shape[1]))
    if scale_grad_by_freq:
        uses = _put(filled(kept.type, 1), indices, (num_weights,), "add", 0)
        factor = ops.divide(factor, ops.take(uses, indices))
    rows = bags.spread(grad) * _along_rows(factor, shape[1])
    return _put(rows, indices, shape, "add", 0)


def _weights_backward(
    out: RankedTensorType,
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the factors of indices: products of embeddings with the gradients of their bags."""
    bags = _Bags.of(offsets, sizes(indices.type)[0], sizes(grad.type)[0])
    products = reduce_sum(bags.spread(grad) * ops.take(weight, indices), (1,))
    return ops.select(_kept(indices, padding_idx), products, 0)


def _renormalized(
    out: RankedTensorType, self: Tensor, indices: Tensor, max_norm: float, norm_type: float
) -> Tensor:
    """The embeddings with those at indices scaled to at most a norm."""
    count, width = sizes(out)
    places = ops.reshape(indices, (-1,))
    ones = filled(RankedTensorType(places.shape, "f32"), 1)
    used = ops.compare(_put(ones, places, (count,), "maximum", 0), 0, "NE")
    norms = norm(self, norm_type)
    is_long = ops.and_(used, norms > max_norm)
    scale = ops.select(is_long, ops.divide(max_norm, norms + 1e-7), 1)
    return self * _along_rows(scale, width)


ROWS: dict[str, Row] = {
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _embedding_bag),
    "embedding_renorm": _renormalized,
    "_embedding_bag_backward": _embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward": _weights_backward,
}
"""The rows by the name of the op without overload."""
