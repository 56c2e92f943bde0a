"""ATen's products, convolutions and attention: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.frontends.aten.elements import Maybe, Row, convert, dimension, sizes, widened
from shardy_py.frontends.aten.reductions import softmax
from shardy_py.frontends.builder import RankedTensorType, Tensor, convolution, dot_general, ops, reduce_sum
from shardy_py.frontends.builder.tensor import Operand
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers


def _mm(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    return dot_general(self, other, ((self.rank - 1,), (0,)))


def _bmm(out: RankedTensorType, self: Tensor, mat2: Tensor) -> Tensor:
    return dot_general(self, mat2, ((2,), (1,)), ((0,), (0,)))


def _addbmm_product(out: RankedTensorType, batch1: Tensor, batch2: Tensor) -> Tensor:
    """The sum of the products of all pairs of matrices."""
    return dot_general(batch1, batch2, ((0, 2), (0, 1)))


def _added(product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """beta * self + alpha * (mat1 @ mat2)."""

    def row(
        out: RankedTensorType,
        self: Tensor,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: Operand = 1,
        alpha: Operand = 1,
    ) -> Tensor:
        result = product(out, mat1, mat2)
        result = result if alpha == 1 else result * alpha
        return result + (self if beta == 1 else self * beta) if beta != 0 else result

    return row


def _linear(out: RankedTensorType, input: Tensor, weight: Tensor, bias: Maybe = None) -> Tensor:
    result = dot_general(input, weight, ((input.rank - 1,), (1 if weight.rank > 1 else 0,)))
    return result if bias is None else result + bias


def _matmul(out: RankedTensorType, self: Tensor, other: Tensor) -> Tensor:
    """As `torch.matmul`: vectors and matrices, with all dimensions but the last two broadcast."""
    if other.rank <= 2:
        return _mm(out, self, other)
    if self.rank == 1:
        return dot_general(other, self, ((other.rank - 2,), (0,)))
    batch = sizes(out)[:-2] if self.rank > 1 else sizes(out)[:-1]
    lhs = ops.broadcast_to(self, (*batch, *sizes(self.type)[-2:]))
    rhs = ops.broadcast_to(other, (*batch, *sizes(other.type)[-2:]))
    leading = tuple(range(len(batch)))
    return dot_general(lhs, rhs, ((len(batch) + 1,), (len(batch),)), (leading, leading))


def product(
    out: RankedTensorType,
    lhs: Tensor,
    rhs: Tensor,
    lhs_contracting: Sequence[int],
    rhs_contracting: Sequence[int],
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
) -> Tensor:
    """`shardy_py::dot_general`, the product of training steps (`torch_whole_ops.py`)."""
    contracting = (tuple(lhs_contracting), tuple(rhs_contracting))
    return dot_general(lhs, rhs, contracting, (tuple(lhs_batch), tuple(rhs_batch)))


def _tensordot(
    out: RankedTensorType, self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Tensor:
    """The product summed over pairs of dimensions, of which one may have size 1."""
    left, right = list(dims_self), list(dims_other)
    for place, (one, two) in enumerate(zip(dims_self, dims_other, strict=True)):
        left[place], right[place] = dimension(one, self.rank), dimension(two, other.rank)
        lone, other_size = self.shape[left[place]], other.shape[right[place]]
        if lone == 1 != other_size:
            other = _summed(other, right[place])
        elif other_size == 1 != lone:
            self = _summed(self, left[place])
    return dot_general(self, other, (tuple(left), tuple(right)))


def _summed(tensor: Tensor, number: int) -> Tensor:
    """The sum over a dimension, which stays with size 1."""
    kept = [1 if d == number else size for d, size in enumerate(sizes(tensor.type))]
    return ops.reshape(reduce_sum(tensor, (number,)), kept)


# ---------------------------------------------------------------------- convolution


def window(given: int | Sequence[int], count: int) -> tuple[int, ...]:
    """A number for each spatial dimension, given one for all or one each."""
    listed = (given,) if isinstance(given, int) else tuple(given)
    return listed * count if len(listed) == 1 else listed


def _convolution(
    out: RankedTensorType,
    input: Tensor,
    weight: Tensor,
    bias: Maybe,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """N, C, spatial dimensions; the weight O, I / groups, spatial ones, or, transposed, I, O / groups, ..."""
    count = input.rank - 2
    strides, pads, dilations, more = (window(g, count) for g in (stride, padding, dilation, output_padding))
    if transposed:
        weight = _turned_around(weight, groups)
        kernel = sizes(weight.type)[2:]
        reach = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
        edges = [(r - p, r - p + m) for r, p, m in zip(reach, pads, more, strict=True)]
        strides, lhs_dilation = (1,) * count, strides
    else:
        edges, lhs_dilation = [(p, p) for p in pads], None
    spatial = tuple(range(2, input.rank))
    numbers = ConvDimensionNumbers(0, 1, spatial, 1, 0, spatial, 0, 1, spatial)
    result = convolution(
        input,
        weight,
        numbers,
        window_strides=strides,
        padding=edges,
        lhs_dilation=lhs_dilation,
        rhs_dilation=dilations,
        feature_group_count=groups,
    )
    return result if bias is None else result + along(bias, 1, sizes(result.type))


def _conv_tbc(out: RankedTensorType, self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Time, batch, features; the weight time, ins, outs."""
    numbers = ConvDimensionNumbers(1, 2, (0,), 1, 2, (0,), 1, 2, (0,))
    return convolution(self, weight, numbers, padding=[(pad, pad)]) + along(bias, 2, sizes(out))


