"""StableHLO's ops on run-time sizes, and rarely used ops.

`result` is the type of a result that is not inferred, with None for dynamic sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardy_py.builder.dimensions import dimension as from_front
from shardy_py.builder.dimensions import dimensions
from shardy_py.builder.tensor import Tensor, emit, rank_of
from shardy_py.builder.types import TensorType, element_of, tensor
from shardy_py.dialects.stablehlo.structs import ConvDimensionNumbers, GatherDimensionNumbers


def get_dimension_size(operand: Tensor, dimension: int) -> Tensor:
    """The size of a dimension, as a scalar of i32."""
    return emit("get_dimension_size", operand, dimension=from_front(dimension, rank_of(operand)))[0]


def set_dimension_size(operand: Tensor, size: Tensor, dimension: int) -> Tensor:
    """The tensor with a dimension of that size, given as a scalar of i32."""
    return emit("set_dimension_size", operand, size, dimension=from_front(dimension, rank_of(operand)))[0]


def dynamic_broadcast_in_dim(
    operand: Tensor, sizes: Tensor, broadcast_dimensions: Sequence[int], result: TensorType
) -> Tensor:
    """Dimension i of the operand becomes dimension `broadcast_dimensions[i]` of a tensor of those sizes."""
    numbers = tuple(broadcast_dimensions)
    return emit("dynamic_broadcast_in_dim", operand, sizes, results=result, broadcast_dimensions=numbers)[0]


def dynamic_conv(
    lhs: Tensor,
    rhs: Tensor,
    padding: Tensor,
    dimension_numbers: ConvDimensionNumbers | Mapping[str, Any],
    result: TensorType,
    **attributes: Any,
) -> Tensor:
    """A convolution with run-time padding; `attributes` are those of the op."""
    counts: dict[str, Any] = {"feature_group_count": 1, "batch_group_count": 1, **attributes}
    return emit(
        "dynamic_conv", lhs, rhs, padding, results=result, dimension_numbers=dimension_numbers, **counts
    )[0]


def dynamic_gather(
    operand: Tensor,
    start_indices: Tensor,
    slice_sizes: Tensor,
    dimension_numbers: GatherDimensionNumbers | Mapping[str, Any],
    *,
    indices_are_sorted: bool = False,
) -> Tensor:
    """Windows of run-time sizes of the operand at indices."""
    return emit(
        "dynamic_gather",
        operand,
        start_indices,
        slice_sizes,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=indices_are_sorted or None,
    )[0]


def dynamic_iota(sizes: Tensor, dimension: int, result: TensorType) -> Tensor:
    """The index along one dimension of a tensor of those sizes."""
    number = from_front(dimension, len(result.shape))
    return emit("dynamic_iota", sizes, results=result, iota_dimension=number)[0]


def dynamic_pad(
    operand: Tensor, padding_value: Tensor, low: Tensor, high: Tensor, interior: Tensor, result: TensorType
) -> Tensor:
    """The tensor padded before, after and between its elements by run-time amounts."""
    return emit("dynamic_pad", operand, padding_value, low, high, interior, results=result)[0]


def dynamic_reshape(operand: Tensor, sizes: Tensor, result: TensorType) -> Tensor:
    """The elements, row-major, in a shape of those sizes."""
    return emit("dynamic_reshape", operand, sizes, results=result)[0]


def real_dynamic_slice(
    operand: Tensor, start: Tensor, limit: Tensor, strides: Tensor, result: TensorType
) -> Tensor:
    """The elements from `start` to before `limit`, which are run-time values."""
    return emit("real_dynamic_slice", operand, start, limit, strides, results=result)[0]


def bitcast_convert(operand: Tensor, element_type: Any, shape: Sequence[int] | None = None) -> Tensor:
    """The bits read as elements of another type; `shape` where the types' widths differ."""
    element = element_of(element_type)
    result = element if shape is None else tensor(shape, element)
    return emit("bitcast_convert", operand, results=result)[0]


def reduce_precision(operand: Tensor, exponent_bits: int, mantissa_bits: int) -> Tensor:
    """The elements rounded to a format of so many bits."""
    return emit("reduce_precision", operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)[0]


def uniform_quantize(operand: Tensor, result: TensorType) -> Tensor:
    """The elements quantized to those of `result`."""
    return emit("uniform_quantize", operand, results=result)[0]


def uniform_dequantize(operand: Tensor, element_type: Any = "f32") -> Tensor:
    """Quantized elements as numbers of a type."""
    return emit("uniform_dequantize", operand, results=element_of(element_type))[0]


def rng(low: Tensor, high: Tensor, sizes: Tensor, distribution: str = "UNIFORM") -> Tensor:
    """Random numbers: UNIFORM between two bounds, or NORMAL of a mean and a deviation."""
    return emit("rng", low, high, sizes, rng_distribution=distribution)[0]


def rng_bit_generator(state: Tensor, result: TensorType, algorithm: str = "DEFAULT") -> tuple[Tensor, Tensor]:
    """The next state and random bits: DEFAULT, THREE_FRY or PHILOX."""
    new_state, bits = emit("rng_bit_generator", state, results=[state.type, result], rng_algorithm=algorithm)
    return new_state, bits


def triangular_solve(
    a: Tensor,
    b: Tensor,
    *,
    left_side: bool = True,
    lower: bool = False,
    unit_diagonal: bool = False,
    transpose_a: str = "NO_TRANSPOSE",
) -> Tensor:
    """The solution of batches of triangular systems."""
    return emit(
        "triangular_solve",
        a,
        b,
        left_side=left_side,
        lower=lower,
        unit_diagonal=unit_diagonal,
        transpose_a=transpose_a,
    )[0]


def batch_norm_training(
    operand: Tensor, scale: Tensor, offset: Tensor, epsilon: float, feature_index: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The normalized tensor, means, variances."""
    number = from_front(feature_index, rank_of(operand))
    made = emit("batch_norm_training", operand, scale, offset, epsilon=epsilon, feature_index=number)
    return made[0], made[1], made[2]


def batch_norm_inference(
    operand: Tensor,
    scale: Tensor,
    offset: Tensor,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
    feature_index: int,
) -> Tensor:
    """The tensor normalized by given means and variances."""
    number = from_front(feature_index, rank_of(operand))
    inputs = (operand, scale, offset, mean, variance)
    return emit("batch_norm_inference", *inputs, epsilon=epsilon, feature_index=number)[0]


def batch_norm_grad(
    operand: Tensor,
    scale: Tensor,
    mean: Tensor,
    variance: Tensor,
    grad_output: Tensor,
    epsilon: float,
    feature_index: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the operand, of the scale, of the offset."""
    number = from_front(feature_index, rank_of(operand))
    inputs = (operand, scale, mean, variance, grad_output)
    made = emit("batch_norm_grad", *inputs, epsilon=epsilon, feature_index=number)
    return made[0], made[1], made[2]


def squeeze(operand: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1: those of `axes`, all of them if None."""
    rank = rank_of(operand)
    gone = [d for d in range(rank) if operand.shape[d] == 1] if axes is None else dimensions(axes, rank)
    shape = tuple(size for d, size in enumerate(operand.shape) if d not in gone)
    return emit("reshape", operand, results=TensorType(shape, operand.element_type))[0]
