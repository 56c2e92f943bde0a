"""Convolutions by cuDNN: what is copied and padded for them, and what their kernels also compute.

Features of the result are first in a kernel, and others last; images have them last, also where the program
has them before: then elementwise ops keep that order, and a result is copied. An image is padded before it is
read, unless equally on both sides, and a gradient of an image is cut behind. The kernel also scales what it
makes, adds a number for each feature, and takes what is positive. Source: openxla/xla, conv_rewriter.cc,
conv_padding_legalization.cc and cudnn_fused_conv_rewriter.cc of xla/service/gpu/transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.mlir.dialects.stablehlo import PadOp, ReverseOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, windows_of
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.constants import is_constant_float, is_one_number
from shardy_py.xla.targets.gpu.graph import ADD, BROADCAST, CONVOLUTION, MAXIMUM, MULTIPLY, SLICE, GpuGraph
from shardy_py.xla.targets.parts import shape_of

if TYPE_CHECKING:
    from shardy_py.xla.targets.model import DeviceNode

_ENDS = (ADD, MAXIMUM, MULTIPLY)


class _Sides(NamedTuple):
    """The padding of the forward convolution along a spatial dimension, before and behind."""

    low: int
    high: int


class _Given(NamedTuple):
    """A convolution: its node and result, what it reads, and the shape of its image."""

    node: DeviceNode
    made: TensorType
    numbers: ConvolutionDimensions
    reads: Sequence[int]
    windows: Sequence[Window]
    image: tuple[int, ...]


class Convolutions:
    """Adds convolutions to a graph.

    copied: returns the copy of a value with its dimensions in another order. features_last: the values that
    have their features last in memory, but not in the program.
    """

    def __init__(self, graph: GpuGraph, copied: Callable[[int], int]) -> None:
        """Nothing is known of values yet."""
        self.graph, self.copied = graph, copied
        self.features_last = set[int]()

    def add(self, node: DeviceNode, reads: Sequence[int], types: Sequence[TensorType | None]) -> int:
        """Adds a convolution, and returns the number of its result. types: of operands as it reads them."""
        assert node.step is not None
        attributes = node.step.record.attributes
        numbers = ConvolutionDimensions.of(attributes)
        image, kernel = reads[:2]
        made, shapes = node.type, [shape_of(type_) for type_ in types[:2] if type_ is not None]
        if made is None or [made.rank, *map(len, shapes)] != [len(numbers.image)] * 3:
            return self.graph.add(CONVOLUTION, reads, made, node)
        windows = windows_of(attributes, [shapes[1][d] for d in numbers.kernel_spatial])
        given = _Given(node, made, numbers, reads, windows, shapes[0])
        if numbers.feature_groups == 1 and self._is_of_image(kernel, windows):
            return self._of_image(given)
        if _is_of_kernel(windows, [shape_of(made)[d] for d in numbers.result_spatial]):
            return self._of_kernel(given)
        kernel = self._in_order(kernel, (numbers.out_feature, *numbers.kernel_spatial, numbers.in_feature))
        image = self._in_order(image, numbers.image)
        if any(window.low != window.high or window.base_dilation > 1 for window in windows):
            image = self._padded(image, made.element, shapes[0], numbers.spatial, windows)
        return self._made((image, kernel, *reads[2:]), made, node, numbers.result)

    def _is_of_image(self, kernel: int, windows: Sequence[Window]) -> bool:
        """True for the gradient of an image: its kernel is reversed, that of one element need not be."""
        if any(window.stride > 1 for window in windows):
            return False
        if self.graph.kinds[kernel] == ReverseOp.name:
            return True
        is_spread = any(window.base_dilation > 1 for window in windows)
        return is_spread and all(window.size == 1 for window in windows)

    def _of_image(self, given: _Given) -> int:
        """The gradient of an image, by the kernel before it was reversed; cut if padding differed."""
        node, made, numbers, reads, *_ = given
        kernel = reads[1]
        if self.graph.kinds[kernel] == ReverseOp.name:
            (kernel,) = self.graph.reads[kernel]
        kernel = self._in_order(kernel, (numbers.in_feature, *numbers.kernel_spatial, numbers.out_feature))
        image = self._in_order(reads[0], numbers.image)
        shape = [*shape_of(made)]
        surplus = 0
        for (source, _, target), window in zip(numbers.spatials, given.windows, strict=True):
            low = window.size - 1 - window.low
            sides = _forward(low, shape[target], given.image[source], window.size, window.base_dilation)
            surplus += abs(sides.high - sides.low)
            shape[target] += abs(sides.high - sides.low)
        if not surplus:
            return self._made((image, kernel, *reads[2:]), made, node, numbers.result)
        whole = TensorType(tuple(shape), made.element)
        number = self._made((image, kernel, *reads[2:]), whole, node, numbers.result)
        return self.graph.add(SLICE, (number,), made)

    def _of_kernel(self, given: _Given) -> int:
        """The gradient of a kernel: what is the batch there are features here, and the other way round."""
        node, made, numbers, reads, *_ = given
        image = self._in_order(reads[0], (numbers.feature, *numbers.spatial, numbers.batch))
        change = self._in_order(reads[1], (numbers.in_feature, *numbers.kernel_spatial, numbers.out_feature))
        shape = shape_of(made)
        padded: list[Window] = []
        for (source, _, target), window in zip(numbers.spatials, given.windows, strict=True):
            sides = _forward(window.low, given.image[source], window.size, shape[target], window.dilation)
            padded.append(Window(1, 1, sides.low, sides.high))
        if any(window.low != window.high for window in padded):
            image = self._padded(image, made.element, given.image, numbers.spatial, padded)
        number = self.graph.add(CONVOLUTION, (image, change, *reads[2:]), made, node)
        order = (numbers.result_feature, *numbers.result_spatial, numbers.result_batch)
        return number if order == tuple(range(len(order))) else self.copied(number)

    def _made(self, reads: Sequence[int], made: TensorType, node: DeviceNode, order: Sequence[int]) -> int:
        number = self.graph.add(CONVOLUTION, reads, made, node)
        if [*order] != [*range(len(order))]:
            self.features_last.add(number)
        return number

    def _in_order(self, number: int, order: Sequence[int]) -> int:
        """A value, or its copy in an order."""
        is_there = [*order] == [*range(len(order))] or number in self.features_last
        return number if is_there else self.copied(number)

    def _shape(self, number: int) -> tuple[int, ...]:
        type_ = self.graph.types[number]
        return () if type_ is None else shape_of(type_)

    def _padded(
        self,
        image: int,
        element: str,
        given: Sequence[int],
        spatial: Sequence[int],
        windows: Sequence[Window],
    ) -> int:
        """An image with its padding, and the distance of its elements; of equal ones there is one."""
        shape = [*given]
        for d, window in zip(spatial, windows, strict=True):
            shape[d] = window.padded(shape[d])
        edges = [(window.low, window.high, window.base_dilation) for window in windows]
        key = "padded", image, *shape, *edges
        if key not in self.graph.known:
            type_ = self.graph.types[image]
            own = TensorType(tuple(shape), element if type_ is None else type_.element)
            self.graph.known[key] = self.graph.add(PadOp.name, (image,), own)
        return self.graph.known[key]

    def ended(self, node: DeviceNode, kind: str, reads: Sequence[int], is_once: Sequence[bool]) -> int | None:
        """Adds a convolution whose kernel also computes an op of its result; None for other ops.

        is_once: whether only this op reads each of the two operands.
        """
        graph = self.graph
        if kind not in _ENDS or len(reads) != 2 or len(is_once) != 2 or node.type is None:
            return None
        for each, other, once in zip(reads, reads[::-1], is_once, strict=True):
            if graph.kinds[each] != CONVOLUTION or not once or self._has_groups(each):
                continue
            added = self._also_read(each, other, kind)
            if added is not None:
                number = graph.add(CONVOLUTION, (*graph.reads[each], *added), node.type, graph.nodes[each])
                if each in self.features_last:
                    self.features_last.add(number)
                return number
        return None

    def _also_read(self, convolution: int, other: int, kind: str) -> tuple[int, ...] | None:
        """The values that a kernel reads to compute an op of its result, too; None if it cannot."""
        graph = self.graph
        is_broadcast = graph.kinds[other] == BROADCAST
        (given,) = graph.reads[other] if is_broadcast else (other,)
        if kind == MULTIPLY:
            return () if self._is_factor(other) and self._is_forward(convolution) else None
        if kind == MAXIMUM:
            return () if is_broadcast and graph.elements(given) == 1 else None
        return (given,) if is_broadcast and self._is_of_features(convolution, other) else None

    def _has_groups(self, convolution: int) -> bool:
        step = self.graph.step(convolution)
        return step is not None and ConvolutionDimensions.of(step.record.attributes).feature_groups > 1

    def _is_factor(self, number: int) -> bool:
        """True for one constant everywhere, also one that is computed of such."""
        graph, left = self.graph, [number]
        while left:
            each = left.pop()
            if graph.kinds[each] == BROADCAST or (graph.is_elementwise(each) and graph.reads[each]):
                left += graph.reads[each]
            elif not is_one_number(graph, each) or not is_constant_float(graph, each):
                return False
        return True

    def _is_forward(self, convolution: int) -> bool:
        """True for a forward convolution, not for a gradient."""
        step, made = self.graph.step(convolution), self.graph.types[convolution]
        kernel = self._shape(self.graph.reads[convolution][1])
        if step is None or made is None:
            return False
        numbers = ConvolutionDimensions.of(step.record.attributes)
        is_known = len(kernel) > numbers.out_feature
        return is_known and kernel[numbers.out_feature] == shape_of(made)[numbers.result_feature]

    def _is_of_features(self, convolution: int, broadcast: int) -> bool:
        """True if what is added to a convolution is one number for each feature."""
        step, added = self.graph.step(convolution), self.graph.step(broadcast)
        if step is None or added is None:
            return False
        feature = ConvolutionDimensions.of(step.record.attributes).result_feature
        given = added.record.operands[0]
        dimensions = integers(added.record.attributes, "broadcast_dimensions")
        sizes = () if given is None else given.shape
        return [d for d, size in zip(dimensions, sizes, strict=False) if size != 1] == [feature]


def _is_of_kernel(windows: Sequence[Window], made: Sequence[int]) -> bool:
    """True for the gradient of a kernel: its windows are images. XLA knows it without strides only."""
    is_plain = all(window.stride == window.base_dilation == 1 for window in windows)
    return is_plain and prod(window.size for window in windows) > prod(made)


def _forward(low: int, image: int, made: int, kernel: int, stride: int) -> _Sides:
    """The padding with which an image becomes the result of a forward convolution: equal if it can be.

    >>> _forward(1, 64, 64, 3, 1), _forward(0, 224, 112, 3, 2), _forward(2, 224, 112, 7, 2)
    (_Sides(low=1, high=1), _Sides(low=0, high=1), _Sides(low=2, high=3))
    """
    least = (made - 1) * stride + kernel - image - low
    return _Sides(low, min(max(low, least), least + stride - 1))
