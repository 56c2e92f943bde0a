"""ATen's reductions, normalisations and pooling: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from shardy_py.builder import (
    Tensor,
    TensorType,
    dot_general,
    ops,
    reduce,
    reduce_max,
    reduce_sum,
    reduce_window,
    sort,
)
from shardy_py.builder.tensor import elementwise
from shardy_py.frontends.aten.elements import (
    convert,
    dimension,
    dimensions,
    filled,
    highest,
    lowest,
    sizes,
)
from shardy_py.frontends.aten.products import along, softmax, window
from shardy_py.frontends.aten.shapes import part

Dims = int | Sequence[int] | None


def _reduction(op_name: str, start: Callable[[str], Any]) -> Callable[..., Tensor]:
    """A reduction over some dimensions, or all; the output type says whether they stay, of size 1."""

    def row(out: TensorType, self: Tensor, dim: Dims = None, *_: Any, **__: Any) -> Tensor:
        self = convert(self, out.element_type)
        over = dimensions(dim, self.rank)
        found = reduce((self,), (start(out.element_type),), over, partial(elementwise, op_name))[0]
        return _shaped(found, out)

    return row


def _always(start: Any) -> Callable[[str], Any]:
    return lambda element_type: start


def _shaped(tensor: Tensor, out: TensorType) -> Tensor:
    return tensor if tensor.shape == out.shape else ops.reshape(tensor, sizes(out))


_SUM = _reduction("add", _always(0))


def _mean(out: TensorType, self: Tensor, dim: Dims = None, *_: Any, **__: Any) -> Tensor:
    count = prod(sizes(self.type)[d] for d in dimensions(dim, self.rank))
    return _SUM(out, self, dim) / float(count)


def _variance(
    out: TensorType, self: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    over = dimensions(dim, self.rank)
    count = prod(sizes(self.type)[d] for d in over)
    spread = self - _mean_over(self, over)
    total = reduce_sum(spread * spread, over)
    return _shaped(total / float(max(count - (1 if correction is None else correction), 0)), out)


def _mean_over(self: Tensor, over: Sequence[int]) -> Tensor:
    """The mean over dimensions, repeated along them."""
    shape = sizes(self.type)
    mean = reduce_sum(self, over) / float(prod(shape[d] for d in over))
    return ops.broadcast_in_dim(mean, shape, [d for d in range(self.rank) if d not in over])


def _variance_mean(out: Sequence[TensorType], self: Tensor, dim: Dims = None, **options: Any) -> Any:
    return _variance(out[0], self, dim, **options), _mean(out[1], self, dim)


def _logarithm_of_sum(self: Tensor, over: Sequence[int]) -> Tensor:
    """log(sum(exp(self))) over dimensions."""
    peak = reduce_max(self, over)
    kept = [d for d in range(self.rank) if d not in over]
    shifted = self - ops.broadcast_in_dim(peak, sizes(self.type), kept)
    return ops.log(reduce_sum(ops.exponential(shifted), over)) + peak


def _log_softmax(out: TensorType, self: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    self = convert(self, out.element_type)
    over = dimensions(dim, self.rank)
    kept = [d for d in range(self.rank) if d not in over]
    return self - ops.broadcast_in_dim(_logarithm_of_sum(self, over), sizes(self.type), kept)


def _softmax(out: TensorType, self: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    return softmax(convert(self, out.element_type), dimension(dim, self.rank))


def _logsumexp(out: TensorType, self: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    return _shaped(_logarithm_of_sum(self, dimensions(dim, self.rank)), out)


def _places(direction: str) -> Callable[..., tuple[Tensor, Tensor]]:
    """The first greatest (GE) or smallest (LE) elements along a dimension, and where they are."""

    def found(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        start = lowest(self.element_type) if direction == "GE" else highest(self.element_type)

        def better(value: Tensor, place: Tensor, other: Tensor, other_place: Tensor) -> tuple[Tensor, Tensor]:
            equal = ops.and_(ops.compare(value, other, "EQ"), place < other_place)
            first = ops.or_(ops.compare(value, other, "GT" if direction == "GE" else "LT"), equal)
            return ops.select(first, value, other), ops.select(first, place, other_place)

        count = ops.iota(sizes(self.type), dim, "i64")
        values, places = reduce((self, count), (start, np.iinfo(np.int64).max), (dim,), better)
        return values, places

    return found


def _argument(direction: str) -> Callable[..., Tensor]:
    def row(out: TensorType, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if dim is None:
            self, dim = ops.reshape(self, (-1,)), 0
        return _shaped(_places(direction)(self, dimension(dim, self.rank))[1], out)

    return row


def _extreme(direction: str, whole: Callable[..., Tensor]) -> Callable[..., Any]:
    """`max` and `min`: of everything one value; along a dimension values and where they are."""

    def row(out: Any, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return whole(out, self)
        found = _places(direction)(self, dimension(dim, self.rank))
        return tuple(_shaped(tensor, type_) for tensor, type_ in zip(found, out, strict=True))

    return row


def _sort(
    out: Sequence[TensorType], self: Tensor, dim: int = -1, descending: bool = False, stable: bool = True
) -> tuple[Tensor, ...]:
    number = dimension(dim, self.rank)
    count = ops.iota(sizes(self.type), number, "i64")
    direction = "GT" if descending else "LT"

    def comes_first(value: Tensor, other: Tensor, place: Tensor, other_place: Tensor) -> Tensor:
        return ops.compare(value, other, direction)

    return sort((self, count), comes_first, dimension=number, is_stable=True)


def _top_k(
    out: Sequence[TensorType], self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]:
    number = dimension(dim, self.rank)
    return tuple(part(t, number, 0, k) for t in _sort(out, self, number, largest))


def _cumulative_sum(out: TensorType, self: Tensor, dim: int, **_: Any) -> Tensor:
    self = convert(self, out.element_type)
    if self.rank == 0:
        return self
    number = dimension(dim, self.rank)
    size = sizes(self.type)[number]
    return reduce_window(
        (self,),
        (0,),
        partial(elementwise, "add"),
        [size if d == number else 1 for d in range(self.rank)],
        padding=[(size - 1, 0) if d == number else (0, 0) for d in range(self.rank)],
    )[0]


# ---------------------------------------------------------------------- normalisation


def _normalized(input: Tensor, over: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(input - mean) / sqrt(variance + eps) over dimensions; the mean; 1 / sqrt(variance + eps)."""
    shape = sizes(input.type)
    count = float(prod(shape[d] for d in over))
    kept = [d for d in range(input.rank) if d not in over]
    mean = reduce_sum(input, over) / count
    centred = input - ops.broadcast_in_dim(mean, shape, kept)
    rstd = ops.rsqrt(reduce_sum(centred * centred, over) / count + eps)
    return centred * ops.broadcast_in_dim(rstd, shape, kept), mean, rstd


