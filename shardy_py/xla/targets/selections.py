"""Selections of the largest elements: calls that compare candidates of each device, or sorts.

    top_k(x)  ->  TopK(x)                                on GPUs, and on TPUs where few of many are selected
    top_k(x)  ->  sort(x, iota), slices of the first     on TPUs otherwise

Source: openxla/xla, xla/service/topk_rewriter.cc. Not here: when XLA:TPU sorts
(`xla/prepare/selection_sorts.py`), what is sent for either (`xla/spmd/sorts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import IotaOp, SliceOp, SortOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.custom_calls import CALL, TOP_K
from shardy_py.xla.prepare.selection_sorts import may_be_called
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.targets.stable_sorts import Recorded


def called(record: OpRecord) -> OpRecord | None:
    """Returns the call that selects the largest elements; None for other types, and for more than a batch."""
    if not may_be_called(record):
        return None
    attributes = {**record.attributes, "call_target_name": TOP_K}
    return replace(record, name=CALL, results=record.results[:1], attributes=attributes)


def sorted_selection(step: PlannedOp, tiling: Tiling | None, recorded: Recorded) -> Sequence[PlannedOp]:
    """Returns the sort of elements with their places, and the slices of the first; () without a tiling.

    tiling: of the elements, in which they are sorted.
    """
    (type_,), (values, places) = step.record.operands, step.results
    if tiling is None or type_ is None:
        return ()
    last = type_.rank - 1
    numbers = TensorType(type_.shape, "i32")
    both = type_, numbers
    iota = OpRecord(IotaOp.name, (), (numbers,), {"iota_dimension": last})
    sort = OpRecord(SortOp.name, both, both, {"dimension": last})
    made: list[PlannedOp] = []
    names: list[Name] = [(values, "numbers"), (values, "sorted"), (values, "sorted numbers")]
    for key, record, operands, results in (
        ("numbers", iota, (), tuple(names[:1])),
        ("sort", sort, (step.operands[0], names[0]), tuple(names[1:])),
    ):
        same = recorded(step.record, key, lambda record=record: record)
        assert same is not None
        source = step.source if operands else None
        made.append(PlannedOp(same, operands, results, (tiling,) * len(results), source=source))
    for i, (name, result) in enumerate(zip(names[1:], (values, places), strict=True)):
        part = recorded(step.record, ("first", i), lambda i=i: _first(step.record, both[i], i))
        assert part is not None
        made.append(PlannedOp(part, (name,), (result,), step.targets[i : i + 1], source=step.source))
    return made


def _first(record: OpRecord, sorted_: TensorType, result: int) -> OpRecord:
    """The slice of the first elements of what is sorted."""
    made = record.results[result]
    assert made is not None
    slices = {
        "start_indices": (0,) * made.rank,
        "limit_indices": made.shape,
        "strides": (1,) * made.rank,
    }
    return OpRecord(SliceOp.name, (sorted_,), (made,), slices)
