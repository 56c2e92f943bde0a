"""Look-ups of one slice as slices, as XLA:TPU has them: they are fused with what reads them.

Source: openxla/xla, xla/service/gather_simplifier.cc. Not here: slices of what devices hold a part of.
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import DynamicSliceOp, GatherOp, ReshapeOp
from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import GatherDimensions
from shardy_py.xla.buffers.tpu.records import Records, step_of
from shardy_py.xla.spmd.program import PlannedOp


def with_slices(step: PlannedOp, whole: OpRecord, records: Records) -> list[PlannedOp]:
    """Returns the steps of a look-up of one slice, of a step of a device; none of another step.

    whole: the record of the op in the program. Parts that devices hold of what is looked up stay.
    """
    if step.record.name != GatherOp.name:
        return []
    (given, *indices), (made,) = step.record.operands, step.record.results
    known = whole.operands[0]
    numbers = GatherDimensions.of(step.record.attributes)
    if given is None or made is None or known is None or known.rank != given.rank:
        return []
    is_one = all(made.shape[dimension] == 1 for dimension in numbers.outer(made.rank))
    if not is_one or any(known.shape[dimension] != given.shape[dimension] for dimension in numbers.index_map):
        return []
    sizes = {dimension: made.shape[own] for dimension, own in numbers.windowed(given.rank)}
    part = replace(given, shape=tuple([sizes.get(dimension, 1) for dimension in range(given.rank)]))
    record = records.of(DynamicSliceOp.name, (given, *indices), (part,), slice_sizes=part.shape)
    name = ("slice", step.results[0])
    reshape = records.of(ReshapeOp.name, (part,), (made,))
    return [
        step_of(record, step.operands, (name,), step.source),
        step_of(reshape, (name,), step.results, step.source),
    ]
