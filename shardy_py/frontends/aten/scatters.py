"""ATen's ops that put elements into tensors: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from shardy_py.api import ShardyError
from shardy_py.frontends.aten.elements import Bound, Row, convert, dimension, filled, is_float, sizes
from shardy_py.frontends.aten.pointwise import floor_quotient
from shardy_py.frontends.aten.reductions import cumulative, highest, lowest
from shardy_py.frontends.aten.shapes import adjacent, index_vectors, reordered
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, scatter
from shardy_py.frontends.builder.tensor import Operand, elementwise
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers

Combine = Callable[[Tensor, Tensor], Tensor]


def _latest(old: Tensor, new: Tensor) -> Tensor:
    return new


_ADD, _MULTIPLY = partial(elementwise, "add"), partial(elementwise, "multiply")

_REDUCTIONS: dict[str, tuple[Combine, Callable[[str], Operand]]] = {
    "add": (_ADD, lambda _: 0),
    "amax": (partial(elementwise, "maximum"), lowest),
    "amin": (partial(elementwise, "minimum"), highest),
    "mean": (_ADD, lambda _: 0),
    "multiply": (_MULTIPLY, lambda _: 1),
    "prod": (_MULTIPLY, lambda _: 1),
    "sum": (_ADD, lambda _: 0),
}
"""The combination of two elements, and the initial value of a reduction without the previous elements."""


def scatter_along(self: Tensor, dim: int, index: Tensor, source: Operand, combine: Combine) -> Tensor:
    """Puts each element of `source` at its own position in `self`, but at its index along one dimension."""
    number, rank = dimension(dim, self.rank), self.rank
    if index.rank < rank:  # one index without dimensions
        index = ops.reshape(index, (1,))
        source = ops.reshape(source, (1,)) if isinstance(source, Tensor) else source
    updates = _updates(source, self.element_type, sizes(index.type))
    others, shape = tuple(d for d in range(rank) if d != number), (*sizes(index.type), 1)
    if all(self.shape[d] == index.shape[d] for d in others):
        vectors = ops.reshape(index, shape)
        numbers = ScatterDimensionNumbers(
            inserted_window_dims=(number,),
            input_batching_dims=others,
            scatter_indices_batching_dims=others,
            scatter_dims_to_operand_dims=(number,),
            index_vector_dim=rank,
        )
    else:
        counts = {d: ops.iota(sizes(index.type), d, index.element_type) for d in others}
        parts = [ops.reshape(counts.get(d, index), shape) for d in range(rank)]
        vectors, every = ops.concatenate(parts, rank), tuple(range(rank))
        numbers = ScatterDimensionNumbers(
            inserted_window_dims=every, scatter_dims_to_operand_dims=every, index_vector_dim=rank
        )
    return scatter((self,), vectors, (updates,), numbers, combine)[0]


def _updates(source: Operand, element_type: str, shape: Sequence[int]) -> Tensor:
    """The part of `source` with the shape of the indices; a number is repeated."""
    if not isinstance(source, Tensor):
        return filled(RankedTensorType(tuple(shape), element_type), source)
    updates = source
    if sizes(source.type) != tuple(shape):
        updates = ops.slice_(source, (0,) * len(shape), shape)
    return convert(updates, element_type)


def _scatter(
    out: RankedTensorType, self: Tensor, dim: int, index: Tensor, src: Operand, *, reduce: str = ""
) -> Tensor:
    return scatter_along(self, dim, index, src, _REDUCTIONS[reduce][0] if reduce else _latest)


def _scatter_reduce(
    out: RankedTensorType,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Operand,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    combine, initial = _REDUCTIONS[reduce]
    start = self if include_self else scatter_along(self, dim, index, initial(self.element_type), _latest)
    result = scatter_along(start, dim, index, src, combine)
    if reduce != "mean":
        return result
    counts = ops.maximum(scatter_along(filled(self.type, int(include_self)), dim, index, 1, _ADD), 1)
    return result / counts if is_float(self.element_type) else floor_quotient(result, counts)


def _index_put(
    out: RankedTensorType,
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """`self[:, i, j] = values`."""
    order, first, given = adjacent(indices, self.rank)
    if any(index.element_type == "i1" for index in given):
        return _masked_put(self, first, given, values, accumulate)
    self = reordered(self, order)
    count, shape = len(given), sizes(self.type)
    vectors = index_vectors(given, shape[first : first + count])
    common = sizes(vectors.type)[:-1]
    window = (*shape[:first], *shape[first + count :])
    wanted = (*shape[:first], *common, *shape[first + count :])
    numbers = ScatterDimensionNumbers(
        update_window_dims=(*range(first), *range(first + len(common), len(common) + len(window))),
        inserted_window_dims=tuple(range(first, first + count)),
        scatter_dims_to_operand_dims=tuple(range(first, first + count)),
        index_vector_dim=len(common),
    )
    # torch allows more leading dimensions of size 1 than the index has.
    values = ops.reshape(values, sizes(values.type)[max(values.rank - len(wanted), 0) :])
    updates = ops.broadcast_to(convert(values, self.element_type), wanted)
    result = scatter((self,), vectors, (updates,), numbers, _ADD if accumulate else _latest)[0]
    return reordered(result, [order.index(d) for d in range(result.rank)])


def _masked_put(
    self: Tensor, first: int, masks: Sequence[Tensor], values: Tensor, accumulate: bool
) -> Tensor:
    """`self[:, mask] = values`, with one value for all elements of the mask."""
    mask, shape = masks[0], sizes(self.type)
    rank = self.rank - mask.rank + 1
    given = (*(1,) * (rank - values.rank), *sizes(values.type))
    if len(masks) > 1 or len(given) != rank or given[first] != 1:
        raise ShardyError(
            "a mask as index is supported alone, with one value for all its elements; "
            f"got {len(masks)} indices and values of shape {sizes(values.type)}; "
            "use torch.where or masked_scatter"
        )
    spread = ops.reshape(
        convert(values, self.element_type), (*given[:first], *(1,) * mask.rank, *given[first + 1 :])
    )
    chosen = ops.broadcast_in_dim(mask, shape, range(first, first + mask.rank))
    put = ops.broadcast_to(spread, shape)
    return ops.select(chosen, self + put if accumulate else put, self)


def _index_reduce(
    out: RankedTensorType,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """As `scatter_reduce`, with one index for all elements of a slice."""
    number = dimension(dim, self.rank)
    places = ops.broadcast_in_dim(index, sizes(source.type), (number,) if index.rank else ())
    return _scatter_reduce(out, self, number, places, source, reduce, include_self=include_self)


def _put(
    out: RankedTensorType, self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False
) -> Tensor:
    """Elements put at places of the tensor as a vector."""
    if 0 in index.shape:
        return self
    places, values = (ops.reshape(given, (-1,)) for given in (index, source))
    flat = ops.reshape(self, (-1,))
    flat_type = RankedTensorType(flat.shape, flat.element_type)
    return ops.reshape(_index_put(flat_type, flat, (places,), values, accumulate), sizes(out))


def _nonzero_places(out: RankedTensorType, self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` places that are not zero, row-major, a row each; `fill_value` behind them."""
    rank = self.rank
    if not rank:
        return filled(out, fill_value)
    flat = ops.reshape(convert(self, "i1"), (-1,))
    count = cumulative("add", convert(flat, "i64"), 0) - 1
    # Places beyond the last row go to one that is cut off.
    row = ops.minimum(ops.select(flat, count, size), size)
    columns = [ops.reshape(ops.iota(sizes(self.type), d, "i64"), (-1, 1)) for d in range(rank)]
    numbers = ScatterDimensionNumbers(
        update_window_dims=(1,),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    rows = filled(RankedTensorType((size + 1, rank), "i64"), fill_value)
    places = ops.concatenate(columns, 1) if rank > 1 else columns[0]
    (found,) = scatter((rows,), ops.reshape(row, (-1, 1)), (places,), numbers, _latest)
    return ops.slice_(found, (0, 0), (size, rank))


def _masked_scatter(out: RankedTensorType, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Puts the elements of `source` in order where the mask is true."""
    shape = sizes(out)
    mask = ops.broadcast_to(mask, shape)
    flat = convert(ops.reshape(mask, (-1,)), "i64")
    count = ops.maximum(cumulative("add", flat, 0) - 1, 0)
    chosen = ops.reshape(ops.take(ops.reshape(source, (-1,)), count), shape)
    return ops.select(mask, convert(chosen, self.element_type), ops.broadcast_to(self, shape))


def _masked_scatter_backward(
    out: RankedTensorType, grad_output: Tensor, mask: Tensor, size: Sequence[int]
) -> Tensor:
    """The elements of a gradient where the mask is true, in order; zeros behind them."""
    chosen = ops.reshape(ops.broadcast_to(mask, sizes(grad_output.type)), (-1,))
    count, shape = cumulative("add", convert(chosen, "i64"), 0) - 1, sizes(out)
    # Elements that are not chosen go to a place that is cut off.
    places = ops.reshape(ops.select(chosen, count, prod(shape)), (-1, 1))
    numbers = ScatterDimensionNumbers(
        inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1
    )
    start = filled(RankedTensorType((prod(shape) + 1,), out.element_type), 0)
    (found,) = scatter((start,), places, (ops.reshape(grad_output, (-1,)),), numbers, _latest)
    return ops.reshape(ops.slice_(found, (0,), (prod(shape),)), shape)


def _slice_scatter(
    _: RankedTensorType,
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: Bound = None,
    end: Bound = None,
    step: int = 1,
) -> Tensor:
    number, shape = dimension(dim, self.rank), sizes(self.type)
    low, high, step = slice(start, end, step).indices(shape[number])
    src = convert(src, self.element_type)
    if step == 1:
        starts = [ops.constant(low if d == number else 0, "i32", ()) for d in range(self.rank)]
        return ops.dynamic_update_slice(self, src, starts)
    places = ops.iota(shape, number) - low
    chosen = ops.and_(ops.compare(places % step, 0, "EQ"), ops.and_(places >= 0, places < high - low))
    count = sizes(src.type)[number]
    low_edge, high_edge, interior = ([0] * self.rank for _ in range(3))
    low_edge[number], interior[number] = low, step - 1
    high_edge[number] = shape[number] - low - (count - 1) * step - 1
    return ops.select(chosen, ops.pad(src, 0, low_edge, high_edge, interior), self)


ROWS: dict[str, Row] = {
    "index_put": _index_put,
    "index_reduce": _index_reduce,
    "masked_scatter": _masked_scatter,
    "masked_scatter_backward": _masked_scatter_backward,
    "nonzero_static": _nonzero_places,
    "put": _put,
    "scatter": _scatter,
    "scatter_add": partial(_scatter, reduce="add"),
    "scatter_reduce": _scatter_reduce,
    "slice_scatter": _slice_scatter,
}
"""The rows by the name of the op without overload."""
