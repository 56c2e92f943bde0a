"""ATen's bags of embeddings: `ROWS` by name, as in `pointwise.py`.

A bag is a run of indices, whose embeddings are summed, averaged, or of which the greatest elements are taken.
Bags of one size, as of indices in two dimensions, are reduced along a dimension; others are scattered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.builder import Tensor, TensorType, ops, reduce, reduce_sum, scatter
from shardy_py.builder.tensor import elementwise
from shardy_py.dialects.stablehlo import BroadcastInDimOp, ConstantOp, op_class
from shardy_py.dialects.stablehlo.structs import ScatterDimensionNumbers
from shardy_py.frontends.aten.elements import Maybe, convert, filled, sizes
from shardy_py.frontends.aten.reductions import lowest

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
    value = cast(DenseIntOrFPElementsAttr, factor.properties["value"])
    numbers = {int(cast(int, number)) for number in value.get_values()}
    return numbers.pop() if len(numbers) == 1 else None


def _defining_op(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) else None


def _embedding_bag(
    out: Sequence[TensorType],
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Maybe = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor | None, ...]:
    """The bags, and their sizes, which torch does not count for sums; not what the backward pass needs.

    offsets: where bags start. padding_idx: an index that belongs to no bag; none if negative.
    """
    bags, width = sizes(out[0])
    count = sizes(indices.type)[0]
    rows = ops.take(weight, indices)
    if per_sample_weights is not None:
        rows = rows * ops.broadcast_in_dim(per_sample_weights, (count, width), (0,))
    kept = filled(TensorType((count,), "i1"), True)
    if padding_idx >= 0:
        kept = ops.compare(indices, padding_idx, "NE")
    op_name, start = ("maximum", lowest(weight.element_type)) if mode == _MAX else ("add", 0)
    rows = ops.select(ops.broadcast_in_dim(kept, (count, width), (0,)), rows, start)
    ones = convert(kept, weight.element_type)
    step = _step(offsets)
    if step is not None and step * bags == count:
        result = reduce(
            (ops.reshape(rows, (bags, step, width)),), (start,), (1,), partial(elementwise, op_name)
        )[0]
        numbers = reduce_sum(ops.reshape(ones, (bags, step)), (1,))
    else:
        bag = _bag_of_each(offsets, count, bags)
        result = _scattered(rows, bag, (bags, width), op_name, start)
        numbers = _scattered(ones, bag, (bags,), "add", 0)
    spread = ops.broadcast_in_dim(numbers, (bags, width), (0,))
    if mode == _MEAN:
        result = ops.divide(result, ops.maximum(spread, 1))
    elif mode == _MAX:
        result = ops.select(ops.compare(spread, 0, "EQ"), 0, result)
    counts = filled(out[2], 0) if mode == _SUM else convert(numbers, out[2].element_type)
    return result, None, counts, None


def _bag_of_each(offsets: Tensor, count: int, bags: int) -> Tensor:
    """The bag of each index: the number of bags that start at or before it, less 1."""
    starts = ops.slice_(offsets, [0], [bags])
    shape = (count, bags)
    started = ops.compare(
        ops.broadcast_in_dim(starts, shape, (1,)), ops.iota(shape, 0, starts.element_type), "LE"
    )
    return reduce_sum(convert(started, "i64"), (1,)) - 1


def _scattered(rows: Tensor, bag: Tensor, shape: Sequence[int], op_name: str, start: Any) -> Tensor:
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, rows.rank)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    initial = ops.constant(np.asarray(start), rows.element_type, tuple(shape))
    places = ops.reshape(bag, (*sizes(bag.type), 1))
    return scatter((initial,), places, (rows,), numbers, partial(elementwise, op_name))[0]


ROWS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), _embedding_bag)
}
"""The rows by the name of the op without overload."""
