"""Gradients of ATen's upsampling: `ROWS` by name, as in `pointwise.py`.

They are products with the transposed matrices of weights, one spatial dimension at a time, so that batch and
channels stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor
from typing import Any, SupportsFloat

import numpy as np

from shardy_py.base.arrays import AnyArray
from shardy_py.frontends.aten.elements import Row, convert, sizes, widened
from shardy_py.frontends.aten.resampling import FILTERS, resampling_weights, weighted_along
from shardy_py.frontends.builder import RankedTensorType, Tensor
from shardy_py.frontends.builder.types import dtype_of


def _nearest(size: int, given: int, scale: float | np.float32, *, exact: bool) -> AnyArray:
    """Weights [given, size]: row i is the element that result i has."""
    weights = np.zeros((given, size))
    for i in range(given):
        place = np.float32(i + 0.5) * scale if exact else i * scale
        weights[i, min(floor(place), size - 1)] = 1
    return weights


def _linear(size: int, given: int, scale: float, *, align_corners: bool) -> AnyArray:
    weights = np.zeros((given, size))
    for i in range(given):
        place = i * scale if align_corners else max(type(scale)(i + 0.5) * scale - type(scale)(0.5), 0.0)
        low = min(floor(place), size - 1)
        weights[i, low] += 1 - (place - low)
        weights[i, min(low + 1, size - 1)] += place - low
    return weights


_CUBIC = -0.75
"""The coefficient of torch's bicubic interpolation."""


def _cubic(size: int, given: int, scale: float, *, align_corners: bool) -> AnyArray:
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
    out: RankedTensorType,
    grad_output: Tensor,
    weights: Callable[..., AnyArray],
    factors: Sequence[float | None],
) -> Tensor:
    """Products of the gradient with the interpolation's weights, one spatial dimension at a time."""
    (gradient,) = widened(grad_output)
    # torch computes places in the precision of the elements, which decides between neighbours.
    kind = np.dtype(dtype_of(gradient.element_type)).type
    for number, factor in enumerate(factors, 2):
        size, given = sizes(out)[number], sizes(grad_output.type)[number]
        matrix = weights(size, given, kind, factor)
        gradient = weighted_along(gradient, number, matrix)
    return convert(gradient, out.element_type)


def _nearest_backward(*, exact: bool, count: int) -> Callable[..., Tensor]:
    def weights(size: int, given: int, kind: type[np.floating], factor: float | None) -> AnyArray:
        scale = np.float32(_scale(size, given, factor, align_corners=False))
        return _nearest(size, given, scale, exact=exact)

    def row(
        out: RankedTensorType,
        grad_output: Tensor,
        output_size: object,
        input_size: object,
        *factors: object,
        **named: object,
    ) -> Tensor:
        return _upsample_backward(out, grad_output, weights, _factors(factors, named, count))

    return row


def _interpolation_backward(interpolation: Callable[..., AnyArray], count: int) -> Callable[..., Tensor]:
    def row(
        out: RankedTensorType,
        grad_output: Tensor,
        output_size: object,
        input_size: object,
        align_corners: bool,
        *factors: object,
        **named: object,
    ) -> Tensor:
        def weights(size: int, given: int, kind: type[np.floating], factor: float | None) -> AnyArray:
            scale = kind(_scale(size, given, factor, align_corners=align_corners))
            return interpolation(size, given, scale, align_corners=align_corners)

        return _upsample_backward(out, grad_output, weights, _factors(factors, named, count))

    return row


def _factors(given: Sequence[Any], named: dict[str, Any], count: int) -> list[float | None]:
    """The user's factor of each spatial dimension, None where there is none."""
    keys = [key for key in ("scales", "scales_d", "scales_h", "scales_w") if key in named]
    listed = [*given, *(named[key] for key in keys)]
    return [*listed, *(None,) * count][:count]


def _antialiased(size: int, given: int, scale: SupportsFloat, *, align_corners: bool, name: str) -> AnyArray:
    reach, kernel = FILTERS[name]
    return resampling_weights(size, given, float(scale), reach, kernel)


ROWS: dict[str, Row] = {
    "upsample_bicubic2d_backward": _interpolation_backward(_cubic, 2),
    "upsample_bilinear2d_backward": _interpolation_backward(_linear, 2),
    "upsample_linear1d_backward": _interpolation_backward(_linear, 1),
    "upsample_trilinear3d_backward": _interpolation_backward(_linear, 3),
    **{f"upsample_nearest{dims}d_backward": _nearest_backward(exact=False, count=dims) for dims in (1, 2, 3)},
    **{
        f"_upsample_nearest_exact{dims}d_backward": _nearest_backward(exact=True, count=dims)
        for dims in (1, 2, 3)
    },
    **{
        f"_upsample_{name}2d_aa_backward": _interpolation_backward(partial(_antialiased, name=name), 2)
        for name in FILTERS
    },
}
"""The rows by the name of the op without overload."""
