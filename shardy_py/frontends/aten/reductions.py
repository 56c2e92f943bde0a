"""ATen's reductions, sums along dimensions, sorts: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from math import prod
from typing import Any

import numpy as np

from shardy_py.frontends.aten.elements import (
    Results,
    Row,
    convert,
    dimension,
    dimensions,
    filled,
    is_float,
    promoted,
    sizes,
    widened,
)
from shardy_py.frontends.aten.shapes import along_dimension, part
from shardy_py.frontends.builder import (
    RankedTensorType,
    Tensor,
    ops,
    reduce,
    reduce_max,
    reduce_min,
    reduce_sum,
    reduce_window,
    sort,
)
from shardy_py.frontends.builder.regions import bounds
from shardy_py.frontends.builder.tensor import Operand, elementwise

Dims = int | Sequence[int] | None
Start = Callable[[str], Operand]
"""The initial value of a reduction, by the element type."""


def lowest(element_type: str) -> Operand:
    """The smallest number of an element type: the initial value of a maximum."""
    return bounds(element_type)[0]


def highest(element_type: str) -> Operand:
    """The largest number of an element type: the initial value of a minimum."""
    return bounds(element_type)[1]


def _reduction(op_name: str, start: Start) -> Callable[..., Tensor]:
    """A reduction over some dimensions, or all; they stay with size 1 if the output type has them."""

    def row(out: RankedTensorType, self: Tensor, dim: Dims = None, *_: object, **__: object) -> Tensor:
        self = convert(self, out.element_type)
        over = dimensions(dim, self.rank)
        return shaped(
            reduce((self,), (start(out.element_type),), over, partial(elementwise, op_name))[0], out
        )

    return row


def shaped(tensor: Tensor, out: RankedTensorType) -> Tensor:
    """The elements in the shape of a type, and in its element type."""
    result = convert(tensor, out.element_type)
    return result if result.shape == out.shape else ops.reshape(result, sizes(out))


def spread(reduced: Tensor, over: Sequence[int], shape: Sequence[int]) -> Tensor:
    """The result of a reduction, repeated along the dimensions that it was over."""
    return ops.broadcast_in_dim(reduced, shape, [d for d in range(len(shape)) if d not in over])


def mean_over(self: Tensor, over: Sequence[int]) -> Tensor:
    """The mean over dimensions."""
    return reduce_sum(self, over) / float(prod(sizes(self.type)[d] for d in over))


def _mean(out: RankedTensorType, self: Tensor, dim: Dims = None, *_: object, **__: object) -> Tensor:
    (self,) = widened(convert(self, out.element_type))
    return shaped(mean_over(self, dimensions(dim, self.rank)), out)


def _variance(
    out: RankedTensorType,
    self: Tensor,
    dim: Dims = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor:
    (self,) = widened(self)
    over, shape = dimensions(dim, self.rank), sizes(self.type)
    count = prod(shape[d] for d in over)
    centred = self - spread(mean_over(self, over), over, shape)
    total = reduce_sum(centred * centred, over)
    return shaped(total / float(max(count - (1 if correction is None else correction), 0)), out)


def _variance_mean(
    out: Sequence[RankedTensorType], self: Tensor, dim: Dims = None, **options: Any
) -> Results:
    return _variance(out[0], self, dim, **options), _mean(out[1], self, dim)


def _log_softmax(out: RankedTensorType, self: Tensor, dim: int, *_: object, **__: object) -> Tensor:
    """self - log(sum(exp(self)))."""
    (self,) = widened(convert(self, out.element_type))
    over, shape = dimensions(dim, self.rank), sizes(self.type)
    peak = reduce_max(self, over)
    shifted = self - spread(peak, over, shape)
    total = ops.log(reduce_sum(ops.exponential(shifted), over)) + peak
    return convert(self - spread(total, over, shape), out.element_type)


def _softmax(out: RankedTensorType, self: Tensor, dim: int, *_: object, **__: object) -> Tensor:
    (self,) = widened(convert(self, out.element_type))
    return convert(softmax(self, dimension(dim, self.rank)), out.element_type)


def softmax(operand: Tensor, dimension: int, *, empty_rows: bool = False) -> Tensor:
    """exp(x - max) / sum; empty_rows: rows that are all -inf give 0."""
    shape, over = sizes(operand.type), (dimension,)
    peak = reduce_max(operand, over)
    if empty_rows:
        peak = _replaced(peak, -np.inf, 0)
    weights = ops.exponential(operand - spread(peak, over, shape))
    total = reduce_sum(weights, over)
    if empty_rows:
        total = _replaced(total, 0, 1)
    return weights / spread(total, over, shape)


def _replaced(operand: Tensor, old: float, new: float) -> Tensor:
    """The tensor with `new` in place of `old`."""
    return ops.select(ops.compare(operand, old, "EQ"), new, operand)


def _leads(direction: str, value: Tensor, other: Tensor) -> Tensor:
    """Compares greater (GT) or less (LT), with NaN before all other elements."""
    leads = ops.compare(value, other, direction)
    if not is_float(value.element_type):
        return leads
    return ops.or_(leads, ops.and_(ops.compare(value, value, "NE"), ops.compare(other, other, "EQ")))


def _better(
    direction: str, value: Tensor, place: Tensor, other: Tensor, other_place: Tensor
) -> tuple[Tensor, Tensor]:
    """The element that leads of two, with its place; of equal ones the first."""
    behind = _leads(direction, other, value)
    first = ops.or_(_leads(direction, value, other), ops.and_(ops.not_(behind), place < other_place))
    return ops.select(first, value, other), ops.select(first, place, other_place)


first_greatest = partial(_better, "GT")
"""The greater of two elements with their places, for a reduction."""


def extremes(direction: str, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The first greatest (GT) or smallest (LT) elements along a dimension, and their indices."""
    number = dimension(dim, self.rank)
    start = bounds(self.element_type)[direction == "LT"]
    count = ops.iota(sizes(self.type), number, "i64")
    values, places = reduce(
        (self, count), (start, np.iinfo(np.int64).max), (number,), partial(_better, direction)
    )
    return values, places


