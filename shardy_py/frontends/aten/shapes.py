"""ATen's ops that move, split, join and create tensors: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from shardy_py.frontends.aten.elements import Bound, Row, convert, converted, dimension, filled, sizes
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops
from shardy_py.frontends.builder.tensor import Operand
from shardy_py.frontends.builder.types import dtype_of
from shardy_py.mlir.dialects.stablehlo.structs import GatherDimensionNumbers


def _reshape(out: RankedTensorType, self: Tensor, *_: object, **__: object) -> Tensor:
    return self if self.shape == out.shape else ops.reshape(self, sizes(out))


def _same(out: RankedTensorType, self: Tensor, *_: object, **__: object) -> Tensor:
    return convert(self, out.element_type)


def part(self: Tensor, dim: int, start: int, limit: int, step: int = 1) -> Tensor:
    """The elements from `start` to before `limit` along one dimension."""
    shape = sizes(self.type)
    low, high, strides = [0] * self.rank, list(shape), [1] * self.rank
    low[dim], high[dim], strides[dim] = start, limit, step
    return self if (start, limit, step) == (0, shape[dim], 1) else ops.slice_(self, low, high, strides)


def _slice(
    out: RankedTensorType, self: Tensor, dim: int = 0, start: Bound = None, end: Bound = None, step: int = 1
) -> Tensor:
    number = dimension(dim, self.rank)
    low, high, step = slice(start, end, step).indices(sizes(self.type)[number])
    return part(self, number, low, max(low, high), step)


def _select(out: RankedTensorType, self: Tensor, dim: int, index: int | Tensor) -> Tensor:
    """`self[:, index]`; the index may be a number that is read from a tensor."""
    number = dimension(dim, self.rank)
    if isinstance(index, Tensor):
        return indexed(self, number, (index,))
    place = dimension(index, sizes(self.type)[number])
    return ops.reshape(part(self, number, place, place + 1), sizes(out))


def _split(out: Sequence[RankedTensorType], self: Tensor, _: object, dim: int = 0) -> tuple[Tensor, ...]:
    """In parts of the sizes that the output types have."""
    number = dimension(dim, self.rank)
    parts: list[Tensor] = []
    start = 0
    for type_ in out:
        limit = start + sizes(type_)[number]
        parts.append(part(self, number, start, limit))
        start = limit
    return tuple(parts)


def _concatenate(out: RankedTensorType, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    # Tensors of shape (0,) are ignored, as in torch.
    kept = [t for t in tensors if t.shape != (0,) or len(out.shape) == 1]
    parts = converted(out.element_type, *kept)
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, dimension(dim, len(out.shape)))


def _stack(out: RankedTensorType, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    number = dimension(dim, len(out.shape))
    shape = list(sizes(out))
    shape[number] = 1
    return _concatenate(out, [ops.reshape(tensor, shape) for tensor in tensors], number)


def _pad(out: RankedTensorType, self: Tensor, pad: Sequence[int], value: Operand = 0) -> Tensor:
    """`pad` holds low and high of the last dimension, then of the one before, ..."""
    low, high = [0] * self.rank, [0] * self.rank
    for i in range(len(pad) // 2):
        low[self.rank - 1 - i], high[self.rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return ops.pad(self, value, low, high)


def _repeat(out: RankedTensorType, self: Tensor, repeats: Sequence[int]) -> Tensor:
    shape = (*(1,) * (len(repeats) - self.rank), *sizes(self.type))
    wide = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    kept = [2 * i + 1 for i in range(len(repeats))]
    spread = ops.broadcast_in_dim(ops.reshape(self, shape), wide, kept)
    return ops.reshape(spread, sizes(out))


def _full(out: RankedTensorType, _: object, fill_value: Operand, **__: object) -> Tensor:
    if isinstance(fill_value, Tensor):
        return ops.broadcast_to(convert(fill_value, out.element_type), sizes(out))
    return filled(out, fill_value)


def _copy(out: RankedTensorType, self: Tensor, src: Tensor, *_: object) -> Tensor:
    return _full(out, None, src)


def _arange(out: RankedTensorType, *bounds: Operand, **_: object) -> Tensor:
    start, step = (bounds[0] if len(bounds) > 1 else 0), (bounds[2] if len(bounds) > 2 else 1)
    count = ops.iota(sizes(out), 0, out.element_type)
    count = count if step == 1 else count * step
    return count if start == 0 else count + start


def _index_select(out: RankedTensorType, self: Tensor, dim: int, index: Tensor) -> Tensor:
    return _reshape(out, indexed(self, dimension(dim, self.rank), (index,)))


def _index(out: RankedTensorType, self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """`self[:, i, j]`."""
    order, first, given = adjacent(indices, self.rank)
    return indexed(reordered(self, order), first, given)


def adjacent(indices: Sequence[Tensor | None], rank: int) -> tuple[list[int], int, list[Tensor]]:
    """The order of dimensions that makes those with indices adjacent, the first of them, all indices.

    If they are not adjacent already, they come first, as they do in the result (numpy, "Combining advanced
    and basic indexing").
    """
    given = {d: index for d, index in enumerate(indices) if index is not None}
    places = list(given)
    first = places[0] if places == list(range(places[0], places[0] + len(places))) else 0
    others = [d for d in range(rank) if d not in given]
    return [*others[:first], *places, *others[first:]], first, list(given.values())


def reordered(self: Tensor, order: Sequence[int]) -> Tensor:
    """The tensor with its dimensions in another order."""
    return self if list(order) == sorted(order) else ops.transpose(self, order)


def _diagonal(out: RankedTensorType, self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return diagonal(self, *(dimension(d, self.rank) for d in (dim1, dim2)), offset=offset)


def diagonal(self: Tensor, row: int, column: int, *, offset: int = 0) -> Tensor:
    """A diagonal of two dimensions, as the last dimension; it starts at row 0 and column `offset`.

    offset: if negative, it starts at column 0 and row `-offset`.
    """
    shape = sizes(self.type)
    last = reordered(self, [*(d for d in range(self.rank) if d not in (row, column)), row, column])
    size = max(min(shape[row] + min(offset, 0), shape[column] - max(offset, 0)), 0)
    if not size:
        return filled(RankedTensorType((*sizes(last.type)[:-2], 0), self.element_type), 0)
    count = ops.iota((size,), 0, "i64")
    places = [count - min(offset, 0) if offset < 0 else count, count + offset if offset > 0 else count]
    return indexed(last, self.rank - 2, places)


def _roll(
    out: RankedTensorType, self: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()
) -> Tensor:
    """Elements move by the shift along each dimension, those beyond its end to its start.

    Without dimensions, along the tensor as a vector.
    """
    if not isinstance(dims, int) and not dims:
        return ops.reshape(_roll(out, ops.reshape(self, (-1,)), shifts, (0,)), sizes(out))
    pairs = [(given,) if isinstance(given, int) else given for given in (shifts, dims)]
    for shift, dim in zip(*pairs, strict=True):
        number = dimension(dim, self.rank)
        size = sizes(self.type)[number]
        if size and (cut := -shift % size):
            parts = (part(self, number, cut, size), part(self, number, 0, cut))
            self = ops.concatenate(parts, number)
    return self


def _unbind(out: Sequence[RankedTensorType], self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_select(type_, self, dim, index) for index, type_ in enumerate(out))


def _unfold(out: RankedTensorType, self: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Windows along a dimension, their elements along a new last one."""
    number = dimension(dim, self.rank)
    shape = (sizes(out)[number], size)
    index = ops.iota(shape, 0, "i64") * step + ops.iota(shape, 1, "i64")
    windows = indexed(self, number, (index,))
    return ops.transpose(windows, [d for d in range(windows.rank) if d != number + 1] + [number + 1])


def indexed(self: Tensor, first: int, indices: Sequence[Tensor]) -> Tensor:
    """The elements at `indices` along dimensions from `first` on, which those of the indices replace."""
    count, shape = len(indices), sizes(self.type)
    starts = index_vectors(indices, shape[first : first + count])
    rank = starts.rank - 1
    numbers = GatherDimensionNumbers(
        offset_dims=(*range(first), *range(first + rank, rank + self.rank - count)),
        collapsed_slice_dims=tuple(range(first, first + count)),
        start_index_map=tuple(range(first, first + count)),
        index_vector_dim=rank,
    )
    window = tuple(1 if first <= d < first + count else size for d, size in enumerate(shape))
    return ops.gather(self, starts, numbers, window)


def index_vectors(indices: Sequence[Tensor], bounds: Sequence[int]) -> Tensor:
    """Tensors of indices, broadcast and joined in a new last dimension.

    bounds: the sizes of the indexed dimensions, for indices that count from the end.
    """
    common = np.broadcast_shapes(*(sizes(index.type) for index in indices))
    if len({index.element_type for index in indices}) > 1:
        indices = converted("i64", *indices)
    columns = [
        ops.reshape(ops.broadcast_to(ops.select(index < 0, index + size, index), common), (*common, 1))
        for index, size in zip(indices, bounds, strict=True)
    ]
    return columns[0] if len(columns) == 1 else ops.concatenate(columns, len(common))


def _gather(out: RankedTensorType, self: Tensor, dim: int, index: Tensor, **_: object) -> Tensor:
    """Along one dimension, at an index for each element of the result."""
    if not self.rank:
        return ops.broadcast_to(self, sizes(out))
    number = dimension(dim, self.rank)
    for d in range(self.rank):
        self = self if d == number else part(self, d, 0, sizes(out)[d])
    lifted = index if index.rank else ops.reshape(index, (1,))
    return _reshape(out, along_dimension(self, number, lifted))


def along_dimension(self: Tensor, number: int, index: Tensor) -> Tensor:
    """The elements at indices along one dimension; the other dimensions of both have the same sizes."""
    if 0 in index.shape:
        return filled(RankedTensorType(index.shape, self.element_type), 0)
    others = tuple(d for d in range(self.rank) if d != number)
    numbers = GatherDimensionNumbers(
        collapsed_slice_dims=(number,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        start_index_map=(number,),
        index_vector_dim=self.rank,
    )
    return ops.gather(self, ops.reshape(index, (*sizes(index.type), 1)), numbers, (1,) * self.rank)


def _empty(out: RankedTensorType, *_: object, **__: object) -> Tensor:
    """Unspecified numbers: zeros."""
    return filled(out, 0)


def _bit_cast(out: RankedTensorType, self: Tensor, *_: object) -> Tensor:
    """The bits as elements of another type; the last dimension shrinks or grows with their width."""
    before, after = (dtype_of(type_.element_type).itemsize for type_ in (self.type, out))
    shape = sizes(self.type)
    if before < after:
        ratio = after // before
        self = ops.reshape(self, (*shape[:-1], shape[-1] // ratio, ratio))
        return ops.bitcast_convert(self, out.element_type, sizes(out))
    if before == after:
        return ops.bitcast_convert(self, out.element_type)
    parts = ops.bitcast_convert(self, out.element_type, (*shape, before // after))
    return ops.reshape(parts, sizes(out))


def _diagonal_scatter(
    out: RankedTensorType, self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """The tensor with a diagonal of two dimensions replaced, which is the last dimension of `src`."""
    shape = sizes(out)
    row, column = (dimension(d, self.rank) for d in (dim1, dim2))
    along = row if offset >= 0 else column
    others = [d for d in range(self.rank) if d not in (row, column)]
    high = [0] * src.rank
    high[-1] = shape[along] - sizes(src.type)[-1]
    src = ops.pad(convert(src, self.element_type), 0, [0] * src.rank, high)
    spread = ops.broadcast_in_dim(src, shape, (*others, along))
    on_it = ops.compare(ops.iota(shape, column) - ops.iota(shape, row), offset, "EQ")
    return ops.select(on_it, spread, self)


def _resized(out: RankedTensorType, self: Tensor, *_: object, **__: object) -> Tensor:
    """The first elements in another shape; zeros, where torch has anything, behind them."""
    flat = ops.reshape(self, (-1,))
    (given,), wanted = sizes(flat.type), prod(sizes(out))
    flat = part(flat, 0, 0, wanted) if given >= wanted else ops.pad(flat, 0, [0], [wanted - given])
    return ops.reshape(flat, sizes(out))


def _embedding(out: RankedTensorType, weight: Tensor, indices: Tensor, *_: object, **__: object) -> Tensor:
    return ops.take(weight, indices)


def _scalar(out: RankedTensorType, s: Operand, **_: object) -> Tensor:
    return _full(out, None, s)


def _number(out: Operand, self: Tensor) -> Tensor:
    """A number read from a tensor: a tensor without dimensions, as which ops use it."""
    return ops.reshape(self, ()) if self.rank else self


def _expand(out: RankedTensorType, self: Tensor, *_: object, **__: object) -> Tensor:
    return ops.broadcast_to(self, sizes(out))


_OF_ONE: dict[str, Callable[[RankedTensorType, Tensor], Tensor]] = {
    "view_as_complex": lambda out, self: ops.complex(*(_select(out, self, -1, index) for index in (0, 1))),
    "view_as_real": lambda out, self: _stack(out, (ops.real(self), ops.imag(self)), -1),
}
_OF_DIMENSIONS: dict[str, Callable[[RankedTensorType, Tensor, Sequence[int]], Tensor]] = {
    "flip": lambda out, self, dims: ops.reverse(self, dims),
    "permute": lambda out, self, dims: ops.transpose(self, dims),
}
ROWS: dict[str, Row] = {
    "_local_scalar_dense": _number,
    **_OF_ONE,
    **_OF_DIMENSIONS,
    **dict.fromkeys(("view", "unsqueeze", "squeeze"), _reshape),
    **dict.fromkeys(("clone", "alias", "_to_copy"), _same),
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty_strided"), _empty),
    **dict.fromkeys(("full", "full_like"), _full),
    **dict.fromkeys(("resize", "resize_as"), _resized),
    "arange": _arange,
    "cat": _concatenate,
    "constant_pad_nd": _pad,
    "copy": _copy,
    "diagonal": _diagonal,
    "diagonal_scatter": _diagonal_scatter,
    "embedding": _embedding,
    "expand": _expand,
    "gather": _gather,
    "index": _index,
    "index_select": _index_select,
    "repeat": _repeat,
    "roll": _roll,
    "scalar_tensor": _scalar,
    "select": _select,
    "slice": _slice,
    "split_with_sizes": _split,
    "stack": _stack,
    "unbind": _unbind,
    "unfold": _unfold,
    "view.dtype": _bit_cast,
}
"""The rows by the name of the op without overload."""
