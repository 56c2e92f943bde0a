"""Convolutions as matrix products over strided windows.

Operands are brought to one form, whatever their dimension numbers: the image to (lanes, groups, batch,
*spatial, features), the kernel to (lanes, groups, *window, features, output features). Groups of features and
of the batch are the same there.
Not here: the arithmetic of element types (`products.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from math import prod

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of, lanes_of, strided
from shardy_py.ops.compute.movement import check_elements, sizes_in
from shardy_py.ops.compute.products import summed_products
from shardy_py.ops.dimensions import ConvolutionDimensions, windows_of

_BLOCK_ELEMENTS = 1 << 20
"""Elements of windows that are copied at a time."""
_FEW_OUTPUTS = 8


@dataclass(frozen=True, slots=True)
class _Windows:
    """The movement of windows along the spatial dimensions; places: the number of windows."""

    places: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]

    def under(self, image: Array, offset: tuple[int, ...]) -> Array:
        """Returns the element at one offset of every window: (..., *places, features), a view."""
        ranges = zip(offset, self.dilation, self.places, self.strides, strict=True)
        spatial = (slice(o * d, o * d + (n - 1) * s + 1, s) for o, d, n, s in ranges)
        return image[(..., *spatial, slice(None))]

    def of(self, image: Array) -> Array:
        """Returns all windows: (..., *places, *sizes, features), a view."""
        rank, axes = len(self.places), image.strides
        spatial = axes[-1 - rank : -1]
        strides = (
            *axes[: -1 - rank],
            *(a * s for a, s in zip(spatial, self.strides, strict=True)),
            *(a * d for a, d in zip(spatial, self.dilation, strict=True)),
            axes[-1],
        )
        shape = (*image.shape[: -1 - rank], *self.places, *self.sizes, image.shape[-1])
        return strided(image, shape, strides)


def convolution(record: OpRecord, lhs: Array, rhs: Array) -> Array:
    """StableHLO's specification, "convolution"."""
    rank = lhs.ndim - 3
    padding = tuple(record.attributes.get("padding") or ((0, 0),) * rank)
    return _convolve(record, lhs, rhs, padding)


def dynamic_conv(record: OpRecord, lhs: Array, rhs: Array, padding: Array) -> Array:
    """StableHLO's specification, "dynamic_conv": the padding is an operand."""
    sizes = sizes_in(record, padding.reshape(len(padding), -1))
    return _convolve(record, lhs, rhs, tuple(zip(sizes[::2], sizes[1::2], strict=True)))


