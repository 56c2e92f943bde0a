"""ATen's pooling: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from shardy_py.frontends.aten.elements import Results, Row, filled, sizes
from shardy_py.frontends.aten.pointwise import trunc
from shardy_py.frontends.aten.products import window
from shardy_py.frontends.aten.reductions import first_greatest, lowest
from shardy_py.frontends.aten.shapes import along_dimension, indexed, part
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops, reduce, reduce_window
from shardy_py.frontends.builder.tensor import Operand, elementwise

Dims = int | Sequence[int] | None


def _pooled(
    self: Tensor, out: RankedTensorType, start: Operand, op_name: str, *window: Sequence[int]
) -> Tensor:
    """`op_name` over windows."""
    return _over_windows((self,), out, (start,), partial(elementwise, op_name), *window)[0]


def _over_windows(
    inputs: Sequence[Tensor],
    out: RankedTensorType,
    starts: Sequence[Operand],
    body: Callable[..., Results],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Tensor, ...]:
    """A reduction over windows; behind the tensors as much padding as the output's sizes need."""
    before = inputs[0].rank - len(kernel)
    shape, wanted = sizes(inputs[0].type)[before:], sizes(out)[before:]
    reach = [
        (n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(wanted, stride, dilation, kernel, strict=True)
    ]
    edges = [(p, max(r - n - p, 0)) for p, r, n in zip(padding, reach, shape, strict=True)]
    ones = (1,) * before
    return reduce_window(
        inputs,
        starts,
        body,
        (*ones, *kernel),
        window_strides=(*ones, *stride),
        window_dilations=(*ones, *dilation),
        padding=((0, 0),) * before + tuple(edges),
    )


def _max_pool(
    out: Sequence[RankedTensorType],
    self: Tensor,
    kernel_size: Dims,
    stride: Dims = (),
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    count: int = 2,
) -> Results:
    """The maxima, and where each is in the plane of its channel, row-major."""
    kernel = window(kernel_size or (), count)
    steps, pads, dilations = (
        window(stride or kernel, count),
        window(padding or 0, count),
        window(dilation or 1, count),
    )
    start, window_ = lowest(self.element_type), (kernel, steps, pads, dilations)
    values = _pooled(self, out[0], start, "maximum", *window_)
    starts = (start, np.iinfo(np.int64).max)
    return values, _over_windows((self, plane_places(self, count)), out[0], starts, first_greatest, *window_)[
        1
    ]


def plane_places(self: Tensor, count: int) -> Tensor:
    """The place of each element in the last `count` dimensions, row-major."""
    shape = sizes(self.type)
    places = ops.iota(shape, self.rank - 1, "i64")
    for d in range(self.rank - count, self.rank - 1):
        places = places + ops.iota(shape, d, "i64") * prod(shape[d + 1 :])
    return places


def _adaptive_max_pool(
    out: Sequence[RankedTensorType], self: Tensor, output_size: Dims
) -> tuple[Tensor, Tensor]:
    """The maxima of as many windows as asked for, of sizes that differ by at most 1, and their places."""
    count = len(window(output_size or (), 1))
    wanted = sizes(out[0])[-count:]
    values, places = self, plane_places(self, count)
    for number, parts in enumerate(wanted, self.rank - count):
        index = ops.constant(_windows(sizes(values.type)[number], parts))
        pair = [indexed(tensor, number, (index,)) for tensor in (values, places)]
        starts = (lowest(self.element_type), np.iinfo(np.int64).max)
        values, places = reduce(pair, starts, (number + 1,), first_greatest)
    return values, places


def _windows(size: int, parts: int) -> Operand:
    """[parts, length]: the indices of each window; shorter ones repeat their last index."""
    bounds = [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]
    length = max(limit - start for start, limit in bounds)
    return np.array([[min(start + i, limit - 1) for i in range(length)] for start, limit in bounds])


def _fractional_max_pool(
    out: Sequence[RankedTensorType],
    self: Tensor,
    kernel_size: Dims,
    output_size: Dims,
    random_samples: Tensor,
    *,
    count: int = 2,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows at random distances (Graham, 2014), and their places.

    random_samples: [N, C, dimensions], those of images the last dimension first.
    """
    kernel, wanted = window(kernel_size or (), count), sizes(out[0])[-count:]
    lead = self.rank - count
    values, places = self, plane_places(self, count)
    for d, (size, parts) in enumerate(zip(kernel, wanted, strict=True)):
        number, column = lead + d, count - 1 - d if count == 2 else d
        sample = ops.reshape(part(random_samples, 2, column, column + 1), sizes(random_samples.type)[:2])
        sample = sample if lead > 1 else ops.reshape(sample, sizes(random_samples.type)[1:2])
        starts = _random_starts(sample, sizes(self.type)[number], size, parts)
        offsets = ops.iota((*sizes(starts.type), size), lead + 1, "i64")
        index = ops.broadcast_in_dim(starts, sizes(offsets.type), range(lead + 1)) + offsets
        shape = sizes(values.type)
        along = (*shape[:number], parts * size, *shape[number + 1 :])
        flat = ops.reshape(index, (*shape[:lead], parts * size))
        spread = ops.broadcast_in_dim(flat, along, (*range(lead), number))
        windows = (*shape[:number], parts, size, *shape[number + 1 :])
        pair = [ops.reshape(along_dimension(t, number, spread), windows) for t in (values, places)]
        first = (lowest(self.element_type), np.iinfo(np.int64).max)
        values, places = reduce(pair, first, (number + 1,), first_greatest)
    return values, places


def _random_starts(sample: Tensor, size: int, kernel: int, parts: int) -> Tensor:
    """[N, C, parts]: where windows start, at distances that differ by 1; the last at the end."""
    shape = (*sizes(sample.type), parts)
    last = size - kernel
    if parts == 1:
        return filled(RankedTensorType(shape, "i64"), last)
    distance = last / (parts - 1)
    spread = ops.broadcast_in_dim(sample, shape, range(sample.rank))
    count = ops.iota(shape, sample.rank, sample.element_type)
    starts = trunc((count + spread) * distance) - trunc(spread * distance)
    is_last = ops.compare(count, float(parts - 1), "EQ")
    return ops.convert(ops.select(is_last, float(last), starts), "i64")


def _average_pool(
    out: RankedTensorType,
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


def _adaptive_average_pool(out: RankedTensorType, self: Tensor, output_size: Sequence[int]) -> Tensor:
    count = len(output_size)
    shape, wanted = sizes(self.type)[-count:], sizes(out)[-count:]
    if not any(n % w for n, w in zip(shape, wanted, strict=True)):
        kernel = [n // w for n, w in zip(shape, wanted, strict=True)]
        return _average_pool(out, self, kernel, count=count)
    for size, parts in zip(shape, wanted, strict=True):
        weights = ops.constant(averages(size, parts), self.element_type)
        self = dot_general(self, weights, ((self.rank - count,), (1,)))
    return self


def averages(size: int, parts: int) -> Operand:
    """[parts, size]: row i averages from floor(i size / parts) to before ceil((i + 1) size / parts)."""
    weights = np.zeros((parts, size))
    for i in range(parts):
        start, limit = i * size // parts, -(-(i + 1) * size // parts)
        weights[i, start:limit] = 1 / (limit - start)
    return weights


ROWS: dict[str, Row] = {
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_average_pool),
    **dict.fromkeys(("adaptive_max_pool2d", "adaptive_max_pool3d"), _adaptive_max_pool),
    "fractional_max_pool2d": _fractional_max_pool,
    "fractional_max_pool3d": partial(_fractional_max_pool, count=3),
    "avg_pool2d": _average_pool,
    "avg_pool3d": partial(_average_pool, count=3),
    "max_pool2d_with_indices": _max_pool,
    "max_pool3d_with_indices": partial(_max_pool, count=3),
}
"""The rows by the name of the op without overload."""
