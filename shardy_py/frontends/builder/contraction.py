"""Products of tensors: dot_general, einsum in letters.

Not here: `@` (`tensor.py`), convolutions (`ops/rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.base.errors import ShardyError
from shardy_py.frontends.builder.broadcasting import dimensions
from shardy_py.frontends.builder.tensor import Tensor, emit, rank_of
from shardy_py.frontends.builder.types import element_of
from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers

Pairs = tuple[Sequence[int], Sequence[int]]


def dot_general(
    lhs: Tensor,
    rhs: Tensor,
    contracting: Pairs,
    batching: Pairs = ((), ()),
    element_type: object = None,
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
    return emit(
        "dot_general",
        lhs,
        rhs,
        results=lhs.element_type if element_type is None else element_of(element_type),
        dot_dimension_numbers=DotDimensionNumbers(*batching, *contracting),
        precision_config=precision,
    )[0]


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
    if (set(left) ^ set(right)) - set(output) or not set(output) <= set(left + right):
        raise ShardyError(f"each letter of '{notation}' must be in the result or on both sides, and none new")
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in output]
    summed = [letter for letter in shared if letter not in output]
    contracting, batching = (
        ([left.index(x) for x in letters], [right.index(x) for x in letters]) for letters in (summed, batch)
    )
    result = dot_general(lhs, rhs, contracting, batching)
    order = [*batch, *(x for x in left if x not in shared), *(x for x in right if x not in shared)]
    permutation = [order.index(letter) for letter in output]
    if permutation == list(range(len(permutation))):
        return result
    return emit("transpose", result, permutation=permutation)[0]
