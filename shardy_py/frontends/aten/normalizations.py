"""ATen's normalisations: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from shardy_py.builder import Tensor, TensorType, ops, reduce_sum
from shardy_py.frontends.aten.elements import filled, sizes, widened
from shardy_py.frontends.aten.products import along
from shardy_py.frontends.aten.reductions import shaped


def _normalized(input: Tensor, over: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(input - mean) / sqrt(variance + eps) over dimensions; the mean; 1 / sqrt(variance + eps)."""
    shape = sizes(input.type)
    count = float(prod(shape[d] for d in over))
    kept = [d for d in range(input.rank) if d not in over]
    mean = reduce_sum(input, over) / count
    centred = input - ops.broadcast_in_dim(mean, shape, kept)
    rstd = ops.rsqrt(reduce_sum(centred * centred, over) / count + eps)
    return centred * ops.broadcast_in_dim(rstd, shape, kept), mean, rstd


def _layer_norm(
    out: Sequence[TensorType],
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, ...]:
    over = range(input.rank - len(normalized_shape), input.rank)
    input, weight, bias = widened(input, weight, bias)
    result, mean, rstd = _normalized(input, over, eps)
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    return shaped(result, out[0]), shaped(mean, out[1]), shaped(rstd, out[2])


def _group_norm(
    out: Sequence[TensorType],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, ...]:
    input, weight, bias = widened(input, weight, bias)
    grouped = ops.reshape(input, (N, group, C // group, *sizes(input.type)[2:]))
    result, mean, rstd = _normalized(grouped, range(2, grouped.rank), eps)
    result = ops.reshape(result, sizes(out[0]))
    result = result if weight is None else result * along(weight, 1, sizes(out[0]))
    result = result if bias is None else result + along(bias, 1, sizes(out[0]))
    return shaped(result, out[0]), shaped(mean, out[1]), shaped(rstd, out[2])


def _batch_norm_inference(
    out: Sequence[TensorType],
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    shape = sizes(out[0])
    input, weight, bias, running_mean, running_var = widened(input, weight, bias, running_mean, running_var)
    scale = ops.rsqrt(running_var + eps)
    scale = scale if weight is None else scale * weight
    result = (input - along(running_mean, 1, shape)) * along(scale, 1, shape)
    result = result if bias is None else result + along(bias, 1, shape)
    return shaped(result, out[0]), *(filled(type_, 0) for type_ in out[1:])


ROWS: dict[str, Callable[..., Any]] = {
    "_native_batch_norm_legit_no_training": _batch_norm_inference,
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
}
"""The rows by the name of the op without overload."""
