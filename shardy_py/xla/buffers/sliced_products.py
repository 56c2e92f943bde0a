"""Products of which only a slice is used, which XLA:TPU makes alone: it slices the operands instead.

    slice(dot(a, b))  ->  dot(slice(a), b)

So the logits of all tokens but the last, or of the last alone, are never stored as a part of more. Only a
slice without strides that alone reads the product, of dimensions that devices do not share, and where nothing
is summed after it. Slices of operands are fused into the product, which reads them as they are: its record
keeps their types. From 22 programs, each compiled ahead of time: the pass convolution-folding of XLA:TPU,
after layouts are assigned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from itertools import chain

from shardy_py.mlir.dialects.stablehlo import DotGeneralOp, SliceOp
from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.spmd.program import Block, PlannedOp, edited, reads_of
from shardy_py.xla.spmd.walk import Sent


def with_sliced_products(
    block: Block, sent_for: Callable[[PlannedOp], Sequence[Sent]], originals: MutableMapping[int, int]
) -> Sequence[PlannedOp]:
    """Returns the steps of a block with products that make slices of them, instead of both.

    sent_for: the collectives of a step. originals: notes the identities of such products, and those of the
    steps that they replace.
    """
    makers = {step.results[0]: step for step in block.steps if step.record.name == DotGeneralOp.name}
    parts = [s for s in block.steps if s.record.name == SliceOp.name and s.operands[0] in makers]
    if not parts:
        return block.steps
    uses = Counter(chain(block.results, *map(reads_of, block.steps)))
    replaced: dict[int, PlannedOp | None] = {}
    for part in parts:
        product = makers[part.operands[0]]
        if uses[part.operands[0]] == 1 and not sent_for(part) and _is_made_alone(product, part, sent_for):
            whole = product.record
            record = OpRecord(whole.name, whole.operands, part.record.results, whole.attributes)
            made = edited(product, record, results=part.results, targets=part.targets)
            originals[id(made)] = id(product)
            replaced |= {id(product): made, id(part): None}
    return [own for step in block.steps if (own := replaced.get(id(step), step)) is not None]


def _is_made_alone(
    product: PlannedOp, part: PlannedOp, sent_for: Callable[[PlannedOp], Sequence[Sent]]
) -> bool:
    """True if a product can make a slice of it, each device of what it has."""
    given, made = part.record.operands[0], part.record.results[0]
    if given is None or made is None or product.is_unreduced:
        return False
    if any(step != 1 for step in integers(part.record.attributes, "strides")):
        return False
    changed = [d for d, (old, new) in enumerate(zip(given.shape, made.shape, strict=True)) if old != new]
    tiling = product.targets[0]
    if tiling is not None and any(tiling.dimensions[d] != 1 for d in changed):
        return False
    operands = {_operand_of(d, product.record) for d in changed}
    return all(each.operand >= 0 and each.operand not in operands for each in sent_for(product))


def _operand_of(dimension: int, record: OpRecord) -> int:
    """The operand of a product that a dimension of the result is of; the first one for a batch."""
    left = record.operands[0]
    assert left is not None
    return int(dimension >= DotDimensions.of(record.attributes).first_of_right(left.rank))
