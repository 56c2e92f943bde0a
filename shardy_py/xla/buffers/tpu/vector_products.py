"""Products with a vector, which XLA:TPU multiplies and adds up instead, as other elementwise ops and sums.

    dot(x, w) of [1, 64] and [64, 48]  ->  reduce(multiply(broadcast(x), w)) of [64, 48]

What a fusion of them makes may be in VMEM, and needs no order. In batches products stay. Source: openxla/xla,
`HandleDot` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc; 14 such products that XLA:TPU compiled
for v5p. Not here: products that add up single elements, all pairs of those of two vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, MultiplyOp, ReduceOp, ReshapeOp
from shardy_py.ops import TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


def with_vectors_multiplied(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with multiplications and sums instead of products with a vector.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    found: list[PlannedOp] = []
    for step in steps:
        if COMPILED.of(step.record.name).form is NodeForm.PRODUCT and not is_fixed(step):
            found += [*_multiplied(step, records)] or [step]
        else:
            found.append(step)
    return found


def _multiplied(step: PlannedOp, records: Records) -> Iterator[PlannedOp]:
    """The steps that multiply and add up; none if no operand is a vector."""
    (left, right, *others), (made, *_) = step.record.operands, step.record.results
    if left is None or right is None or made is None or others or COMPILED.of(step.record.name).is_kernel:
        return
    numbers = DotDimensions.of(step.record.attributes)
    shapes = shape_of(left), shape_of(right)
    contracted = numbers.contracting
    if any(prod(shapes[0][d] for d in each) != 1 for each in numbers.batching[:1]) or not contracted[0]:
        return
    summed = prod(shapes[0][d] for d in contracted[0])
    vectors = [side for side in (1, 0) if prod(shapes[side]) == summed]
    if not vectors or summed == 1:
        return
    side = vectors[0]
    whole, part = (left, right) if side else (right, left)
    along = dict(sorted(zip(contracted[side], contracted[1 - side], strict=True)))
    line = TensorType(tuple([part.shape[d] for d in along]), part.element)
    matrix = tuple(along.values())
    sums = TensorType(tuple([n for d, n in enumerate(whole.shape) if d not in matrix]), made.element)
    (name,), source = step.results, step.source
    vector, spread, product, added = ((each, name) for each in ("vector", "spread", "multiplied", "added up"))
    yield step_of(records.of(ReshapeOp.name, (part,), (line,)), (step.operands[side],), (vector,), source)
    broadcast = records.of(BroadcastInDimOp.name, (line,), (whole,), broadcast_dimensions=matrix)
    yield step_of(broadcast, (vector,), (spread,), source)
    multiply = records.of(MultiplyOp.name, (whole, whole), (whole,))
    yield step_of(multiply, (step.operands[1 - side], spread), (product,), source)
    reduce = records.of(ReduceOp.name, (whole, None), (sums,), dimensions=matrix)
    yield step_of(reduce, (product,), (added,), source)
    yield step_of(records.of(ReshapeOp.name, (sums,), (made,)), (added,), (name,), source)
