"""ATen's fused attention, forward and backward: `ROWS` by name, as in `pointwise.py`.

Graphs that torch has differentiated (`torch.export.experimental`, AOTAutograd) have the kernels that it chose
for the device. Here they are products over batch and heads, as JAX writes attention; a gradient computes the
weights again from queries and keys, as the kernels do.

Not here: `scaled_dot_product_attention` (`products.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from shardy_py.api import ShardyError
from shardy_py.builder import Tensor, TensorType, dot_general, ops, reduce_max, reduce_sum
from shardy_py.frontends.aten.elements import Maybe, Outputs, convert, sizes, widened
from shardy_py.frontends.aten.reductions import shaped, softmax, spread

_LEADING = ((0, 1), (0, 1))
"""Batch and heads, of both operands."""


def _scores(
    query: Tensor, key: Tensor, bias: Maybe, dropout_p: float, is_causal: bool, scale: float | None
) -> tuple[Tensor, float]:
    """query key^T scale + bias, -inf where keys are masked; the scale. Raises `ShardyError` for dropout."""
    if dropout_p:
        raise ShardyError.unsupported("attention with dropout", remedy="export the model with dropout_p=0")
    factor = 1 / sqrt(sizes(query.type)[-1]) if scale is None else scale
    (scores,) = widened(dot_general(query, key, ((3,), (3,)), _LEADING) * factor)
    shape = sizes(scores.type)
    if is_causal:
        rows, columns = (ops.iota(shape[-2:], dim) for dim in (0, 1))
        scores = _masked(scores, ops.compare(columns, rows, "LE"))
    if bias is None:
        return scores, factor
    is_mask = bias.element_type == "i1"
    return _masked(scores, bias) if is_mask else scores + convert(bias, scores.element_type), factor


def _masked(scores: Tensor, kept: Tensor) -> Tensor:
    return ops.select(ops.broadcast_to(kept, sizes(scores.type)), scores, -np.inf)


def _forward(
    out: Outputs,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Maybe,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Any, ...]:
    """The output, the logarithm of the sum of exponentials of each row, None for the state of the kernel."""
    scores, _ = _scores(query, key, bias, dropout_p, is_causal, scale)
    weights = convert(softmax(scores, 3, empty_rows=bias is not None), value.element_type)
    result = shaped(dot_general(weights, value, ((3,), (2,)), _LEADING), out[0])
    peak = reduce_max(scores, (3,))
    total = reduce_sum(ops.exponential(scores - spread(peak, (3,), sizes(scores.type))), (3,))
    lengths = ops.log(total) + peak
    # Some kernels pad the rows, or have no place for them.
    given = lengths if sizes(out[1]) == sizes(lengths.type) else None
    return result, given, *(None,) * (len(out) - 2)


def _backward(
    out: Outputs,
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Maybe,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Any, ...]:
    """The gradients of query, key, value, and of the bias if there is a result for it."""
    scores, factor = _scores(query, key, bias, dropout_p, is_causal, scale)
    weights = softmax(scores, 3, empty_rows=bias is not None)
    low = convert(weights, value.element_type)
    of_value = dot_general(low, grad_out, ((2,), (2,)), _LEADING)
    (of_weights,) = widened(dot_general(grad_out, value, ((3,), (3,)), _LEADING))
    shape = sizes(scores.type)
    common = reduce_sum(of_weights * weights, (3,))
    of_scores = weights * (of_weights - spread(common, (3,), shape))
    scaled = convert(of_scores * factor, query.element_type)
    of_query = dot_general(scaled, key, ((3,), (2,)), _LEADING)
    of_key = dot_general(scaled, query, ((2,), (2,)), _LEADING)
    results = (of_query, of_key, of_value)
    more = [_of_bias(of_scores, bias, type_) for type_ in out[3:]]
    return (*(shaped(each, type_) for each, type_ in zip(results, out, strict=False)), *more)


def _of_bias(of_scores: Tensor, bias: Maybe, out: TensorType | None) -> Tensor | None:
    """The gradient of the bias: summed where it was repeated; None without one."""
    if bias is None or out is None:
        return None
    shape = (*(1,) * (4 - bias.rank), *sizes(bias.type))
    over = [d for d, (own, size) in enumerate(zip(shape, sizes(of_scores.type), strict=True)) if own != size]
    return shaped(reduce_sum(of_scores, over) if over else of_scores, out)


def _for_cpu(
    out: Outputs,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Maybe = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _forward(out, query, key, value, attn_mask, dropout_p, is_causal, scale)


def _for_cpu_backward(
    out: Outputs,
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _: Tensor,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Maybe = None,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _backward(out, grad_out, query, key, value, attn_mask, dropout_p, is_causal, scale)


def _flash(
    out: Outputs,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _forward(out, query, key, value, None, dropout_p, is_causal, scale)


def _flash_backward(
    out: Outputs,
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _: Tensor,
    logsumexp: Any,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *state: Any,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _backward(out, grad_out, query, key, value, None, dropout_p, is_causal, scale)


def _efficient(
    out: Outputs,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Maybe,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _forward(out, query, key, value, attn_bias, dropout_p, is_causal, scale)


def _efficient_backward(
    out: Outputs,
    grad_out_: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Maybe,
    _: Tensor,
    logsumexp: Any,
    philox_seed: Any,
    philox_offset: Any,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    found = _backward(out, grad_out_, query, key, value, attn_bias, dropout_p, is_causal, scale)
    return tuple(each if kept else None for each, kept in zip(found, grad_input_mask, strict=True))


_NAME = "_scaled_dot_product"
ROWS: dict[str, Callable[..., Any]] = {
    f"{_NAME}_efficient_attention": _efficient,
    f"{_NAME}_efficient_attention_backward": _efficient_backward,
    f"{_NAME}_flash_attention": _flash,
    f"{_NAME}_flash_attention_backward": _flash_backward,
    f"{_NAME}_flash_attention_for_cpu": _for_cpu,
    f"{_NAME}_flash_attention_for_cpu_backward": _for_cpu_backward,
}
"""The rows by the name of the op without overload."""
