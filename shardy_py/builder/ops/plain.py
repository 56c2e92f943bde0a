"""Shape ops, comparisons, constants, gathers and custom calls as functions of tensors.

Not here: elementwise ops, which follow from their rows (`elementwise.py`), sizes known at run time
(`dynamic.py`), collectives and tokens (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from shardy_py.builder import broadcasting
from shardy_py.builder.dimensions import Dimensions, dimensions
from shardy_py.builder.dimensions import dimension as from_front
from shardy_py.builder.emit import emit_one, emit_op
from shardy_py.builder.tensor import Operand, Tensor, elementwise, emit, rank_of, unwrapped, value_of
from shardy_py.builder.types import TensorType, element_of, tensor
from shardy_py.dialects.stablehlo.structs import GatherDimensionNumbers
from shardy_py.errors import ShardyError


def constant(data: Any, element_type: Any = None, shape: tuple[int, ...] | None = None) -> Tensor:
    """A constant: an array, or a number that fills `shape`."""
    element = None if element_type is None else element_of(element_type)
    return Tensor(broadcasting.constant_value(data, element, shape))


def iota(shape: Sequence[int], dimension: int = 0, element_type: Any = "i32") -> Tensor:
    """The index along one dimension."""
    result = tensor(shape, element_type)
    return Tensor(emit_one("iota", results=result, iota_dimension=from_front(dimension, len(result.shape))))


def convert(operand: Tensor, element_type: Any) -> Tensor:
    """The elements converted to another type."""
    return Tensor(emit_one("convert", value_of(operand), results=element_of(element_type)))


def compare(lhs: Operand, rhs: Operand, direction: str, compare_type: str | None = None) -> Tensor:
    """Whether elements are EQ, NE, GE, GT, LE or LT."""
    return elementwise("compare", lhs, rhs, comparison_direction=direction, compare_type=compare_type)


def select(pred: Tensor, on_true: Operand, on_false: Operand) -> Tensor:
    """Elements of one or the other tensor."""
    chosen = broadcasting.together(unwrapped(on_true), unwrapped(on_false))
    return Tensor(emit_one("select", value_of(pred), *chosen))


def clamp(low: Operand, operand: Tensor, high: Operand) -> Tensor:
    """Elements kept between two bounds."""
    value = value_of(operand)
    bounds = [
        bound.value
        if isinstance(bound, Tensor) and not bound.rank
        else broadcasting.together(unwrapped(bound), value)[0]
        for bound in (low, high)
    ]
    return Tensor(emit_one("clamp", bounds[0], value, bounds[1]))


def reshape(operand: Tensor, shape: Sequence[int] | int) -> Tensor:
    """The elements, row-major, in another shape, in which one size may be -1."""
    sizes = broadcasting.static_shape(value_of(operand))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count, known = prod(sizes), prod(size for size in shape if size != -1)
    if sum(size == -1 for size in shape) > 1 or (-1 in shape and (known == 0 or count % known)):
        raise ShardyError(f"a tensor of shape {sizes} cannot be reshaped to {tuple(shape)}")
    result = tensor([count // known if size == -1 else size for size in shape], operand.element_type)
    return Tensor(emit_one("reshape", operand.value, results=result))


def transpose(operand: Tensor, permutation: Sequence[int]) -> Tensor:
    """The dimensions in another order."""
    order = dimensions(permutation, rank_of(operand))
    return Tensor(emit_one("transpose", value_of(operand), permutation=order))


def broadcast_in_dim(operand: Tensor, shape: Sequence[int], dimensions: Sequence[int]) -> Tensor:
    """Dimension i of the operand becomes dimension `dimensions[i]` of the result."""
    result = tensor(tuple(shape), operand.element_type)
    numbers = tuple(dimensions)
    return Tensor(
        emit_one("broadcast_in_dim", value_of(operand), results=result, broadcast_dimensions=numbers)
    )


def broadcast_to(operand: Tensor, shape: Sequence[int]) -> Tensor:
    """As numpy's `broadcast_to`."""
    return Tensor(broadcasting.broadcast_to(value_of(operand), tuple(shape)))


def slice_(
    operand: Tensor, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None
) -> Tensor:
    """The elements from `start` to before `limit`."""
    steps = strides or (1,) * rank_of(operand)
    return Tensor(
        emit_one("slice", value_of(operand), start_indices=start, limit_indices=limit, strides=steps)
    )


