"""Convolutions as XLA:TPU simplifies them before it propagates shardings.

    convolution(x, reverse(w))  ->  convolution(x, w), windows reversed
    convolution(transpose(x), w), transpose(convolution(x, w))  ->  convolution, along other dimensions
    convolution(x, k)           ->  convolution(reverse(k), x), if that computes less: of a kernel that is
                                    larger than the image, as in the gradient of a transposed convolution

Sources: dumps of its pass convolution-folding; `SwapConvOperands` in openxla/xla,
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir import stablehlo_builder
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, windows_of
from shardy_py.ops.record import Attributes
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import TRANSPOSE

CONVOLUTION, REVERSE = stablehlo.ConvolutionOp.name, stablehlo.ReverseOp.name


def fold_reversed_kernel(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A convolution of a kernel that is reversed reads the kernel as it is."""
    reverse = folding.producer(operands_of(op)[1], REVERSE)
    if reverse is None:
        return None
    dimensions: tuple[int, ...] = plain(reverse.properties["dimensions"])
    attributes = record_of(op).attributes
    spatial = ConvolutionDimensions.of(attributes).kernel_spatial
    if not set(spatial).issuperset(dimensions):
        return None
    before = attributes.get("window_reversal") or (False,) * len(spatial)
    turned = tuple(bool(own) != (d in dimensions) for own, d in zip(before, spatial, strict=True))
    changed = stablehlo_builder.encoded("convolution", window_reversal=turned)
    return folding.make(
        op, "convolution", [operands_of(op)[0], operands_of(reverse)[0]], {**op.properties, **changed}
    )


def fold_transposed_operands(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A convolution reads what its operands transpose."""
    operands = operands_of(op)
    moved = [folding.producer(value, TRANSPOSE) for value in operands]
    if moved == [None, None]:
        return None
    numbers: dict[str, int | tuple[int, ...]] = dict(record_of(op).attributes["dimension_numbers"])
    sources: list[SSAValue] = []
    for side, value, maker in zip(("input_", "kernel_"), operands, moved, strict=True):
        sources.append(value if maker is None else operands_of(maker)[0])
        if maker is not None:
            order: tuple[int, ...] = plain(maker.properties["permutation"])
            numbers = _renumbered(numbers, side, order)
    changed = stablehlo_builder.encoded("convolution", dimension_numbers=numbers)
    return folding.make(op, "convolution", sources, {**op.properties, **changed})


def fold_transposed_convolution(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """The transposition of a convolution that is used once is one with its result in that order."""
    (value,) = operands_of(op)
    made = folding.producer(value, CONVOLUTION)
    if made is None or not value.has_one_use():
        return None
    order: tuple[int, ...] = plain(op.properties["permutation"])
    places = tuple(order.index(i) for i in range(len(order)))
    numbers = _renumbered(dict(record_of(made).attributes["dimension_numbers"]), "output_", places)
    changed = stablehlo_builder.encoded("convolution", dimension_numbers=numbers)
    return folding.make(op, "convolution", operands_of(made), {**made.properties, **changed})


def _renumbered(
    numbers: dict[str, int | tuple[int, ...]], side: str, places: Sequence[int]
) -> dict[str, int | tuple[int, ...]]:
    """Dimension numbers in which those of one tensor are at other places."""
    return {
        name: value
        if not name.startswith(side)
        else places[value]
        if isinstance(value, int)
        else tuple(places[i] for i in value)
        for name, value in numbers.items()
    }


def fold_swapped_convolution(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A convolution whose kernel is larger than its image exchanges them."""
    image, kernel = operands_of(op)
    attributes = record_of(op).attributes
    if attributes["feature_group_count"] != 1 or attributes["batch_group_count"] != 1:
        return None
    if not folding.is_static(image, kernel, *op.results):
        return None
    numbers = ConvolutionDimensions.of(attributes)
    sizes = [folding.sizes_of(kernel)[i] for i in numbers.kernel_spatial]
    held = [folding.sizes_of(image)[i] for i in numbers.spatial]
    windows = windows_of(attributes, sizes)
    moved = [not _stays(*pair) for pair in zip(windows, held, strict=True)]
    pairs = [pair for pair, is_moved in zip(zip(windows, held, strict=True), moved, strict=True) if is_moved]
    if prod(window.size for window, _ in pairs) <= prod(_work(window, size) for window, size in pairs):
        return None
    swapped = [
        _swapped(window, size) if is_moved else window
        for window, size, is_moved in zip(windows, held, moved, strict=True)
    ]
    turned = [
        place
        for place, window, is_moved in zip(numbers.kernel_spatial, windows, moved, strict=True)
        if is_moved and not window.is_reversed
    ]
    build = StablehloBuilder(before=op)
    if turned:
        kernel = build.one("reverse", (kernel,), kernel.type, dimensions=tuple(turned))
    changed = stablehlo_builder.encoded(
        "convolution",
        window_strides=tuple(window.stride for window in swapped),
        padding=tuple((window.low, window.high) for window in swapped),
        lhs_dilation=tuple(window.base_dilation for window in swapped),
        rhs_dilation=tuple(window.dilation for window in swapped),
        window_reversal=tuple(window.is_reversed for window in swapped),
        dimension_numbers=_exchanged(attributes["dimension_numbers"]),
    )
    return folding.make(op, "convolution", [kernel, image], {**op.properties, **changed})


def _stays(window: Window, size: int) -> bool:
    """True for a dimension that is a contraction, or a group: its window is the same for both operands."""
    if window.is_reversed or window.low or window.high or window.dilation != 1:
        return False
    is_group = window.base_dilation == window.size and window.stride == window.size - 1
    return is_group or (window.size == size and window.base_dilation == 1 and window.stride == 1)


def _work(window: Window, size: int) -> int:
    """The elements of a window of the image; of one element that of the kernel, which costs nothing more."""
    is_one = size == 1 and window.stride == 1 and window.dilation == 1
    return window.size if is_one else size


def _swapped(window: Window, size: int) -> Window:
    """The window of the image, of that size, over the reversed kernel."""
    more = 1 + (size - 1) * window.base_dilation - window.dilated_size
    return Window(
        *(size, window.stride, window.low + more, window.high + more),
        *(window.dilation, window.base_dilation, True),
    )


def _exchanged(numbers: Attributes) -> dict[str, int | Sequence[int]]:
    """The dimension numbers with those of both operands exchanged, and batch and features of the result."""
    return {
        "input_batch_dimension": numbers["kernel_output_feature_dimension"],
        "input_feature_dimension": numbers["kernel_input_feature_dimension"],
        "input_spatial_dimensions": numbers["kernel_spatial_dimensions"],
        "kernel_input_feature_dimension": numbers["input_feature_dimension"],
        "kernel_output_feature_dimension": numbers["input_batch_dimension"],
        "kernel_spatial_dimensions": numbers["input_spatial_dimensions"],
        "output_batch_dimension": numbers["output_feature_dimension"],
        "output_feature_dimension": numbers["output_batch_dimension"],
        "output_spatial_dimensions": numbers["output_spatial_dimensions"],
    }
