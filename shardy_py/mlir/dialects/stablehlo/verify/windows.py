"""Rules of windows that slide over a tensor, and of convolutions, which slide them.

>>> windows = read_windows((3,), strides=(2,), padding=((1, 0),))
>>> output_sizes((8,), windows)
(4,)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers
from shardy_py.mlir.dialects.stablehlo.verify.contraction import check_precision
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, quoted, raw, require
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Size,
    Sizes,
    is_unique,
    require_shape,
    same_element,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import Dense, View

Padding = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class WindowDimension:
    """The window along one dimension."""

    size: Size
    low: int = 0
    high: int = 0
    stride: int = 1
    base_dilation: int = 1
    window_dilation: int = 1


def read_padding(dense: Dense | None) -> Padding:
    """The padding attribute: two numbers a dimension."""
    if dense is None:
        return ()
    if len(dense.shape) != 2 or dense.shape[1] != 2:
        fail(f"expects the shape of padding-attribute to be {{N, 2}}, but got {{{listed(dense.shape)}}}.")
    return dense.pairs


_POSITIVE = ("value", "stride", "base dilation factor", "window dilation factor")


def read_windows(
    sizes: Sequence[Size],
    strides: Sequence[int] = (),
    padding: Padding = (),
    base_dilations: Sequence[int] = (),
    window_dilations: Sequence[int] = (),
    reversal: Sequence[int] = (),
) -> tuple[WindowDimension, ...]:
    """The windows of attributes with one entry a dimension, or none; sizes and steps are positive."""
    for name, given in (
        ("window-strides", strides),
        ("base-dilation factors", base_dilations),
        ("window-dilation factors", window_dilations),
        ("padding-entries", padding),
        ("window-reversal", reversal),
    ):
        if len(given) not in (0, len(sizes)):
            fail(
                f"expects {name} to have same dimension-size as size of window dimensions ({len(sizes)}), "
                f"but got: {len(given)}."
            )
    windows: list[WindowDimension] = []
    steps = (strides or repeat(1), base_dilations or repeat(1), window_dilations or repeat(1))
    for index, (size, pad, *step) in enumerate(zip(sizes, padding or repeat((0, 0)), *steps, strict=False)):
        for name, value in zip(_POSITIVE, (size, *step), strict=True):
            if value is not None and value <= 0:
                place = f"for {index}-th window dimension"
                fail(f"expects window to have positive {name} {place}, but got {value}.")
        windows.append(WindowDimension(size, *pad, *step))
    return tuple(windows)


def _dilated(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1 if size else 0


def output_sizes(sizes: Sequence[Size], windows: Sequence[WindowDimension]) -> Sizes:
    """The number of positions of each window along its dimension."""
    return tuple(_output_size(size, window) for size, window in zip(sizes, windows, strict=True))


def _output_size(size: Size, window: WindowDimension) -> Size:
    if size is None or window.size is None:
        return None
    room = window.low + _dilated(size, window.base_dilation) + window.high
    span = _dilated(window.size, window.window_dilation)
    return 0 if room <= 0 or span > room else (room - span) // window.stride + 1


# ---------------------------------------------------------------------- convolution


def check_convolution(view: View) -> None:
    """A convolution, in this order:

    - operands of one rank, at least 2, and of one element type
    - dimension numbers name each dimension once; group counts divide features and batch
    - windows as in `read_windows`; the result has the inferred shape
    """
    require_shape(convolution_sizes(view), view.results[0])


def convolution_sizes(view: View) -> Sizes:
    """The sizes of the result, which follow from the operands; its element type does not."""
    numbers = _check_operands(view)
    windows = _windows_of(view, _kernel_sizes(view, numbers), read_padding(view.dense("padding")))
    lhs, rhs = view.operands[:2]
    sizes: list[Size] = [None] * lhs.rank
    spatial = output_sizes([lhs.sizes[index] for index in numbers.input_spatial_dimensions], windows)
    for index, size in zip(numbers.output_spatial_dimensions, spatial, strict=True):
        sizes[index] = size
    batch = lhs.sizes[numbers.input_batch_dimension]
    groups = view.integer("batch_group_count", 1)
    sizes[numbers.output_batch_dimension] = None if batch is None else batch // groups
    sizes[numbers.output_feature_dimension] = rhs.sizes[numbers.kernel_output_feature_dimension]
    return tuple(sizes)


def check_dynamic_convolution(view: View) -> None:
    """A convolution whose padding is an operand of two numbers a spatial dimension."""
    lhs, _, padding = view.operands
    numbers = _check_operands(view)
    require(padding.rank == 2, f"expects padding to be of rank 2 but got {padding.rank}")
    rows, columns = padding.sizes
    if (rows, columns) != (lhs.rank - 2, 2):
        fail(f"expects padding to be of shape [{lhs.rank - 2}, 2], but got [{raw(rows)}, {raw(columns)}]")
    known = view.constant(2)
    if known is not None:
        _windows_of(view, _kernel_sizes(view, numbers), tuple(zip(known[::2], known[1::2], strict=True)))


def _kernel_sizes(view: View, numbers: ConvDimensionNumbers) -> Sizes:
    return tuple(view.operands[1].sizes[index] for index in numbers.kernel_spatial_dimensions)


def _windows_of(view: View, sizes: Sequence[Size], padding: Padding) -> tuple[WindowDimension, ...]:
    return read_windows(
        sizes,
        view.integers("window_strides"),
        padding,
        view.integers("lhs_dilation"),
        view.integers("rhs_dilation"),
        view.integers("window_reversal"),
    )


def _check_operands(view: View) -> ConvDimensionNumbers:
    lhs, rhs = view.operands[:2]
    require(lhs.rank >= 2, f"expects convolution arguments to have >= 2 dimensions. Got: {lhs} and {rhs}.")
    if lhs.rank != rhs.rank:
        fail(f"expects convolution arguments to have same number of dimensions. Got: {lhs} and {rhs}.")
    if not same_element(lhs.element, rhs.element):
        elements = quoted(lhs.element, rhs.element, joint=" and ")
        fail(f"expects lhs and rhs to have compatible element type. Got: {elements}")
    numbers: ConvDimensionNumbers = view.value("dimension_numbers")
    _check_numbers(numbers, lhs.rank)
    _check_groups(view, numbers, lhs, rhs)
    if lhs.rank != len(numbers.input_spatial_dimensions) + 2:
        fail(
            f"expects convolution arguments to have {len(numbers.input_spatial_dimensions) + 2} dimensions. "
            f"Got: {lhs.rank}"
        )
    return numbers


def _check_numbers(numbers: ConvDimensionNumbers, rank: int) -> None:
    sides = numbers.sides()
    counts = [len(side) - 2 for side in sides.values()]
    if len(set(counts)) != 1:
        fail(
            f"expects the same size for input, kernel and output spatial-dimensions, but got {counts[0]}, "
            f"{counts[1]}, and {counts[2]} resp."
        )
    if not all(0 <= index < rank for side in sides.values() for index in side):
        fail(f"expects input, kernel, and output dimension-numbers to be in-range [0, {rank}).")
    for name, side in sides.items():
        require(is_unique(side), f"expects {name} dimension-numbers to be unique, got {{{listed(side)}}}.")


def _check_groups(view: View, numbers: ConvDimensionNumbers, lhs: RankedTensor, rhs: RankedTensor) -> None:
    features, batches = view.integer("feature_group_count", 1), view.integer("batch_group_count", 1)
    if batches > 1 and features > 1:
        fail(
            f"expects batch_group_count and feature_group_count not to be both greater than 1. Got {batches} "
            f"and {features} resp."
        )
    batch = lhs.sizes[numbers.input_batch_dimension]
    inputs = lhs.sizes[numbers.input_feature_dimension]
    kernel_inputs = rhs.sizes[numbers.kernel_input_feature_dimension]
    outputs = rhs.sizes[numbers.kernel_output_feature_dimension]
    if batch is not None and batch % batches != 0:
        fail(
            f"expects input batch dimension ({batch}) to be divisible by batch_group_count. Got "
            f"batch_group_count = {batches}."
        )
    if inputs is not None:
        if inputs % features != 0:
            fail(
                f"expects input feature dimension ({inputs}) to be a multiple of feature_group_count. Got "
                f"feature_group_count = {features}."
            )
        if kernel_inputs is not None and inputs // features != kernel_inputs:
            fail(
                f"expects input feature dimension ({inputs}) / feature_group_count = kernel input feature "
                f"dimension ({kernel_inputs}). Got feature_group_count = {features}."
            )
    if outputs is not None:
        if outputs % batches != 0:
            fail(
                f"expects output feature dimension size ({outputs}) to be a multiple of batch_group_count. "
                f"Got batch_group_count = {batches}."
            )
        if outputs % features != 0:
            fail(
                f"expects kernel output feature dimension ({outputs}) to be divisible by "
                f"feature_group_count. For feature_group_count = {features}."
            )
    check_precision(view)
