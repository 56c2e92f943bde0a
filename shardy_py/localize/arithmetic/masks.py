"""The dimensions along which ops combine elements, and what to combine that changes nothing.

Padding may hold anything. An op that passes it on leaves it padding; an op that combines elements along a
padded dimension must find a neutral element there instead:

    dot_general, convolution    0 in both operands, along contracted, feature and spatial dimensions
    reduce                      the identity of its combiner; of a combiner without one, its initial value
    scatter                     an index out of bounds, which is skipped; if indices have no components,
                                the identity of the combiner in the updates

Not here: inserting masks (`localize/padding_masks.py`).
"""

from __future__ import annotations

from enum import Enum, auto

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Identity, OpRecord
from shardy_py.ops.dimensions import ConvolutionDimensions, DotDimensions, ScatterDimensions

Dimensions = tuple[int, ...]


class Fill(Enum):
    """A scalar that replaces padding and is not an identity.

    OUT_OF_BOUNDS: an index that is skipped. INITIAL: the initial value of a reduction.
    """

    OUT_OF_BOUNDS = auto()
    INITIAL = auto()


@dataclass(frozen=True, slots=True)
class Mask:
    """The value that must replace the padding of an operand along `dimensions`."""

    operand: int
    dimensions: Dimensions
    fill: Identity | Fill = Identity.ZERO


Masks = tuple[Mask, ...]


def dot_general_masks(record: OpRecord) -> Masks:
    """Contracted dimensions."""
    contracting = DotDimensions.of(record.attributes).contracting
    return tuple(Mask(index, dimensions) for index, dimensions in enumerate(contracting))


def dot_masks(record: OpRecord) -> Masks:
    """The last dimension of lhs and the first of rhs."""
    lhs = record.operands[0]
    assert lhs is not None
    return Mask(0, (lhs.rank - 1,)), Mask(1, (0,))


def convolution_masks(record: OpRecord) -> Masks:
    """Features and spatial dimensions."""
    numbers = ConvolutionDimensions.of(record.attributes)
    return (
        Mask(0, (numbers.feature, *numbers.spatial)),
        Mask(1, (numbers.in_feature, *numbers.kernel_spatial)),
    )


def scatter_masks(record: OpRecord) -> Masks:
    """Indices, or updates if indices have no components."""
    numbers = ScatterDimensions.of(record.attributes)
    position = len(record.results)
    indices = record.operands[position]
    assert indices is not None
    vector = numbers.vector
    if vector < indices.rank and indices.shape[vector] == 0:
        return _everywhere_updated(record, numbers)
    dimensions = tuple(d for d in range(indices.rank) if d != vector)
    return (Mask(position, dimensions, Fill.OUT_OF_BOUNDS),)


def _everywhere_updated(record: OpRecord, numbers: ScatterDimensions) -> Masks:
    """A scatter whose indices have no components: none is out of bounds, so the updates are masked."""
    combiner = TABLE[str(record.attributes.get("context.combiner"))].combiner
    if combiner is None:
        raise ShardyError.unsupported("uneven updates without indices that no known op combines")
    first = len(record.results) + 1
    updates = record.operands[first:]
    return tuple(
        Mask(first + index, numbers.outer(update.rank), combiner.identity)
        for index, update in enumerate(updates)
        if update is not None
    )


def reduce_masks(record: OpRecord, combiners: tuple[str | None, ...]) -> Masks:
    """The masks of a reduce.

    combiners: for each result, the op that alone combines its values, or None.
    """
    dimensions = tuple(record.attributes["dimensions"])
    rows = [TABLE[name or ""].combiner for name in combiners]
    # Results of other regions may depend on each other's values.
    fills = [Fill.INITIAL if None in rows or row is None else row.identity for row in rows]
    return tuple(Mask(index, dimensions, fill) for index, fill in enumerate(fills))
