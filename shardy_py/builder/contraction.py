"""Products of tensors: dot_general, einsum in letters, convolutions.

Not here: `@` (`tensor.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardy_py.builder.broadcasting import static_shape
from shardy_py.builder.dimensions import dimensions
from shardy_py.builder.emit import emit_one
from shardy_py.builder.tensor import Tensor, value_of
from shardy_py.builder.types import TensorType, element_of
from shardy_py.dialects.stablehlo.structs import ConvDimensionNumbers, DotDimensionNumbers
from shardy_py.errors import ShardyError

Pairs = tuple[Sequence[int], Sequence[int]]


def dot_general(
    lhs: Tensor,
    rhs: Tensor,
    contracting: Pairs,
    batching: Pairs = ((), ()),
    element_type: Any = None,
    precision: Sequence[str] | None = None,
) -> Tensor:
    """A product with sums over the contracting dimensions.

    contracting, batching: dimensions of lhs, and those of rhs. The result has the batching dimensions, then
    the others of lhs, then those of rhs (StableHLO, "dot_general").
    """
    ranks = (lhs.rank, rhs.rank)
    batching, contracting = (
        (dimensions(pair[0], ranks[0]), dimensions(pair[1], ranks[1])) for pair in (batching, contracting)
    )
    numbers = DotDimensionNumbers(*batching, *contracting)
    batch = [lhs.shape[d] for d in batching[0]]
    free = [
        size
        for operand, side in ((lhs, 0), (rhs, 1))
        for d, size in enumerate(operand.shape)
        if d not in batching[side] and d not in contracting[side]
    ]
    element = lhs.element_type if element_type is None else element_of(element_type)
    return Tensor(
        emit_one(
            "dot_general",
            value_of(lhs),
            value_of(rhs),
            results=TensorType((*batch, *free), element),
            dot_dimension_numbers=numbers,
            precision_config=precision,
        )
    )


def einsum(notation: str, lhs: Tensor, rhs: Tensor) -> Tensor:
    """A product of two tensors in letters: `einsum("bsd,dh->bsh", x, w)`.

    Letters on both sides and in the result are batch dimensions, those not in the result are summed over.
    Raises `ShardyError` for a notation that does not fit, or a letter summed on one side alone.
    """
    inputs, arrow, output = notation.replace(" ", "").partition("->")
    sides = inputs.split(",")
    if not arrow or len(sides) != 2 or any(len(set(side)) != len(side) for side in (*sides, output)):
        raise ShardyError(f"expected a notation such as 'ij,jk->ik', got: '{notation}'")
    for side, operand in zip(sides, (lhs, rhs), strict=True):
        if len(side) != operand.rank:
            raise ShardyError(
                f"'{side}' in '{notation}' has {len(side)} letters; the tensor is {operand.type.text}"
            )
    left, right = sides
    alone = [
        letter for letter in left + right if letter not in output and not (letter in left and letter in right)
    ]
    if alone or not set(output) <= set(left + right):
        raise ShardyError(f"each letter of '{notation}' must be in the result or on both sides, and none new")
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in output]
    summed = [letter for letter in shared if letter not in output]
    result = dot_general(
        lhs,
        rhs,
        ([left.index(x) for x in summed], [right.index(x) for x in summed]),
        ([left.index(x) for x in batch], [right.index(x) for x in batch]),
    )
    order = [*batch, *(x for x in left if x not in shared), *(x for x in right if x not in shared)]
    permutation = [order.index(letter) for letter in output]
    if permutation == list(range(len(permutation))):
        return result
    return Tensor(emit_one("transpose", result.value, permutation=permutation))


def convolution(
    lhs: Tensor,
    rhs: Tensor,
    dimension_numbers: ConvDimensionNumbers | Mapping[str, Any],
    *,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> Tensor:
    """A convolution; sizes of the result as in StableHLO, "convolution"."""
    numbers = (
        dimension_numbers
        if isinstance(dimension_numbers, ConvDimensionNumbers)
        else ConvDimensionNumbers(**dimension_numbers)
    )
    image, kernel = static_shape(value_of(lhs)), static_shape(value_of(rhs))
    spatial = len(numbers.input_spatial_dimensions)
    shape = [0] * len(image)
    shape[numbers.output_batch_dimension] = image[numbers.input_batch_dimension] // batch_group_count
    shape[numbers.output_feature_dimension] = kernel[numbers.kernel_output_feature_dimension]
    for i in range(spatial):
        size = _dilated(image[numbers.input_spatial_dimensions[i]], lhs_dilation, i)
        window = _dilated(kernel[numbers.kernel_spatial_dimensions[i]], rhs_dilation, i)
        low, high = padding[i] if padding else (0, 0)
        stride = window_strides[i] if window_strides else 1
        room = size + low + high - window
        shape[numbers.output_spatial_dimensions[i]] = room // stride + 1 if room >= 0 else 0
    return Tensor(
        emit_one(
            "convolution",
            lhs.value,
            rhs.value,
            results=TensorType(tuple(shape), lhs.element_type),
            dimension_numbers=numbers,
            window_strides=window_strides,
            padding=padding,
            lhs_dilation=lhs_dilation,
            rhs_dilation=rhs_dilation,
            window_reversal=window_reversal,
            feature_group_count=feature_group_count,
            batch_group_count=batch_group_count,
        )
    )


def _dilated(size: int, dilation: Sequence[int] | None, i: int) -> int:
    return 0 if size == 0 else (size - 1) * (dilation[i] if dilation else 1) + 1