def _turned_around(weight: Tensor, groups: int) -> Tensor:
    """The weight of a transposed convolution as that of a plain one over the dilated input."""
    weight = ops.reverse(weight, range(2, weight.rank))
    ins, outs, *kernel = sizes(weight.type)
    split = ops.reshape(weight, (groups, ins // groups, outs, *kernel))
    order = (0, 2, 1, *range(3, split.rank))
    return ops.reshape(ops.transpose(split, order), (groups * outs, ins // groups, *kernel))


def along(vector: Tensor, dimension: int, shape: Sequence[int]) -> Tensor:
    """A vector along one dimension of `shape`, repeated along the others."""
    return ops.broadcast_in_dim(vector, shape, (dimension,))


# ---------------------------------------------------------------------- attention


def expect_no_dropout(dropout_p: float) -> None:
    """Raises `ShardyError` if attention drops values, which kernels draw in orders of their own."""
    if dropout_p:
        remedy = "call model.eval() before export, or set the model's dropout to 0"
        raise ShardyError.unsupported("attention with dropout", remedy=remedy)


def _attention(
    out: RankedTensorType,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Maybe = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T scale + mask) value, as torch.nn.functional.scaled_dot_product_attention."""
    expect_no_dropout(dropout_p)
    if enable_gqa:
        key, value = (for_all_heads(kept, sizes(query.type)[-3]) for kept in (key, value))
    batch = sizes(out)[:-2]
    query, key, value = (ops.broadcast_to(t, (*batch, *sizes(t.type)[-2:])) for t in (query, key, value))
    leading, last = tuple(range(len(batch))), len(batch) + 1
    factor = 1 / sqrt(sizes(query.type)[-1]) if scale is None else scale
    scores = dot_general(query, key, ((last,), (last,)), (leading, leading)) * factor
    (scores,) = widened(scores)
    if is_causal:
        rows, columns = (ops.iota(sizes(scores.type)[-2:], dim) for dim in (0, 1))
        scores = _masked(scores, ops.compare(columns, rows, "LE"))
    if attn_mask is not None:
        is_bias = attn_mask.element_type != "i1"
        scores = scores + convert(attn_mask, scores.element_type) if is_bias else _masked(scores, attn_mask)
    weights = softmax(scores, last, empty_rows=attn_mask is not None)
    weights = convert(weights, value.element_type)
    return dot_general(weights, value, ((last,), (last - 1,)), (leading, leading))


def _masked(scores: Tensor, kept: Tensor) -> Tensor:
    return ops.select(ops.broadcast_to(kept, sizes(scores.type)), scores, -np.inf)


def for_all_heads(tensor: Tensor, heads: int) -> Tensor:
    """Heads of keys or values repeated, for groups of heads of queries."""
    *batch, own, length, size = sizes(tensor.type)
    rank = len(batch)
    wide = ops.broadcast_in_dim(
        tensor, (*batch, own, heads // own, length, size), (*range(rank + 1), rank + 2, rank + 3)
    )
    return ops.reshape(wide, (*batch, heads, length, size))


ROWS: dict[str, Row] = {
    "addbmm": _added(_addbmm_product),
    "addmm": _added(_mm),
    "addmv": _added(_mm),
    "bmm": _bmm,
    "conv_tbc": _conv_tbc,
    "convolution": _convolution,
    "linear": _linear,
    "matmul": _matmul,
    "mm": _mm,
    "scaled_dot_product_attention": _attention,
    "tensordot": _tensordot,
}
"""The rows by the name of the op without overload."""
