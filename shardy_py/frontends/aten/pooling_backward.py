"""Gradients of ATen's pooling: `ROWS` by name, as in `pointwise.py`.

Those of averages are products with constant matrices or sums over windows, one spatial
dimension at a time, so that batch and channels stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.frontends.aten.elements import Maybe, Row, filled, sizes
from shardy_py.frontends.aten.pooling import averages
from shardy_py.frontends.aten.products import window
from shardy_py.frontends.aten.reductions import lowest
from shardy_py.frontends.aten.resampling import weighted_along
from shardy_py.frontends.builder import (
    RankedTensorType,
    Tensor,
    ops,
    reduce_window,
    scatter,
    select_and_scatter,
)
from shardy_py.frontends.builder.tensor import elementwise
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers

Dims = int | Sequence[int] | None
_ADD = partial(elementwise, "add")


def _max_pool_backward(
    out: RankedTensorType,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Dims,
    stride: Dims,
    padding: Dims,
    dilation: Dims,
    ceil_mode: bool,
    indices: Maybe,
    *,
    count: int = 2,
) -> Tensor:
    """The gradient goes to the first maximum of each window, as JAX's `select_and_scatter`.

    With dilation, which that lacks, to the elements at `indices`.
    """
    kernel = window(kernel_size or (), count)
    steps, pads, dilations = (
        window(stride or kernel, count),
        window(padding or 0, count),
        window(dilation or 1, count),
    )
    if indices is not None and any(d > 1 for d in dilations):
        return _put_at(out, grad_output, indices, count)
    before = self.rank - count
    edges = [
        (p, max((n - 1) * s + k - m - p, 0))
        for n, m, k, s, p in zip(
            sizes(grad_output.type)[before:], sizes(self.type)[before:], kernel, steps, pads, strict=True
        )
    ]
    padded = ops.pad(
        self,
        lowest(self.element_type),
        [0] * before + [low for low, _ in edges],
        [0] * before + [high for _, high in edges],
    )
    result = select_and_scatter(
        padded,
        grad_output,
        0,
        _is_kept,
        _ADD,
        window_dimensions=(*(1,) * before, *kernel),
        window_strides=(*(1,) * before, *steps),
        padding=((0, 0),) * self.rank,
    )
    starts = [0] * before + [low for low, _ in edges]
    limits = [start + size for start, size in zip(starts, sizes(self.type), strict=True)]
    return ops.slice_(result, starts, limits)


def _is_kept(kept: Tensor, other: Tensor) -> Tensor:
    return ops.compare(kept, other, "GE")


def _adaptive_max_pool_backward(
    out: RankedTensorType, grad_output: Tensor, self: Tensor, indices: Tensor, *, count: int = 2
) -> Tensor:
    """The gradient goes to the maxima, whose windows may overlap."""
    return _put_at(out, grad_output, indices, count)


def _fractional_max_pool_backward(
    out: RankedTensorType,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Dims,
    output_size: Dims,
    indices: Tensor,
    *,
    count: int = 2,
) -> Tensor:
    return _put_at(out, grad_output, indices, count)


def _put_at(out: RankedTensorType, grad_output: Tensor, indices: Tensor, count: int) -> Tensor:
    """Sums of the gradients at flat indices of the last `count` dimensions."""
    shape = sizes(out)
    lead, behind = shape[:-count], shape[-count:]
    flat = sizes(grad_output.type)[-count:]
    zeros = filled(RankedTensorType((*lead, prod(behind)), out.element_type), 0)
    rank = len(lead)
    numbers = ScatterDimensionNumbers(
        inserted_window_dims=(rank,),
        input_batching_dims=tuple(range(rank)),
        scatter_indices_batching_dims=tuple(range(rank)),
        scatter_dims_to_operand_dims=(rank,),
        index_vector_dim=rank + 1,
    )
    places = ops.reshape(indices, (*lead, prod(flat), 1))
    updates = ops.reshape(grad_output, (*lead, prod(flat)))
    return ops.reshape(scatter((zeros,), places, (updates,), numbers, _ADD)[0], shape)


def _average_pool_backward(
    out: RankedTensorType,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Dims,
    stride: Dims,
    padding: Dims,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    *,
    count: int = 2,
) -> Tensor:
    """Each gradient over the size of its window, added to the elements of the window."""
    kernel = window(kernel_size or (), count)
    steps, pads = window(stride or kernel, count), window(padding or 0, count)
    before = self.rank - count
    given, wanted = sizes(grad_output.type)[before:], sizes(self.type)[before:]
    shared = grad_output
    if divisor_override:
        shared = shared / float(divisor_override)
    else:
        windows = zip(wanted, given, kernel, steps, pads, strict=True)
        sizes_of = [_window_sizes(*each, count_include_pad) for each in windows]
        divisor = sizes_of[0]
        for more in sizes_of[1:]:
            divisor = divisor[..., None] * more
        if (divisor == divisor.flat[0]).all():
            shared = shared / float(divisor.flat[0])
        else:
            constant = ops.constant(divisor.astype(np.float64), grad_output.element_type)
            shared = shared / ops.broadcast_in_dim(constant, sizes(shared.type), range(before, self.rank))
    low = [k - 1 - p for k, p in zip(kernel, pads, strict=True)]
    high = [
        m + k - 1 - start - ((n - 1) * s + 1)
        for n, m, k, s, start in zip(given, wanted, kernel, steps, low, strict=True)
    ]
    return reduce_window(
        (shared,),
        (0,),
        _ADD,
        (*(1,) * before, *kernel),
        base_dilations=(*(1,) * before, *steps),
        padding=((0, 0),) * before + tuple(zip(low, high, strict=True)),
    )[0]


def _window_sizes(
    size: int, count: int, kernel: int, stride: int, pad: int, with_pads: bool
) -> NDArray[np.int64]:
    """The number of elements that each window averages along one dimension."""
    starts = np.arange(count) * stride - pad
    limits = np.minimum(starts + kernel, size + pad)
    return limits - starts if with_pads else np.minimum(limits, size) - np.maximum(starts, 0)


def _adaptive_average_pool_backward(out: RankedTensorType, grad_output: Tensor, self: Tensor) -> Tensor:
    """Products with the transposed matrices of averages; where they are all equal, repeated elements."""
    given, wanted = sizes(grad_output.type), sizes(out)
    first = next((d for d in range(len(wanted)) if d >= 1 and given[d] != wanted[d]), len(wanted))
    for number in range(first, len(wanted)):
        size, parts = wanted[number], given[number]
        if parts == 1:
            shape = [*sizes(grad_output.type)]
            shape[number] = size
            grad_output = ops.broadcast_to(grad_output / float(size), shape)
        else:
            grad_output = weighted_along(grad_output, number, averages(size, parts))
    return grad_output


ROWS: dict[str, Row] = {
    **dict.fromkeys(
        ("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"), _adaptive_average_pool_backward
    ),
    "adaptive_max_pool2d_backward": _adaptive_max_pool_backward,
    "adaptive_max_pool3d_backward": partial(_adaptive_max_pool_backward, count=3),
    "avg_pool2d_backward": _average_pool_backward,
    "avg_pool3d_backward": partial(_average_pool_backward, count=3),
    "fractional_max_pool2d_backward": _fractional_max_pool_backward,
    "fractional_max_pool3d_backward": partial(_fractional_max_pool_backward, count=3),
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "max_pool3d_with_indices_backward": partial(_max_pool_backward, count=3),
}
"""The rows by the name of the op without overload."""
