"""ATen's order statistics, and ops along a dimension of tensors that have none: `ROWS` by name.

Not here: sorts (`reductions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from shardy_py.frontends.aten import reductions, scatters, shapes
from shardy_py.frontends.aten.elements import Results, Row, convert, dimension, is_float, sizes
from shardy_py.frontends.aten.reductions import extremes, shaped, sorted_along
from shardy_py.frontends.aten.shapes import along_dimension, part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_sum


def _kth_value(
    out: Sequence[RankedTensorType], self: Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Tensor, ...]:
    """The k-th smallest elements, counted from 1, and their indices."""
    number = dimension(dim, self.rank)
    found = (part(tensor, number, k - 1, k) for tensor in sorted_along(self, number))
    return tuple(shaped(tensor, type_) for tensor, type_ in zip(found, out, strict=True))


def _median(*, ignores_nan: bool) -> Row:
    """The middle element, of an even number the smaller; NaN if there is one, unless ignored."""

    def row(out: Any, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Results:
        operand = ops.reshape(self, (-1,)) if dim is None else self
        number = 0 if dim is None else dimension(dim, self.rank)
        size = sizes(operand.type)[number]
        values, places = sorted_along(operand, number)
        middle = (size - 1) // 2
        if not is_float(self.element_type):
            found = [part(tensor, number, middle, middle + 1) for tensor in (values, places)]
        else:
            # NaN comes last in the order.
            numbers = convert(ops.compare(values, values, "EQ"), "i64")
            shape = [1 if d == number else n for d, n in enumerate(sizes(operand.type))]
            count = ops.reshape(reduce_sum(numbers, (number,)), shape)
            inside = ops.maximum(ops.divide(count - 1, 2), 0)
            index = inside if ignores_nan else ops.select(ops.compare(count, size, "EQ"), inside, count)
            found = [along_dimension(tensor, number, index) for tensor in (values, places)]
        if dim is None:
            return shaped(found[0], out)
        return tuple(shaped(tensor, type_) for tensor, type_ in zip(found, out, strict=True))

    return row


def _mode(
    out: Sequence[RankedTensorType], self: Tensor, dim: int = -1, keepdim: bool = False
) -> tuple[Tensor, ...]:
    """The most frequent elements, of equally frequent ones the smallest, and the index of the last such."""
    number = dimension(dim, self.rank)
    values, places = sorted_along(self, number)
    shape = sizes(values.type)
    pairs = (*shape, shape[number])
    others = tuple(d for d in range(self.rank) if d != number)
    row = ops.broadcast_in_dim(values, pairs, range(self.rank))
    column = ops.broadcast_in_dim(values, pairs, [self.rank if d == number else d for d in range(self.rank)])
    before = ops.compare(ops.iota(pairs, self.rank), ops.iota(pairs, number), "LE")
    same = ops.and_(before, ops.compare(row, column, "EQ"))
    runs = reduce_sum(convert(same, "i64"), (self.rank,))
    _, last = extremes("GT", runs, number)
    index = ops.broadcast_in_dim(last, [1 if d == number else n for d, n in enumerate(shape)], others)
    found = (along_dimension(tensor, number, index) for tensor in (values, places))
    return tuple(shaped(tensor, type_) for tensor, type_ in zip(found, out, strict=True))


def _with_dimension(row: Callable[..., Any]) -> Row:
    """The row for tensors without dimensions, too, which count as one element along dimension 0."""

    def lifted(out: Any, self: Tensor, *arguments: object, **keywords: object) -> Results:
        if self.rank:
            return row(out, self, *arguments, **keywords)
        kept = [_lifted(argument) for argument in arguments]
        named = {name: _lifted(argument) for name, argument in keywords.items()}
        wide = (
            tuple(map(_one, cast("Sequence[RankedTensorType]", out))) if isinstance(out, tuple) else _one(out)
        )
        results = row(wide, _lifted(self), *kept, **named)
        if isinstance(out, tuple):
            return tuple(ops.reshape(each, ()) for each in results)
        return ops.reshape(results, sizes(out))

    return lifted


def _one(type_: RankedTensorType) -> RankedTensorType:
    return RankedTensorType(type_.shape or (1,), type_.element_type)


def _lifted(argument: object) -> object:
    return ops.reshape(argument, (1,)) if isinstance(argument, Tensor) and not argument.rank else argument


_ALONG = ("_log_softmax", "_softmax", "sort", "topk")
_MOVED = ("index_select", "unfold")
_PUT = ("index_reduce", "scatter", "scatter_add", "scatter_reduce")
ROWS: dict[str, Row] = {
    **{name: _with_dimension(reductions.ROWS[name]) for name in _ALONG},
    **{name: _with_dimension(scatters.ROWS[name]) for name in _PUT},
    **{name: _with_dimension(shapes.ROWS[name]) for name in _MOVED},
    **{f"{name}.dim": _with_dimension(reductions.ROWS[name]) for name in ("max", "min")},
    "mode": _with_dimension(_mode),
    "kthvalue": _with_dimension(_kth_value),
    "median": _median(ignores_nan=False),
    "median.dim": _with_dimension(_median(ignores_nan=False)),
    "nanmedian": _median(ignores_nan=True),
    "nanmedian.dim": _with_dimension(_median(ignores_nan=True)),
}
"""The rows by the name of the op, some with their overload."""
