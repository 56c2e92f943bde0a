"""Functions of StableHLO's ops that compute more than attributes: constants, shapes, sizes at run time.

Not here: functions from rows (`rows.py`, `elementwise.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder import broadcasting
from shardy_py.frontends.builder.broadcasting import dimension as from_front
from shardy_py.frontends.builder.broadcasting import dimensions
from shardy_py.frontends.builder.tensor import (
    Operand,
    Tensor,
    elementwise,
    emit,
    rank_of,
    unwrapped,
    value_of,
)
from shardy_py.frontends.builder.types import RankedTensorType, element_of, tensor
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers, GatherDimensionNumbers


def constant(data: Operand, element_type: object = None, shape: tuple[int, ...] | None = None) -> Tensor:
    """A constant: an array, or a number broadcast to `shape`."""
    element = None if element_type is None else element_of(element_type)
    return Tensor(broadcasting.constant_value(data, element, shape))


def iota(shape: Sequence[int], dimension: int = 0, element_type: Any = "i32") -> Tensor:
    """The index along one dimension."""
    result = tensor(shape, element_type)
    return emit("iota", results=result, iota_dimension=from_front(dimension, len(result.shape)))[0]


def compare(lhs: Operand, rhs: Operand, direction: str, compare_type: str | None = None) -> Tensor:
    """Returns whether elements are EQ, NE, GE, GT, LE or LT."""
    return elementwise("compare", lhs, rhs, comparison_direction=direction, compare_type=compare_type)


def select(pred: Tensor, on_true: Operand, on_false: Operand) -> Tensor:
    """Elements of one or the other tensor."""
    chosen = broadcasting.together(unwrapped(on_true), unwrapped(on_false))
    return emit("select", pred, *map(Tensor, chosen))[0]


def clamp(low: Operand, operand: Tensor, high: Operand) -> Tensor:
    """Elements clamped to two bounds."""
    value = value_of(operand)
    bounds = [
        bound
        if isinstance(bound, Tensor) and not bound.rank
        else Tensor(broadcasting.together(unwrapped(bound), value)[0])
        for bound in (low, high)
    ]
    return emit("clamp", bounds[0], operand, bounds[1])[0]


def reshape(operand: Tensor, shape: Sequence[int] | int) -> Tensor:
    """The elements, row-major, in another shape; one size may be -1."""
    sizes = broadcasting.static_shape(value_of(operand))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count, known = prod(sizes), prod(size for size in shape if size != -1)
    if sum(size == -1 for size in shape) > 1 or (-1 in shape and (known == 0 or count % known)):
        raise ShardyError(f"a tensor of shape {sizes} cannot be reshaped to {tuple(shape)}")
    result = tensor([count // known if size == -1 else size for size in shape], operand.element_type)
    return emit("reshape", operand, results=result)[0]


def broadcast_in_dim(operand: Tensor, shape: Sequence[int], dimensions: Sequence[int]) -> Tensor:
    """Dimension i of the operand becomes dimension `dimensions[i]` of the result."""
    result = tensor(tuple(shape), operand.element_type)
    return emit("broadcast_in_dim", operand, results=result, broadcast_dimensions=tuple(dimensions))[0]


def broadcast_to(operand: Tensor, shape: Sequence[int]) -> Tensor:
    """As numpy's `broadcast_to`."""
    return Tensor(broadcasting.broadcast_to(value_of(operand), tuple(shape)))


def dynamic_slice(operand: Tensor, start: Sequence[Operand], sizes: Sequence[int]) -> Tensor:
    """A window at a run-time offset; numbers in `start` get the type of its tensors, else i32."""
    if not rank_of(operand) and not start and not sizes:
        return operand  # MLIR cannot read the text of an op without offsets
    return emit("dynamic_slice", operand, *_offsets(start), slice_sizes=sizes)[0]


def dynamic_update_slice(operand: Tensor, update: Tensor, start: Sequence[Operand]) -> Tensor:
    """The tensor with a window replaced; `start` as in `dynamic_slice`."""
    return emit("dynamic_update_slice", operand, update, *_offsets(start))[0]


def _offsets(start: Sequence[Operand]) -> list[Tensor]:
    element = next((offset.element_type for offset in start if isinstance(offset, Tensor)), "i32")
    return [_scalar(offset, element) for offset in start]


def _scalar(value: Operand, element_type: str) -> Tensor:
    return value if isinstance(value, Tensor) else constant(value, element_type, ())


def concatenate(inputs: Sequence[Tensor], dimension: int) -> Tensor:
    """The tensors concatenated along a dimension."""
    number = from_front(dimension, rank_of(inputs[0])) if inputs else dimension
    return emit("concatenate", *inputs, dimension=number)[0]


def pad(
    operand: Tensor,
    padding_value: Operand,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> Tensor:
    """The tensor padded before, after and between its elements."""
    return emit(
        "pad",
        operand,
        _scalar(padding_value, operand.element_type),
        edge_padding_low=low,
        edge_padding_high=high,
        interior_padding=interior or (0,) * rank_of(operand),
    )[0]


def take(operand: Tensor, indices: Tensor) -> Tensor:
    """Rows of the operand: `operand[indices]`."""
    sizes = broadcasting.static_shape(value_of(operand))
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(indices.rank, indices.rank + len(sizes) - 1)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=indices.rank,
    )
    sizes = (1, *sizes[1:])
    return emit("gather", operand, indices, dimension_numbers=numbers, slice_sizes=sizes)[0]


def optimization_barrier(*operands: Tensor) -> tuple[Tensor, ...]:
    """The operands; the compiler moves no op across."""
    return emit("optimization_barrier", *operands, results=[value_of(t).type for t in operands])


def custom_call(
    target: str,
    inputs: Sequence[Tensor],
    results: Sequence[RankedTensorType] | RankedTensorType,
    **options: Any,
) -> tuple[Tensor, ...]:
    """A call of a target by name; `options` as of `emit`: a sharding rule, for example."""
    types = [results] if isinstance(results, RankedTensorType) else results
    return emit("custom_call", *inputs, results=types, call_target_name=target, **options)


def dynamic_conv(
    lhs: Tensor,
    rhs: Tensor,
    padding: Tensor,
    dimension_numbers: ConvDimensionNumbers | Mapping[str, object],
    result: RankedTensorType,
    **attributes: object,
) -> Tensor:
    """A convolution with run-time padding; `attributes` are those of the op."""
    counts: dict[str, Any] = {"feature_group_count": 1, "batch_group_count": 1, **attributes}
    return emit(
        "dynamic_conv", lhs, rhs, padding, results=result, dimension_numbers=dimension_numbers, **counts
    )[0]


def bitcast_convert(operand: Tensor, element_type: object, shape: Sequence[int] | None = None) -> Tensor:
    """The bits read as elements of another type; `shape` where the types' widths differ."""
    element = element_of(element_type)
    result = element if shape is None else tensor(shape, element)
    return emit("bitcast_convert", operand, results=result)[0]


def squeeze(operand: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1: those of `axes`, all of them if None."""
    rank = rank_of(operand)
    gone = [d for d in range(rank) if operand.shape[d] == 1] if axes is None else dimensions(axes, rank)
    shape = tuple(size for d, size in enumerate(operand.shape) if d not in gone)
    return emit("reshape", operand, results=RankedTensorType(shape, operand.element_type))[0]
