"""Gradients of ATen's pooling and upsampling: `ROWS` by name, as in `pointwise.py`.

Those of averages and interpolations are products with constant matrices or sums over windows, one spatial
dimension at a time, so that batch and channels stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor, prod
from typing import Any

import numpy as np

from shardy_py.builder import Tensor, TensorType, dot_general, ops, reduce_window, scatter, select_and_scatter
from shardy_py.builder.tensor import elementwise
from shardy_py.builder.types import dtype_of
from shardy_py.dialects.stablehlo.structs import ScatterDimensionNumbers
from shardy_py.frontends.aten.elements import Maybe, convert, filled, sizes, widened
from shardy_py.frontends.aten.pooling import averages
from shardy_py.frontends.aten.products import window
from shardy_py.frontends.aten.reductions import lowest

Dims = int | Sequence[int] | None
_ADD = partial(elementwise, "add")


def _max_pool_backward(
    out: TensorType,
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


def _put_at(out: TensorType, grad_output: Tensor, indices: Tensor, count: int) -> Tensor:
    """Sums of the gradients at flat indices of the last `count` dimensions."""
    shape = sizes(out)
    lead, behind = shape[:-count], shape[-count:]
    flat = sizes(grad_output.type)[-count:]
    zeros = filled(TensorType((*lead, prod(behind)), out.element_type), 0)
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
    out: TensorType,
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
        divisor: Any = sizes_of[0]
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


def _window_sizes(size: int, count: int, kernel: int, stride: int, pad: int, with_pads: bool) -> Any:
    """The number of elements that each window averages along one dimension."""
    starts = np.arange(count) * stride - pad
    limits = np.minimum(starts + kernel, size + pad)
    return limits - starts if with_pads else np.minimum(limits, size) - np.maximum(starts, 0)


def _adaptive_average_pool_backward(out: TensorType, grad_output: Tensor, self: Tensor) -> Tensor:
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
            grad_output = _along(grad_output, number, averages(size, parts))
    return grad_output


def _along(tensor: Tensor, number: int, weights: Any) -> Tensor:
    """The tensor with dimension `number`, of size n, contracted with weights [n, m], which becomes m."""
    matrix = ops.constant(weights, tensor.element_type)
    product = dot_general(tensor, matrix, ((number,), (0,)))
    last = tensor.rank - 1
    return ops.transpose(product, [*range(number), last, *range(number, last)]) if number < last else product


# ---------------------------------------------------------------------- upsampling


def _nearest(size: int, given: int, scale: Any, *, exact: bool) -> Any:
    """Weights [given, size]: row i is the element that result i has."""
    weights = np.zeros((given, size))
    for i in range(given):
        place = np.float32(i + 0.5) * scale if exact else i * scale
        weights[i, min(floor(place), size - 1)] = 1
    return weights


def _linear(size: int, given: int, scale: Any, *, align_corners: bool) -> Any:
    weights = np.zeros((given, size))
    for i in range(given):
        place = i * scale if align_corners else max(type(scale)(i + 0.5) * scale - type(scale)(0.5), 0.0)
        low = min(floor(place), size - 1)
        weights[i, low] += 1 - (place - low)
        weights[i, min(low + 1, size - 1)] += place - low
    return weights


_CUBIC = -0.75
"""The coefficient of torch's bicubic interpolation."""


def _cubic(size: int, given: int, scale: Any, *, align_corners: bool) -> Any:
    weights = np.zeros((given, size))
    for i in range(given):
        place = i * scale if align_corners else type(scale)(i + 0.5) * scale - type(scale)(0.5)
        low = floor(place)
        for step in range(-1, 3):
            distance = abs(place - (low + step))
            weights[i, min(max(low + step, 0), size - 1)] += _convolved(distance)
    return weights


def _convolved(x: float) -> float:
    """Keys, "Cubic convolution interpolation for digital image processing"."""
    if x <= 1:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * _CUBIC if x < 2 else 0.0


def _scale(size: int, given: int, factor: float | None, *, align_corners: bool) -> float:
    """The distance of neighbours in the input, given the factor of the user if there is one."""
    if align_corners:
        return (size - 1) / (given - 1) if given > 1 else 0.0
    return 1 / factor if factor else size / given


def _upsample_backward(
    out: TensorType, grad_output: Tensor, weights: Callable[..., Any], factors: Sequence[float | None]
) -> Tensor:
    """Products of the gradient with the interpolation's weights, one spatial dimension at a time."""
    (gradient,) = widened(grad_output)
    # torch computes places in the precision of the elements, which decides between neighbours.
    kind = np.dtype(dtype_of(gradient.element_type)).type
    for number, factor in enumerate(factors, 2):
        size, given = sizes(out)[number], sizes(grad_output.type)[number]
        matrix = weights(size, given, kind, factor)
        gradient = _along(gradient, number, matrix)
    return convert(gradient, out.element_type)


def _nearest_backward(*, exact: bool, count: int) -> Callable[..., Tensor]:
    def weights(size: int, given: int, kind: Any, factor: float | None) -> Any:
        scale = np.float32(_scale(size, given, factor, align_corners=False))
        return _nearest(size, given, scale, exact=exact)

    def row(
        out: TensorType, grad_output: Tensor, output_size: Any, input_size: Any, *factors: Any, **named: Any
    ) -> Tensor:
        return _upsample_backward(out, grad_output, weights, _factors(factors, named, count))

    return row


def _interpolation_backward(interpolation: Callable[..., Any], count: int) -> Callable[..., Tensor]:
    def row(
        out: TensorType,
        grad_output: Tensor,
        output_size: Any,
        input_size: Any,
        align_corners: bool,
        *factors: Any,
        **named: Any,
    ) -> Tensor:
        def weights(size: int, given: int, kind: Any, factor: float | None) -> Any:
            scale = kind(_scale(size, given, factor, align_corners=align_corners))
            return interpolation(size, given, scale, align_corners=align_corners)

        return _upsample_backward(out, grad_output, weights, _factors(factors, named, count))

    return row


def _factors(given: Sequence[Any], named: dict[str, Any], count: int) -> list[float | None]:
    """The user's factor of each spatial dimension, None where there is none."""
    keys = [key for key in ("scales", "scales_d", "scales_h", "scales_w") if key in named]
    listed = [*given, *(named[key] for key in keys)]
    return [*listed, *(None,) * count][:count]


ROWS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"), _adaptive_average_pool_backward
    ),
    "avg_pool2d_backward": _average_pool_backward,
    "avg_pool3d_backward": partial(_average_pool_backward, count=3),
    "max_pool2d_with_indices_backward": _max_pool_backward,
    "max_pool3d_with_indices_backward": partial(_max_pool_backward, count=3),
    "upsample_bicubic2d_backward": _interpolation_backward(_cubic, 2),
    "upsample_bilinear2d_backward": _interpolation_backward(_linear, 2),
    "upsample_linear1d_backward": _interpolation_backward(_linear, 1),
    "upsample_trilinear3d_backward": _interpolation_backward(_linear, 3),
    **{f"upsample_nearest{dims}d_backward": _nearest_backward(exact=False, count=dims) for dims in (1, 2, 3)},
    **{
        f"_upsample_nearest_exact{dims}d_backward": _nearest_backward(exact=True, count=dims)
        for dims in (1, 2, 3)
    },
}
"""The rows by the name of the op without overload."""
