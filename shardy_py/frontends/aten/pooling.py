"""ATen's pooling: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from shardy_py.builder import Tensor, TensorType, dot_general, ops, reduce_window
from shardy_py.builder.tensor import elementwise
from shardy_py.frontends.aten.elements import filled, sizes
from shardy_py.frontends.aten.products import window
from shardy_py.frontends.aten.reductions import lowest

Dims = int | Sequence[int] | None


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
    out: Sequence[TensorType],
    self: Tensor,
    kernel_size: Dims,
    stride: Dims = (),
    padding: Dims = 0,
    dilation: Dims = 1,
    ceil_mode: bool = False,
    *,
    count: int = 2,
) -> Any:
    """The maxima, without the indices."""
    kernel = window(kernel_size or (), count)
    steps, pads, dilations = (
        window(stride or kernel, count),
        window(padding or 0, count),
        window(dilation or 1, count),
    )
    start = lowest(self.element_type)
    return _pooled(self, out[0], start, "maximum", kernel, steps, pads, dilations), None


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
        weights = ops.constant(averages(size, parts), self.element_type)
        self = dot_general(self, weights, ((self.rank - count,), (1,)))
    return self


def averages(size: int, parts: int) -> Any:
    """[parts, size]: row i averages from floor(i size / parts) to before ceil((i + 1) size / parts)."""
    weights = np.zeros((parts, size))
    for i in range(parts):
        start, limit = i * size // parts, -(-(i + 1) * size // parts)
        weights[i, start:limit] = 1 / (limit - start)
    return weights


ROWS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_average_pool),
    "avg_pool2d": _average_pool,
    "avg_pool3d": partial(_average_pool, count=3),
    "max_pool2d_with_indices": _max_pool,
    "max_pool3d_with_indices": partial(_max_pool, count=3),
}
"""The rows by the name of the op without overload."""