def _convolve(record: OpRecord, lhs: Array, rhs: Array, padding: tuple[tuple[int, int], ...]) -> Array:
    numbers = ConvolutionDimensions.of(record.attributes)
    features, batches = numbers.feature_groups, numbers.batch_groups
    rows = windows_of(record.attributes, numbers.window(rhs.shape[1:]))
    strides, dilation = (tuple(row.stride for row in rows), tuple(row.dilation for row in rows))
    image = _padded(_in_order(lhs, numbers.image), padding, tuple(row.base_dilation for row in rows))
    kernel = _in_order(rhs, numbers.kernel)
    if reversed_axes := tuple(d + 2 for d, row in enumerate(rows) if row.is_reversed):
        kernel = np.flip(kernel, reversed_axes)
    # (lanes, batch, *spatial, features) and (lanes, input features, *window, output features)
    groups = features * batches
    sizes = kernel.shape[2:-1]
    image = np.ascontiguousarray(image) if prod(sizes) > 1 else image
    extents = zip(image.shape[2:-1], sizes, strides, dilation, strict=True)
    places = tuple(max(0, (n - (k - 1) * d - 1) // s + 1) if n else 0 for n, k, s, d in extents)
    windows = _Windows(places, sizes, strides, dilation)
    image = _split(image, -1, features) if features > 1 else _split(image, 1, batches)
    kernel = np.moveaxis(_split(kernel, -1, groups), 2, -2)
    terms = prod(kernel.shape[2:-1])
    result = summed_products(partial(_product, windows), image, kernel, terms, dtype_of(record.results[0]))
    # (lanes, groups, batch, *places, features) to (lanes, batch, *places, groups * features)
    joined = np.moveaxis(result, 1, -2)
    joined = joined.reshape(*joined.shape[:-2], groups * result.shape[-1])
    return joined.transpose(np.argsort((-1, *numbers.result)))


def _in_order(array: Array, dimensions: tuple[int, ...]) -> Array:
    return array.transpose(0, *(d + 1 for d in dimensions))


def _split(array: Array, axis: int, groups: int) -> Array:
    """Divides an axis into groups, which become the axis behind the lanes."""
    axis %= array.ndim
    shape = *array.shape[:axis], groups, array.shape[axis] // groups, *array.shape[axis + 1 :]
    return np.moveaxis(array.reshape(shape), axis, 1)


def _padded(image: Array, padding: tuple[tuple[int, int], ...], dilation: tuple[int, ...]) -> Array:
    """Spreads the elements of spatial dimensions, then pads with zeros or, if negative, cuts."""
    if not any(map(any, padding)) and all(d == 1 for d in dilation):
        return image
    shape, read, written = list(image.shape), [slice(None)] * 2, [slice(None)] * 2
    for axis, ((low, high), step) in enumerate(zip(padding, dilation, strict=True), 2):
        size = image.shape[axis]
        shape[axis] = total = max(0, low + high + ((size - 1) * step + 1 if size else 0))
        first = max(0, -(low // step))
        last = max(first, min(size, -((low - total) // step)))
        read.append(slice(first, last))
        start = low + first * step
        written.append(slice(start, start + (last - first - 1) * step + 1 if last > first else start, step))
    check_elements(shape[1:])
    result = np.zeros(shape, image.dtype)
    result[tuple(written)] = image[tuple(read)]
    return result


_ALL = slice(None)


def _product(windows: _Windows, image: Array, kernel: Array) -> Array:
    """Returns (lanes, groups, batch, *places, output features)."""
    features, outputs = kernel.shape[-2:]
    places = (lanes_of(image, kernel), *image.shape[1:3], *windows.places)
    if features == 1 and outputs < _FEW_OUTPUTS:
        return _by_offset(windows, image, kernel, (*places, outputs))
    weights = kernel.reshape(*kernel.shape[:2], -1, outputs)
    result = np.empty((*places, outputs), image.dtype)
    view = windows.of(image)
    for block in _blocks(places, weights.shape[2]):
        lanes, groups, *_ = block
        part = view[(lanes if len(view) > 1 else _ALL, *block[1:])]
        rows = part.reshape(*part.shape[:2], -1, weights.shape[2])
        weight = weights[lanes if len(weights) > 1 else _ALL, groups]
        target = result[block]
        target[...] = current().matmul(rows, weight).reshape(target.shape)
    return result


def _by_offset(windows: _Windows, image: Array, kernel: Array, shape: tuple[int, ...]) -> Array:
    """A matrix product over one feature would be a product of vectors: sums over the window instead."""
    arithmetic = current()
    result: Array | None = None
    middle = (1,) * (1 + len(windows.places))
    for offset in np.ndindex(*windows.sizes):
        weight = kernel[(slice(None), slice(None), *offset, 0)]
        weight = weight.reshape(*weight.shape[:2], *middle, -1)
        value = arithmetic.multiply(windows.under(image, offset), weight)
        result = value if result is None else arithmetic.add(result, value)
    return np.zeros(shape, image.dtype) if result is None else result


def _blocks(places: tuple[int, ...], terms: int) -> Iterator[tuple[slice, ...]]:
    """Divides (lanes, groups, batch, *places) into parts with a limited number of window elements."""
    steps: list[int] = []
    room = max(1, _BLOCK_ELEMENTS // max(1, terms))
    for size in reversed(places):
        steps.append(min(size, room) or 1)
        room = max(1, room // size) if steps[-1] == size else 1
    parts = (
        [slice(start, start + step) for start in range(0, size, step)]
        for size, step in zip(places, reversed(steps), strict=True)
    )
    return product(*parts)


COMPUTE: dict[str, Compute] = {"stablehlo.convolution": convolution, "stablehlo.dynamic_conv": dynamic_conv}
"""The function of each op."""
