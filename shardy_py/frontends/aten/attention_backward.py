"""ATen's fused attention, forward and backward: `ROWS` by name, as in `pointwise.py`.

Graphs that torch has differentiated (`torch.export.experimental`, AOTAutograd) have the kernels that it chose
for the device. Here they are products over batch and heads, as JAX writes attention; a gradient computes the
weights again from queries and keys, as the kernels do.

Not here: `scaled_dot_product_attention` (`products.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from math import sqrt
from typing import Any

import numpy as np

from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import Maybe, Outputs, Row, convert, sizes, widened
from shardy_py.frontends.aten.products import expect_no_dropout
from shardy_py.frontends.aten.reductions import shaped, softmax, spread
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops, reduce_max, reduce_sum
from shardy_py.frontends.builder.tensor import Operand

_LEADING = ((0, 1), (0, 1))
"""Batch and heads, of both operands."""


@dataclass(frozen=True)
class _Attention:
    """The function of a kernel, softmax(query key^T scale + bias) value, and its gradients.

    scale: None: 1 / sqrt(size of heads). bias: added to the scores, or booleans: True where a key is kept.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Maybe
    dropout_p: float
    is_causal: bool
    scale: float | None

    @property
    def factor(self) -> float:
        """The factor of the products."""
        return 1 / sqrt(sizes(self.query.type)[-1]) if self.scale is None else self.scale

    def scores(self) -> Tensor:
        """query key^T scale + bias, -inf where keys are masked. Raises `ShardyError` for dropout."""
        expect_no_dropout(self.dropout_p)
        (scores,) = widened(dot_general(self.query, self.key, ((3,), (3,)), _LEADING) * self.factor)
        if self.is_causal:
            rows, columns = (ops.iota(sizes(scores.type)[-2:], dim) for dim in (0, 1))
            scores = _masked(scores, ops.compare(columns, rows, "LE"))
        if self.bias is None:
            return scores
        is_mask = self.bias.element_type == "i1"
        return _masked(scores, self.bias) if is_mask else scores + convert(self.bias, scores.element_type)

    def weights(self, scores: Tensor) -> Tensor:
        """The softmax of the scores."""
        return softmax(scores, 3, empty_rows=self.bias is not None)


def _masked(scores: Tensor, kept: Tensor) -> Tensor:
    return ops.select(ops.broadcast_to(kept, sizes(scores.type)), scores, -np.inf)


def _forward(out: Outputs, given: _Attention) -> tuple[object, ...]:
    """The output, the logarithm of the sum of exponentials of each row, None for the state of the kernel."""
    scores = given.scores()
    weights = convert(given.weights(scores), given.value.element_type)
    result = shaped(dot_general(weights, given.value, ((3,), (2,)), _LEADING), out[0])
    peak = reduce_max(scores, (3,))
    total = reduce_sum(ops.exponential(scores - spread(peak, (3,), sizes(scores.type))), (3,))
    lengths = ops.log(total) + peak
    # Some kernels pad the rows, or have no place for them.
    kept = lengths if sizes(out[1]) == sizes(lengths.type) else None
    return result, kept, *(None,) * (len(out) - 2)


def _backward(out: Outputs, given: _Attention, grad_out: Tensor) -> tuple[object, ...]:
    """The gradients of query, key, value, and of the bias if there is a result for it."""
    scores = given.scores()
    weights = given.weights(scores)
    low = convert(weights, given.value.element_type)
    of_value = dot_general(low, grad_out, ((2,), (2,)), _LEADING)
    (of_weights,) = widened(dot_general(grad_out, given.value, ((3,), (3,)), _LEADING))
    common = reduce_sum(of_weights * weights, (3,))
    of_scores = weights * (of_weights - spread(common, (3,), sizes(scores.type)))
    scaled = convert(of_scores * given.factor, given.query.element_type)
    of_query = dot_general(scaled, given.key, ((3,), (2,)), _LEADING)
    of_key = dot_general(scaled, given.query, ((2,), (2,)), _LEADING)
    results = (of_query, of_key, of_value)
    more = [_of_bias(of_scores, given.bias, type_) for type_ in out[3:]]
    return (*(shaped(each, type_) for each, type_ in zip(results, out, strict=False)), *more)


def _of_bias(of_scores: Tensor, bias: Maybe, out: RankedTensorType | None) -> Tensor | None:
    """The gradient of the bias: summed where it was repeated; None without one."""
    if bias is None or out is None:
        return None
    shape = (*(1,) * (4 - bias.rank), *sizes(bias.type))
    over = [d for d, (own, size) in enumerate(zip(shape, sizes(of_scores.type), strict=True)) if own != size]
    return shaped(reduce_sum(of_scores, over) if over else of_scores, out)


# ---------------------------------------------------------------------- kernels

_QKV = "query key value"
_RUNS = "cum_seq_q cum_seq_k max_q max_k"
_STATE = "philox_seed philox_offset"
_SIGNATURES = {
    "flash_attention_for_cpu": f"{_QKV} dropout_p is_causal",
    "flash_attention_for_cpu_backward": f"grad_out {_QKV} out logsumexp dropout_p is_causal",
    "flash_attention": f"{_QKV} dropout_p is_causal return_debug_mask",
    "flash_attention_backward": f"grad_out {_QKV} out logsumexp {_RUNS} dropout_p is_causal {_STATE}",
    "efficient_attention": f"{_QKV} bias compute_log_sumexp dropout_p is_causal",
    "efficient_attention_backward": (
        f"grad_out {_QKV} bias out logsumexp {_STATE} dropout_p grad_input_mask is_causal"
    ),
    "cudnn_attention": f"{_QKV} bias compute_log_sumexp dropout_p is_causal return_debug_mask",
    "cudnn_attention_backward": (f"grad_out {_QKV} out logsumexp {_STATE} bias {_RUNS} dropout_p is_causal"),
}
"""The arguments of each kernel in order; keywords are `scale` and, for CPUs, `attn_mask`, the bias."""
_DEFAULTS = {"bias": None, "dropout_p": 0.0, "is_causal": False, "scale": None}


def _kernel(signature: str) -> Callable[..., tuple[Any, ...]]:
    """The row of a kernel with arguments of these names."""
    names = signature.split()

    def row(
        out: Outputs, *arguments: Operand, attn_mask: Maybe = None, **keywords: Operand
    ) -> tuple[Any, ...]:
        if len(arguments) > len(names):
            raise TypeError(f"expected at most {len(names)} arguments, got {len(arguments)}")
        given: dict[str, Any] = {
            **_DEFAULTS,
            "bias": attn_mask,
            **dict(zip(names, arguments, strict=False)),
            **keywords,
        }
        attention = _Attention(**{field.name: given[field.name] for field in fields(_Attention)})
        if "grad_out" not in given:
            return _forward(out, attention)
        found = _backward(out, attention, given["grad_out"])
        kept = given.get("grad_input_mask", (True,) * len(found))
        return tuple(each if is_kept else None for each, is_kept in zip(found, kept, strict=True))

    return row


ROWS: dict[str, Row] = {
    f"_scaled_dot_product_{name}": _kernel(signature) for name, signature in _SIGNATURES.items()
}
"""The rows by the name of the op without overload."""
