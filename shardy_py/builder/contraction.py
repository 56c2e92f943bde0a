"""Products of tensors: dot_general, einsum in letters, convolutions.

Not here: `@` (`tensor.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardy_py.builder.dimensions import dimensions
from shardy_py.builder.emit import emit_one
from shardy_py.builder.tensor import Tensor, rank_of, value_of
from shardy_py.builder.types import element_of
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
    ranks = (rank_of(lhs), rank_of(rhs))
    batching, contracting = (
        (dimensions(pair[0], ranks[0]), dimensions(pair[1], ranks[1])) for pair in (batching, contracting)
    )
    element = lhs.element_type if element_type is None else element_of(element_type)
    return Tensor(
        emit_one(
            "dot_general",
            value_of(lhs),
            value_of(rhs),
            results=element,
            dot_dimension_numbers=DotDimensionNumbers(*batching, *contracting),
            precision_config=precision,
        )
    )


def einsum(notation: str, lhs: Tensor, rhs: Tensor) -> Tensor:
    """A product of two tensors in letters: `einsum("bsd,dh->bsh", x, w)`.

    Letters on both sides and in the result are batch dimensions, those not in the result are summed over.
    Raises `ShardyError` for an invalid notation, and for a letter that is summed on one side only.
    """
    inputs, arrow, output = notation.replace(" ", "").partition("->")
    sides = inputs.split(",")
    if not arrow or len(sides) != 2 or any(len(set(side)) != len(side) for side in (*sides, output)):
        raise ShardyError(f"expected a notation such as 'ij,jk->ik', got: '{notation}'")
    for side, operand in zip(sides, (lhs, rhs), strict=True):
        if len(side) != rank_of(operand):
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
    """A convolution; sizes of the result as in StableHLO, "convolution"; elements as in `lhs`."""
    return Tensor(
        emit_one(
            "convolution",
            value_of(lhs),
            value_of(rhs),
            results=lhs.element_type,
            dimension_numbers=dimension_numbers,
            window_strides=window_strides,
            padding=padding,
            lhs_dilation=lhs_dilation,
            rhs_dilation=rhs_dilation,
            window_reversal=window_reversal,
            feature_group_count=feature_group_count,
            batch_group_count=batch_group_count,
        )
    )
