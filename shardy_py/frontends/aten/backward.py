"""ATen's gradients and updates that torch does not decompose well: `ROWS` by name, as in `pointwise.py`.

Gradients are written as JAX writes them: of convolutions as convolutions whose batch and features change
roles, of slices as padding, so that dimensions stay apart and shardings propagate.

Not here: gradients of pooling, upsampling and attention (`*_backward.py`), of a few ops beside these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from shardy_py.api import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import (
    Bound,
    Outputs,
    Row,
    convert,
    converted,
    dimension,
    filled,
    sizes,
    widened,
)
from shardy_py.frontends.aten.products import window
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, convolution, ops, reduce_sum
from shardy_py.frontends.builder.tensor import Operand
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers

# ---------------------------------------------------------------------- convolution


@dataclass(frozen=True)
class _Convolution:
    """A convolution of `large` [N, I, ...] with a weight [O, I / groups, ...] to `small` [N, O, ...].

    strides, pads, dilations: a number for each spatial dimension.
    """

    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int

    def of_large(self, large: Tensor, weight: Tensor, shape: Sequence[int]) -> Tensor:
        """The convolution; shape: that of its result."""
        spatial = _spatial(large.rank)
        edges = [
            (p, (n - 1) * s + d * (k - 1) + 1 - p - m)
            for n, m, k, s, p, d in self._windows(shape, sizes(large.type), sizes(weight.type))
        ]
        return convolution(
            large,
            weight,
            ConvDimensionNumbers(0, 1, spatial, 1, 0, spatial, 0, 1, spatial),
            window_strides=self.strides,
            padding=edges,
            rhs_dilation=self.dilations,
            feature_group_count=self.groups,
        )

    def of_small(self, small: Tensor, weight: Tensor, shape: Sequence[int]) -> Tensor:
        """The gradient of `large`, of that shape: `small`, dilated by the stride, by the reversed weight."""
        spatial = _spatial(small.rank)
        kernel = sizes(weight.type)
        edges = [
            (d * (k - 1) - p, n + d * (k - 1) - (d * (k - 1) - p) - ((m - 1) * s + 1))
            for n, m, k, s, p, d in self._windows(shape, sizes(small.type), kernel)
        ]
        reversed_ = ops.reverse(weight, spatial)
        if self.groups > 1:
            # [O, I / groups, ...] becomes [O / groups, I, ...]: its features are those of the gradient.
            split = ops.reshape(reversed_, (self.groups, kernel[0] // self.groups, *kernel[1:]))
            order = (1, 0, *range(2, split.rank))
            reversed_ = ops.reshape(
                ops.transpose(split, order), (kernel[0] // self.groups, self.groups * kernel[1], *kernel[2:])
            )
        return convolution(
            small,
            reversed_,
            ConvDimensionNumbers(0, 1, spatial, 0, 1, spatial, 0, 1, spatial),
            padding=edges,
            lhs_dilation=self.strides,
            rhs_dilation=self.dilations,
            feature_group_count=self.groups,
        )

    def of_both(self, small: Tensor, large: Tensor, kernel: Sequence[int]) -> Tensor:
        """The gradient of the weight, of that shape: features as batch, the batch contracted."""
        spatial = _spatial(small.rank)
        edges = [
            (p, (m - 1) * s + 1 + d * (k - 1) - p - n)
            for n, m, k, s, p, d in self._windows(sizes(large.type), sizes(small.type), kernel)
        ]
        return convolution(
            large,
            small,
            ConvDimensionNumbers(1, 0, spatial, 0, 1, spatial, 1, 0, spatial),
            window_strides=self.dilations,
            padding=edges,
            rhs_dilation=self.strides,
            batch_group_count=self.groups,
        )

    def _windows(self, *shapes: Sequence[int]) -> Iterable[tuple[int, ...]]:
        """For each spatial dimension its size in each shape, its stride, padding and dilation."""
        spatial = [shape[2:] for shape in shapes]
        return zip(*spatial, self.strides, self.pads, self.dilations, strict=True)


def _convolution_backward(
    out: Outputs,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of input, weight and bias; None where the mask is false.

    A transposed convolution is the gradient of a plain one, so its gradients are those with the input and the
    gradient exchanged.
    """
    count = input.rank - 2
    plain = _Convolution(*(window(given, count) for given in (stride, padding, dilation)), groups=groups)
    of_input = of_weight = of_bias = None
    small, large = (input, grad_output) if transposed else (grad_output, input)
    if output_mask[0]:
        gradient = plain.of_large if transposed else plain.of_small
        of_input = gradient(grad_output, weight, sizes(input.type))
    if output_mask[1]:
        of_weight = plain.of_both(small, large, sizes(weight.type))
    if output_mask[2]:
        of_bias = reduce_sum(grad_output, [d for d in range(grad_output.rank) if d != 1])
    return of_input, of_weight, of_bias


def _spatial(rank: int) -> tuple[int, ...]:
    return tuple(range(2, rank))


# ---------------------------------------------------------------------- slices


def _slice_backward(
    out: RankedTensorType,
    grad_output: Tensor,
    input_sizes: Sequence[int],
    dim: int,
    start: Bound | Tensor,
    end: Bound | Tensor,
    step: int,
) -> Tensor:
    """Zeros around the gradient, as JAX pads; at a place that is a tensor, an update."""
    number = dimension(dim, grad_output.rank)
    if isinstance(start, Tensor) and step == 1:
        zero = ops.constant(0, start.element_type, ())
        starts = [start if d == number else zero for d in range(grad_output.rank)]
        return ops.dynamic_update_slice(filled(out, 0), grad_output, starts)
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        raise ShardyError.unsupported(
            "a slice whose bounds are tensors", remedy="use torch.where with a mask"
        )
    low, _, step = slice(start, end, step).indices(input_sizes[number])
    count = sizes(grad_output.type)[number]
    if not count:
        return filled(out, 0)
    return _padded(grad_output, number, low, input_sizes[number] - low - ((count - 1) * step + 1), step - 1)