def dynamic_slice(operand: Tensor, start: Sequence[Operand], sizes: Sequence[int]) -> Tensor:
    """A window at an offset known at run time; numbers in `start` are as the tensors in it, else of i32."""
    if not rank_of(operand) and not start and not sizes:
        return operand  # the text of an op without offsets is read by nobody, MLIR included
    return Tensor(emit_one("dynamic_slice", value_of(operand), *_offsets(start), slice_sizes=sizes))


def dynamic_update_slice(operand: Tensor, update: Tensor, start: Sequence[Operand]) -> Tensor:
    """The tensor with a window replaced; `start` as in `dynamic_slice`."""
    return Tensor(emit_one("dynamic_update_slice", value_of(operand), value_of(update), *_offsets(start)))


def _offsets(start: Sequence[Operand]) -> list[SSAValue]:
    element = next((offset.element_type for offset in start if isinstance(offset, Tensor)), "i32")
    return [
        offset.value if isinstance(offset, Tensor) else broadcasting.constant_value(offset, element, ())
        for offset in start
    ]


def concatenate(inputs: Sequence[Tensor], dimension: int) -> Tensor:
    """Tensors behind each other."""
    number = from_front(dimension, rank_of(inputs[0])) if inputs else dimension
    return Tensor(emit_one("concatenate", *map(value_of, inputs), dimension=number))


def pad(
    operand: Tensor,
    padding_value: Operand,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> Tensor:
    """The tensor with elements before, behind and between its own."""
    value = value_of(operand)
    filler = unwrapped(padding_value)
    if not isinstance(padding_value, Tensor):
        filler = broadcasting.constant_value(padding_value, operand.element_type, ())
    return Tensor(
        emit_one(
            "pad",
            value,
            filler,
            edge_padding_low=low,
            edge_padding_high=high,
            interior_padding=interior or (0,) * rank_of(operand),
        )
    )


def reverse(operand: Tensor, axes: Dimensions) -> Tensor:
    """Dimensions read backwards."""
    numbers = dimensions(axes, rank_of(operand))
    return Tensor(emit_one("reverse", value_of(operand), dimensions=numbers))


def gather(
    operand: Tensor,
    start_indices: Tensor,
    dimension_numbers: GatherDimensionNumbers | Mapping[str, Any],
    slice_sizes: Sequence[int],
    *,
    indices_are_sorted: bool = False,
) -> Tensor:
    """Windows of the operand at indices."""
    return Tensor(
        emit_one(
            "gather",
            value_of(operand),
            value_of(start_indices),
            dimension_numbers=dimension_numbers,
            slice_sizes=slice_sizes,
            indices_are_sorted=indices_are_sorted or None,
        )
    )


def take(operand: Tensor, indices: Tensor) -> Tensor:
    """Rows of the operand: `operand[indices]`."""
    sizes = broadcasting.static_shape(value_of(operand))
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(indices.rank, indices.rank + len(sizes) - 1)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=indices.rank,
    )
    return gather(operand, indices, numbers, (1, *sizes[1:]))


def fft(operand: Tensor, fft_type: str, length: Sequence[int]) -> Tensor:
    """A Fourier transform: FFT, IFFT, RFFT or IRFFT."""
    return Tensor(emit_one("fft", value_of(operand), fft_type=fft_type, fft_length=length))


def cholesky(operand: Tensor, *, lower: bool = False) -> Tensor:
    """The Cholesky decomposition of batches of matrices."""
    return Tensor(emit_one("cholesky", value_of(operand), lower=lower))


def optimization_barrier(*operands: Tensor) -> tuple[Tensor, ...]:
    """The operands themselves; nothing is moved across."""
    values = [value_of(operand) for operand in operands]
    return tuple(map(Tensor, emit_op("optimization_barrier", *values, results=[v.type for v in values])))


def custom_call(
    target: str,
    inputs: Sequence[Tensor],
    results: Sequence[TensorType] | TensorType,
    **options: Any,
) -> tuple[Tensor, ...]:
    """A call of something the compiler knows by name; `options` as of `emit`: its sharding rule, say."""
    types = [results] if isinstance(results, TensorType) else results
    return emit("custom_call", *inputs, results=types, call_target_name=target, **options)
