"""ATen's ops that put elements into tensors: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shardy_py.api import ShardyError
from shardy_py.builder import Tensor, TensorType, ops, scatter
from shardy_py.builder.tensor import elementwise
from shardy_py.dialects.stablehlo.structs import ScatterDimensionNumbers
from shardy_py.frontends.aten.elements import convert, dimension, filled, sizes
from shardy_py.frontends.aten.shapes import index_vectors, neighbours

Combine = Callable[[Tensor, Tensor], Tensor]


def _latest(old: Tensor, new: Tensor) -> Tensor:
    return new


_COMBINE: dict[str, Combine] = {
    "amax": partial(elementwise, "maximum"),
    "amin": partial(elementwise, "minimum"),
    "prod": partial(elementwise, "multiply"),
    "sum": partial(elementwise, "add"),
}


def _along(self: Tensor, dim: int, index: Tensor, source: Any, combine: Combine) -> Tensor:
    """Each element of `source` goes to where it is in `self`, but along one dimension to its index."""
    number, rank = dimension(dim, self.rank), self.rank
    updates = _updates(source, self.element_type, sizes(index.type))
    if all(a == b for d, (a, b) in enumerate(zip(self.shape, index.shape, strict=True)) if d != number):
        others = tuple(d for d in range(rank) if d != number)
        vectors = ops.reshape(index, (*sizes(index.type), 1))
        numbers = ScatterDimensionNumbers(
            inserted_window_dims=(number,),
            input_batching_dims=others,
            scatter_indices_batching_dims=others,
            scatter_dims_to_operand_dims=(number,),
            index_vector_dim=rank,
        )
    else:
        parts = [
            index if d == number else ops.iota(sizes(index.type), d, index.element_type) for d in range(rank)
        ]
        shape = (*sizes(index.type), 1)
        vectors = ops.concatenate([ops.reshape(part, shape) for part in parts], rank)
        every = tuple(range(rank))
        numbers = ScatterDimensionNumbers(
            inserted_window_dims=every, scatter_dims_to_operand_dims=every, index_vector_dim=rank
        )
    return scatter((self,), vectors, (updates,), numbers, combine)[0]


def _updates(source: Any, element_type: str, shape: Sequence[int]) -> Tensor:
    """The part of `source` that the indices speak of; a number as often as needed."""
    if not isinstance(source, Tensor):
        return filled(TensorType(tuple(shape), element_type), source)
    found = source
    if sizes(source.type) != tuple(shape):
        found = ops.slice_(source, (0,) * len(shape), shape)
    return convert(found, element_type)


def _scatter(out: TensorType, self: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    return _along(self, dim, index, src, _latest)


def _scatter_add(out: TensorType, self: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    return _along(self, dim, index, src, _COMBINE["sum"])


def _scatter_reduce(
    out: TensorType,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    if reduce not in _COMBINE or not include_self:
        raise ShardyError(
            f"scatter_reduce is known for {', '.join(_COMBINE)}, with include_self; got: {reduce}, "
            f"include_self={include_self}"
        )
    return _along(self, dim, index, src, _COMBINE[reduce])


def _index_put(
    out: TensorType, self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """`self[:, i, j] = values`."""
    first, given = neighbours(indices)
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
    updates = ops.broadcast_to(convert(values, self.element_type), wanted)
    return scatter((self,), vectors, (updates,), numbers, _COMBINE["sum"] if accumulate else _latest)[0]


def _slice_scatter(
    out: TensorType,
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    number = dimension(dim, self.rank)
    low = slice(start, end).indices(sizes(self.type)[number])[0]
    if step != 1:
        raise ShardyError(f"slice_scatter is known for steps of 1; got: {step}")
    return _placed(self, src, number, low)


def _select_scatter(out: TensorType, self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    number, shape = dimension(dim, self.rank), list(sizes(self.type))
    place = dimension(index, shape[number])
    shape[number] = 1
    return _placed(self, ops.reshape(src, shape), number, place)


def _placed(self: Tensor, part: Tensor, number: int, offset: int) -> Tensor:
    starts = [ops.constant(offset if d == number else 0, "i32", ()) for d in range(self.rank)]
    return ops.dynamic_update_slice(self, convert(part, self.element_type), starts)


ROWS: dict[str, Callable[..., Any]] = {
    "index_put": _index_put,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "scatter_reduce": _scatter_reduce,
    "select_scatter": _select_scatter,
    "slice_scatter": _slice_scatter,
}
"""The rows by the name of the op without overload."""