def _select_backward(
    out: RankedTensorType, grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int
) -> Tensor:
    number = dimension(dim, len(input_sizes))
    place, shape = dimension(index, input_sizes[number]), list(input_sizes)
    shape[number] = 1
    return _padded(ops.reshape(grad_output, shape), number, place, input_sizes[number] - place - 1)


def _padded(tensor: Tensor, number: int, low: int, high: int, interior: int = 0) -> Tensor:
    edges = [[given if d == number else 0 for d in range(tensor.rank)] for given in (low, high, interior)]
    return ops.pad(tensor, 0, *edges)


def _pad_backward(added: Callable[[Tensor, int, int, int], Tensor]) -> Row:
    """The row of the gradient of a padding, of which `added` adds that of a dimension's copies to the others.

    padding: low and high, the last dimension first; negative where elements are dropped.
    """

    def row(out: RankedTensorType, grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
        for place in range(len(padding) // 2):
            number, (low, high) = self.rank - 1 - place, padding[2 * place : 2 * place + 2]
            if min(low, high) < 0:
                grad_output = _padded(grad_output, number, max(-low, 0), max(-high, 0))
            grad_output = added(grad_output, number, max(low, 0), max(high, 0))
        return grad_output

    return row


def _mirrors_added(tensor: Tensor, number: int, low: int, high: int) -> Tensor:
    """A dimension without its first `low` and last `high` elements, which are added mirrored to the others.

    The mirrors are the first and the last element that stay, which get nothing.
    """
    total = sizes(tensor.type)[number]
    size = total - low - high
    result = part(tensor, number, low, low + size)
    for start, count, before in ((0, low, 1), (low + size, high, size - 1 - high)):
        if count:
            edge = ops.reverse(part(tensor, number, start, start + count), (number,))
            result = result + _padded(edge, number, before, size - count - before)
    return result


def _edges_added(tensor: Tensor, number: int, low: int, high: int) -> Tensor:
    """A dimension without its first `low` and last `high` elements, which are added to the outer ones."""
    total = sizes(tensor.type)[number]
    size = total - low - high
    shape = [1 if d == number else n for d, n in enumerate(sizes(tensor.type))]

    def summed(start: int, limit: int) -> Tensor:
        return ops.reshape(reduce_sum(part(tensor, number, start, limit), (number,)), shape)

    if size == 1:
        return summed(0, total)
    parts = [
        summed(0, low + 1),
        part(tensor, number, low + 1, total - high - 1),
        summed(total - high - 1, total),
    ]
    return ops.concatenate([each for each in parts if 0 not in each.shape], number)


# ---------------------------------------------------------------------- thresholds, norms of weights


def _shrink_backward(out: RankedTensorType, grad: Tensor, self: Tensor, lambd: float) -> Tensor:
    """0 for elements from -lambd to lambd."""
    return ops.select(ops.and_(self >= -lambd, self <= lambd), 0, grad)


def _weight_norm_backward(
    out: Outputs, grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Tensor, ...]:
    """The gradients of v and g in w = g v / |v|, of which each index of a dimension has a norm."""
    shape, number = sizes(saved_v.type), dimension(dim, saved_v.rank)
    over = [d for d in range(saved_v.rank) if d != number]
    kept = [size if d == number else 1 for d, size in enumerate(shape)]
    gradient, v, g, norms = widened(grad_w, saved_v, saved_g, saved_norms)
    common = ops.reshape(reduce_sum(gradient * v, over), kept) / norms
    of_v = (gradient - v * (common / norms)) * (g / norms)
    return convert(of_v, out[0].element_type), convert(common, out[1].element_type)


# ---------------------------------------------------------------------- updates of optimizers


def _lerp(out: RankedTensorType, self: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """self + weight (end - self), from the end if the weight is a number of at least 0.5, as torch rounds."""
    end, weight = converted(out.element_type, end, weight)
    difference = end - self
    if isinstance(weight, Tensor) or abs(weight) < 0.5:
        return self + difference * weight
    return end - difference * (1 - weight)


def _added(combine: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """self + value * combine(tensor1, tensor2)."""

    def row(
        out: RankedTensorType, self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Operand = 1
    ) -> Tensor:
        self, tensor1, tensor2 = converted(out.element_type, self, tensor1, tensor2)
        (value,) = converted(out.element_type, value)
        is_one = not isinstance(value, Tensor) and value == 1
        result = combine(tensor1 if is_one else tensor1 * value, tensor2)
        return self + result

    return row


ROWS: dict[str, Row] = {
    "_weight_norm_interface_backward": _weight_norm_backward,
    "addcdiv": _added(ops.divide),
    "addcmul": _added(ops.multiply),
    "convolution_backward": _convolution_backward,
    "hardshrink_backward": _shrink_backward,
    "lerp": _lerp,
    **{f"reflection_pad{count}d_backward": _pad_backward(_mirrors_added) for count in (1, 2, 3)},
    **{f"replication_pad{count}d_backward": _pad_backward(_edges_added) for count in (1, 2, 3)},
    "select_backward": _select_backward,
    "slice_backward": _slice_backward,
    "softshrink_backward": _shrink_backward,
}
"""The rows by the name of the op without overload."""