def _argument(direction: str) -> Callable[..., Tensor]:
    def row(out: RankedTensorType, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        self, dim = (ops.reshape(self, (-1,)), 0) if dim is None else (self, dim)
        return shaped(extremes(direction, self, dim)[1], out)

    return row


def _extreme(direction: str, whole: Callable[..., Tensor]) -> Row:
    """`max` and `min`: one value of all elements, or values and indices along a dimension."""

    def row(out: Any, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Results:
        if dim is None:
            return whole(out, self)
        return tuple(starmap(shaped, zip(extremes(direction, self, dim), out, strict=True)))

    return row


def _sort(
    out: Sequence[RankedTensorType],
    self: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = True,
) -> tuple[Tensor, ...]:
    return sorted_along(self, dimension(dim, self.rank), descending=descending)


def sorted_along(self: Tensor, number: int, *, descending: bool = False) -> tuple[Tensor, ...]:
    """The elements along a dimension in order, equal ones in theirs, and their indices."""
    count = ops.iota(sizes(self.type), number, "i64")

    def comes_first(value: Tensor, other: Tensor, place: Tensor, other_place: Tensor) -> Tensor:
        # NaN counts as the greatest.
        return _leads("GT", value, other) if descending else _leads("GT", other, value)

    return sort((self, count), comes_first, dimension=number, is_stable=True)


def _top_k(
    out: Sequence[RankedTensorType],
    self: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[Tensor, ...]:
    number = dimension(dim, self.rank)
    return tuple(part(t, number, 0, k) for t in sorted_along(self, number, descending=largest))


def _cumulative(op_name: str, start: int) -> Callable[..., Tensor]:
    def row(out: RankedTensorType, self: Tensor, dim: int, **_: object) -> Tensor:
        self = convert(self, out.element_type)
        return cumulative(op_name, self, dimension(dim, self.rank), start) if self.rank else self

    return row


def cumulative(op_name: str, self: Tensor, number: int, start: int = 0) -> Tensor:
    """Each element combined with all before it along a dimension."""
    return _running(partial(elementwise, op_name), self, number, start)


def _running(body: Callable[..., Operand], self: Tensor, number: int, start: Operand) -> Tensor:
    size = sizes(self.type)[number]
    return reduce_window(
        (self,),
        (start,),
        body,
        [size if d == number else 1 for d in range(self.rank)],
        padding=[(size - 1, 0) if d == number else (0, 0) for d in range(self.rank)],
    )[0]


def _log_cumulative_sum(out: RankedTensorType, self: Tensor, dim: int) -> Tensor:
    """The logarithm of the sum of exponentials so far."""

    def added(one: Tensor, other: Tensor) -> Tensor:
        greater = ops.maximum(one, other)
        total = greater + ops.log_plus_one(ops.exponential(-ops.abs(one - other)))
        return ops.select(ops.compare(one, other, "EQ"), greater + float(np.log(2)), total)

    if not self.rank:
        return self
    (wide,) = widened(self)
    return convert(_running(added, wide, dimension(dim, self.rank), -np.inf), out.element_type)


def _cumulative_extreme(direction: str) -> Callable[..., tuple[Tensor, ...]]:
    """The greatest (GE) or smallest (LE) element so far along a dimension, and the index of the last such."""

    def later(value: Tensor, place: Tensor, other: Tensor, other_place: Tensor) -> tuple[Tensor, Tensor]:
        strict = "GT" if direction == "GE" else "LT"
        ahead, behind = _leads(strict, value, other), _leads(strict, other, value)
        kept = ops.or_(ahead, ops.and_(ops.not_(behind), place > other_place))
        return ops.select(kept, value, other), ops.select(kept, place, other_place)

    def row(out: Sequence[RankedTensorType], self: Tensor, dim: int) -> tuple[Tensor, ...]:
        if not self.rank:
            return self, filled(out[1], 0)
        number, shape = dimension(dim, self.rank), sizes(self.type)
        size, start = shape[number], bounds(self.element_type)[direction == "LE"]
        return reduce_window(
            (self, ops.iota(shape, number, "i64")),
            (start, np.iinfo(np.int64).min),
            later,
            [size if d == number else 1 for d in range(self.rank)],
            padding=[(size - 1, 0) if d == number else (0, 0) for d in range(self.rank)],
        )

    return row


def _ranks(sequence: Tensor, values: Tensor, element_type: str, direction: str) -> Tensor:
    """The number of elements of each sorted sequence that are less (LT) than a value, or not greater (LE).

    sequence: one for all values, or one for each leading index. Compares all pairs, so dimensions stay apart.
    """
    shape = (*sizes(values.type), sizes(sequence.type)[-1])
    rank = values.rank
    lead = range(rank - 1) if sequence.rank > 1 else ()
    spread = ops.broadcast_in_dim(sequence, shape, (*lead, rank))
    smaller = ops.compare(spread, ops.broadcast_in_dim(values, shape, range(rank)), direction)
    return reduce_sum(convert(smaller, element_type), (rank,))


def _search_sorted(
    out: RankedTensorType,
    sorted_sequence: Tensor,
    self: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The positions of values in sorted sequences; right: behind equal elements."""
    if sorter is not None:
        sorted_sequence = along_dimension(sorted_sequence, sorted_sequence.rank - 1, sorter)
    values = (
        self if isinstance(self, Tensor) else filled(RankedTensorType((), sorted_sequence.element_type), self)
    )
    sequence, values = promoted(sorted_sequence, values)
    return _ranks(sequence, values, out.element_type, "LE" if right or side == "right" else "LT")


def _bucketize(
    out: RankedTensorType, self: Operand, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    return _search_sorted(out, boundaries, self, right=right)


def _repeated(out: RankedTensorType, repeats: Tensor, *_: object, **__: object) -> Tensor:
    """Each index as often as its number of repeats says, of which the sum is known."""
    ends = cumulative("add", repeats, 0)
    return _ranks(ends, ops.iota(sizes(out), 0, ends.element_type), out.element_type, "LE")


def _histogram(
    out: RankedTensorType, self: Tensor, bins: int = 100, min: float = 0, max: float = 0
) -> Tensor:
    """The number of elements in each of equal intervals; the last one includes its end.

    Equal bounds stand for the smallest and the largest element; if these are equal, for 1 less and 1 more.
    """
    flat = ops.reshape(self, (-1,))
    low, high = (
        filled(RankedTensorType((), flat.element_type), min),
        filled(RankedTensorType((), flat.element_type), max),
    )
    if min == max:
        low, high = reduce_min(flat, (0,)), reduce_max(flat, (0,))
        is_one = ops.compare(low, high, "EQ")
        low, high = ops.select(is_one, low - 1, low), ops.select(is_one, high + 1, high)
    inside = ops.and_(flat >= low, flat <= high)
    place = ops.floor((flat - low) * float(bins) / (high - low))
    place = ops.minimum(place, float(bins - 1))
    place = ops.select(inside, place, -1)
    shape = (bins, sizes(flat.type)[0])
    hits = ops.compare(ops.broadcast_in_dim(place, shape, (1,)), ops.iota(shape, 0, place.element_type), "EQ")
    return reduce_sum(convert(hits, out.element_type), (1,))


_MAXIMUM, _MINIMUM = _reduction("maximum", lowest), _reduction("minimum", highest)
ROWS: dict[str, Row] = {
    "_is_all_true": _reduction("and", lambda _: True),
    "_is_any_true": _reduction("or", lambda _: False),
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "amax": _MAXIMUM,
    "amin": _MINIMUM,
    "any": _reduction("or", lambda _: False),
    "argmax": _argument("GT"),
    "argmin": _argument("LT"),
    "bucketize": _bucketize,
    "cummax": _cumulative_extreme("GE"),
    "cummin": _cumulative_extreme("LE"),
    "cumprod": _cumulative("multiply", 1),
    "cumsum": _cumulative("add", 0),
    "histc": _histogram,
    "logcumsumexp": _log_cumulative_sum,
    "max": _extreme("GT", _MAXIMUM),
    "mean": _mean,
    "min": _extreme("LT", _MINIMUM),
    "prod": _reduction("multiply", lambda _: 1),
    "repeat_interleave": _repeated,
    "searchsorted": _search_sorted,
    "sort": _sort,
    "sum": _reduction("add", lambda _: 0),
    "topk": _top_k,
    "var": _variance,
    "var_mean": _variance_mean,
}
"""The rows by the name of the op without overload."""
