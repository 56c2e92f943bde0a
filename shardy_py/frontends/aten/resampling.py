"""ATen's resizing of images with antialiasing: `ROWS` by name, as in `pointwise.py`.

Each dimension is a product with a constant matrix of weights, so batch and channels stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shardy_py.base.arrays import AnyArray
from shardy_py.frontends.aten.elements import Row, convert, sizes, widened
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops
from shardy_py.frontends.builder.tensor import Operand

Filter = Callable[[AnyArray], AnyArray]


def _triangle(x: AnyArray) -> AnyArray:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x: AnyArray) -> AnyArray:
    """Keys, "Cubic convolution interpolation for digital image processing" (1981), with a = -0.5."""
    x, a = np.abs(x), -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: AnyArray) -> AnyArray:
    """Lanczos' window of three lobes (Turkowski, "Filters for common resampling tasks", 1990)."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(np.asarray(x) / 3), 0)


FILTERS: dict[str, tuple[int, Filter]] = {
    "bicubic": (2, _cubic),
    "bilinear": (1, _triangle),
    "lanczos": (3, _lanczos),
}
"""Half the width of each filter, and its values."""


def resampling_weights(size: int, wanted: int, scale: float, reach: int, kernel: Filter) -> AnyArray:
    """[wanted, size]: the weights of a filter that is as wide as an element of the result.

    scale: elements of the operand for one of the result. reach: half the width of the filter.
    """
    width = max(scale, 1.0)
    weights = np.zeros((wanted, size))
    for i in range(wanted):
        center = scale * (i + 0.5)
        start = max(int(center - reach * width + 0.5), 0)
        limit = min(int(center + reach * width + 0.5), size)
        each = kernel((np.arange(start, limit) - center + 0.5) / width)
        weights[i, start:limit] = each / each.sum()
    return weights


def weighted_along(tensor: Tensor, number: int, weights: Operand) -> Tensor:
    """The tensor with dimension `number`, of size n, contracted with weights [n, m], which becomes m."""
    matrix = ops.constant(weights, tensor.element_type)
    product = dot_general(tensor, matrix, ((number,), (0,)))
    last = tensor.rank - 1
    return ops.transpose(product, [*range(number), last, *range(number, last)]) if number < last else product


def _resized(
    out: RankedTensorType,
    self: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    *scales: float | Sequence[float] | None,
    reach: int,
    kernel: Filter,
) -> Tensor:
    """Sizes over the last dimensions; scales: of the result by the operand, where given."""
    given: list[float | None] = []
    for each in scales:
        given.extend((each,) if each is None or isinstance(each, float | int) else each)
    (result,) = widened(self)
    shape, wanted, count = sizes(self.type), sizes(out), len(sizes(out)) - 2
    given += [None] * (count - len(given))
    for d in range(2, self.rank):
        size, target, factor = shape[d], wanted[d], given[d - 2]
        if align_corners:
            scale = (size - 1) / (target - 1) if target > 1 else 0.0
        else:
            scale = 1 / factor if factor else size / target
        weights = resampling_weights(size, target, scale, reach, kernel)
        matrix = ops.constant(weights, result.element_type)
        # The dimension goes last, so that all of them come back in order.
        result = dot_general(result, matrix, ((2,), (1,)))
    return convert(result, out.element_type)


ROWS: dict[str, Row] = {
    f"_upsample_{name}2d_aa": partial(_resized, reach=reach, kernel=kernel)
    for name, (reach, kernel) in FILTERS.items()
}
"""The rows by the name of the op without overload."""
