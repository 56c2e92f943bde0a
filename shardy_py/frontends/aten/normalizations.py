"""ATen's normalisations: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.api import ShardyError
from shardy_py.frontends.aten.elements import Maybe, Outputs, Row, filled, sizes, widened
from shardy_py.frontends.aten.products import along
from shardy_py.frontends.aten.reductions import mean_over, shaped, spread
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops


def _normalized(input: Tensor, over: Sequence[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(input - mean) / sqrt(variance + eps) over dimensions; the mean; 1 / sqrt(variance + eps)."""
    shape = sizes(input.type)
    mean = mean_over(input, over)
    centred = input - spread(mean, over, shape)
    rstd = ops.rsqrt(mean_over(centred * centred, over) + eps)
    return centred * spread(rstd, over, shape), mean, rstd


def _layer_norm(
    out: Outputs, input: Tensor, normalized_shape: Sequence[int], weight: Maybe, bias: Maybe, eps: float
) -> tuple[Tensor, ...]:
    over = range(input.rank - len(normalized_shape), input.rank)
    input, weight, bias = widened(input, weight, bias)
    result, mean, rstd = _normalized(input, over, eps)
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    return shaped(result, out[0]), shaped(mean, out[1]), shaped(rstd, out[2])


def _group_norm(
    out: Outputs, input: Tensor, weight: Maybe, bias: Maybe, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, ...]:
    input, weight, bias = widened(input, weight, bias)
    grouped = ops.reshape(input, (N, group, C // group, *sizes(input.type)[2:]))
    result, mean, rstd = _normalized(grouped, range(2, grouped.rank), eps)
    shape = sizes(out[0])
    result = ops.reshape(result, shape)
    result = result if weight is None else result * along(weight, 1, shape)
    result = result if bias is None else result + along(bias, 1, shape)
    return shaped(result, out[0]), shaped(mean, out[1]), shaped(rstd, out[2])


def _batch_norm_inference(
    out: Outputs, input: Tensor, weight: Maybe, bias: Maybe, mean: Tensor, var: Tensor, _: float, eps: float
) -> tuple[Tensor, ...]:
    shape = sizes(out[0])
    input, weight, bias, mean, var = widened(input, weight, bias, mean, var)
    scale = ops.rsqrt(var + eps)
    scale = scale if weight is None else scale * weight
    result = (input - along(mean, 1, shape)) * along(scale, 1, shape)
    result = result if bias is None else result + along(bias, 1, shape)
    return shaped(result, out[0]), *(filled(type_, 0) for type_ in out[1:])


def _instance_norm(
    out: RankedTensorType,
    input: Tensor,
    weight: Maybe,
    bias: Maybe,
    running_mean: Maybe,
    running_var: Maybe,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """Each channel of each sample normalized by its own statistics, or by the running ones."""
    shape = sizes(out)
    input, weight, bias, mean, var = widened(input, weight, bias, running_mean, running_var)
    if use_input_stats:
        if mean is not None:
            raise ShardyError.unsupported(
                "instance norm that updates running statistics",
                remedy="export the model in evaluation (model.eval())",
            )
        result, _, _ = _normalized(input, range(2, input.rank), eps)
    else:
        result = (input - along(mean, 1, shape)) * along(ops.rsqrt(var + eps), 1, shape)
    result = result if weight is None else result * along(weight, 1, shape)
    result = result if bias is None else result + along(bias, 1, shape)
    return shaped(result, out)


ROWS: dict[str, Row] = {
    "_native_batch_norm_legit_no_training": _batch_norm_inference,
    "instance_norm": _instance_norm,
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
}
"""The rows by the name of the op without overload."""
