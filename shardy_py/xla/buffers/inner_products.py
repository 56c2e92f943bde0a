"""Which products XLA:TPU computes inside another product that alone reads them, so that they are not stored.

The outer product reads what is made with the inner one as it is, both round their operands to bf16, and the
inner one sums over few elements. Where the outer one sums over columns of the inner one, each of its rows
needs all of the inner's second operand, which has to be small. Source: 50 pairs of products of 256 to 16,384
rows and columns that XLA:TPU compiled for v5p. 44 are as said here; of 4 more it computes one in the other.
And 44 pairs in batches.

Not here: what is fused otherwise (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_SUMMED, _WHOLE, _OTHER = 2048, 1 << 20, 4 << 20
"""The elements from which on the inner product sums over too many, its operand is too large to be needed
whole, and the other operand of the outer product is too large beside that."""


def is_inner(
    made: PlannedOp, products: Sequence[PlannedOp], reader: PlannedOp, types: Mapping[Name, TensorType]
) -> bool:
    """Returns whether what a step makes with products is computed in the product that alone reads it.

    types: of values, on a device.
    """
    if len(products) != 1 or not all(map(_rounds, (*products, reader))):
        return False
    sides = [side for side, name in enumerate(reader.operands) if name == made.results[0]]
    outer = DotDimensions.of(reader.record.attributes)
    if len(sides) != 1 or outer.batching[sides[0]] not in ((), (0,)):
        return False
    inner, (side,) = DotDimensions.of(products[0].record.attributes), sides
    left, right = (_shape(types, name) for name in products[0].operands[:2])
    shape, other = _shape(types, made.results[0]), _shape(types, reader.operands[1 - side])
    if len(shape) != len(left) + len(right) - len(inner.batching[0]) - 2 * len(inner.contracting[0]):
        return False
    summed = prod(left[d] for d in inner.contracting[0])
    if summed >= _SUMMED:
        return False
    rows = len(left) - len(inner.contracting[0])
    columns = [shape[d] for d in outer.contracting[side] if d >= rows]
    return not columns or (summed * prod(columns) < _WHOLE and prod(other) < _OTHER)


def is_turned(made: PlannedOp, readers: Sequence[PlannedOp], types: Mapping[Name, TensorType]) -> bool:
    """Returns whether a product reads what was made in batches, one behind another, in batches of its own.

    These come first in memory then, so that no product is computed in the one that made it.
    """
    shape = _shape(types, made.results[0])
    batching = (
        numbers
        for reader in readers
        if COMPILED.of(reader.record.name).form is NodeForm.PRODUCT
        for name, numbers in zip(
            reader.operands, DotDimensions.of(reader.record.attributes).batching, strict=False
        )
        if name == made.results[0]
    )
    return shape[:1] != (1,) and any(numbers not in ((), (0,)) for numbers in batching)


def _rounds(step: PlannedOp) -> bool:
    """True for a product, no convolution, whose operands are rounded to bf16."""
    if COMPILED.of(step.record.name).form is not NodeForm.PRODUCT:
        return False
    return "HIGH" not in str(step.record.attributes.get("precision_config"))


def _shape(types: Mapping[Name, TensorType], name: Name) -> tuple[int, ...]:
    type_ = types.get(name)
    return () if type_ is None else tuple(size or 0 for size in type_.shape)