def _layer_norm(
    out: Any,
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Any:
    """`layer_norm`, and `native_layer_norm`, which gives mean and reciprocal deviation, too."""
    over = range(input.rank - len(normalized_shape), input.rank)
    found, mean, rstd = _normalized(input, over, eps)
    found = found if weight is None else found * weight
    found = found if bias is None else found + bias
    if isinstance(out, TensorType):
        return found
    return found, _shaped(mean, out[1]), _shaped(rstd, out[2])


def _group_norm(
    out: Sequence[TensorType],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, ...]:
    grouped = ops.reshape(input, (N, group, C // group, *sizes(input.type)[2:]))
    found, mean, rstd = _normalized(grouped, range(2, grouped.rank), eps)
    found = ops.reshape(found, sizes(out[0]))
    found = found if weight is None else found * along(weight, 1, sizes(out[0]))
    found = found if bias is None else found + along(bias, 1, sizes(out[0]))
    return found, _shaped(mean, out[1]), _shaped(rstd, out[2])


def _batch_norm_inference(
    out: Sequence[TensorType],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    shape = sizes(out[0])
    scale = ops.rsqrt(running_var + eps)
    scale = scale if weight is None else scale * weight
    found = (input - along(running_mean, 1, shape)) * along(scale, 1, shape)
    found = found if bias is None else found + along(bias, 1, shape)
    return found, *(filled(type_, 0) for type_ in out[1:])


# ---------------------------------------------------------------------- pooling


def _pooled(
    self: Tensor,
    out: TensorType,
    start: Any,
    op_name: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """`op_name` over windows; behind the tensor as much padding as the output's sizes need."""
    before = self.rank - len(kernel)
    shape, wanted = sizes(self.type)[before:], sizes(out)[before:]
    reach = [
        (n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(wanted, stride, dilation, kernel, strict=True)
    ]
    edges = [(p, max(r - n - p, 0)) for p, r, n in zip(padding, reach, shape, strict=True)]
    ones = (1,) * before
    return reduce_window(
        (self,),
        (start,),
        partial(elementwise, op_name),
        (*ones, *kernel),
        window_strides=(*ones, *stride),
        window_dilations=(*ones, *dilation),
        padding=((0, 0),) * before + tuple(edges),
    )[0]


def _max_pool(
    out: Any,
    self: Tensor,
    kernel_size: Dims,
    stride: Dims = (),
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    count: int = 2,
) -> Any:
    """`max_pool2d`, and `max_pool2d_with_indices` without the indices."""
    kernel = window(kernel_size or (), count)
    steps, pads, dilations = (
        window(stride or kernel, count),
        window(padding or 0, count),
        window(dilation or 1, count),
    )
    type_ = out if isinstance(out, TensorType) else out[0]
    found = _pooled(self, type_, lowest(self.element_type), "maximum", kernel, steps, pads, dilations)
    return found if isinstance(out, TensorType) else (found, None)


def _average_pool(
    out: TensorType,
    self: Tensor,
    kernel_size: Dims,
    stride: Dims = (),
    padding: Dims = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    count: int = 2,
) -> Tensor:
    kernel = window(kernel_size or (), count)
    steps, pads = window(stride or kernel, count), window(padding or 0, count)
    total = _pooled(self, out, 0, "add", kernel, steps, pads, (1,) * count)
    if divisor_override:
        return total / float(divisor_override)
    if not ceil_mode and (count_include_pad or not any(pads)):
        return total / float(prod(kernel))
    ones = filled(self.type, 1)
    if count_include_pad:
        low = [0] * (self.rank - count) + list(pads)
        ones, pads = ops.pad(ones, 1, low, low), (0,) * count
    return total / _pooled(ones, out, 0, "add", kernel, steps, pads, (1,) * count)


def _adaptive_average_pool(out: TensorType, self: Tensor, output_size: Sequence[int]) -> Tensor:
    count = len(output_size)
    shape, wanted = sizes(self.type)[-count:], sizes(out)[-count:]
    if not any(n % w for n, w in zip(shape, wanted, strict=True)):
        kernel = [n // w for n, w in zip(shape, wanted, strict=True)]
        return _average_pool(out, self, kernel, count=count)
    for size, parts in zip(shape, wanted, strict=True):
        weights = ops.constant(_averages(size, parts), self.element_type)
        self = dot_general(self, weights, ((self.rank - count,), (1,)))
    return self


def _averages(size: int, parts: int) -> Any:
    """[parts, size]: row i averages from floor(i size / parts) to before ceil((i + 1) size / parts)."""
    weights = np.zeros((parts, size))
    for i in range(parts):
        start, limit = i * size // parts, -(-(i + 1) * size // parts)
        weights[i, start:limit] = 1 / (limit - start)
    return weights


ROWS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("_softmax", "softmax"), _softmax),
    **dict.fromkeys(("_log_softmax", "log_softmax"), _log_softmax),
    **dict.fromkeys(("native_layer_norm", "layer_norm"), _layer_norm),
    **dict.fromkeys(("max_pool2d", "max_pool2d_with_indices"), _max_pool),
    **dict.fromkeys(("max_pool3d", "max_pool3d_with_indices"), partial(_max_pool, count=3)),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_average_pool),
    "_native_batch_norm_legit_no_training": _batch_norm_inference,
    "all": _reduction("and", _always(True)),
    "amax": _reduction("maximum", lowest),
    "amin": _reduction("minimum", highest),
    "any": _reduction("or", _always(False)),
    "argmax": _argument("GE"),
    "argmin": _argument("LE"),
    "avg_pool1d": partial(_average_pool, count=1),
    "avg_pool2d": _average_pool,
    "avg_pool3d": partial(_average_pool, count=3),
    "cumsum": _cumulative_sum,
    "logsumexp": _logsumexp,
    "max": _extreme("GE", _reduction("maximum", lowest)),
    "mean": _mean,
    "min": _extreme("LE", _reduction("minimum", highest)),
    "native_group_norm": _group_norm,
    "prod": _reduction("multiply", _always(1)),
    "sort": _sort,
    "sum": _SUM,
    "topk": _top_k,
    "var": _variance,
    "var_mean": _variance_mean,
}
"""The rows by the name of the op without overload."""
