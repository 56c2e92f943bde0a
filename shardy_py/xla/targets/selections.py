"""Selections of the largest elements: calls that compare candidates of each device, or sorts.

    top_k(x)  ->  TopK(x)                                on GPUs, and on TPUs where few of many are selected
    top_k(x)  ->  sort(x, iota), slices of the first     on TPUs otherwise

Source: openxla/xla, xla/service/topk_rewriter.cc; when XLA:TPU sorts is not public. Not here: what is sent
for either (`xla/spmd/sorts.py`).

>>> from shardy_py.ops import TensorType
>>> gates, vocabulary = (TensorType((64, size), "f32") for size in (8, 32768))
>>> [selects_few(OpRecord("chlo.top_k", (type_,), (), {"k": 2})) for type_ in (gates, vocabulary)]
[False, True]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import IotaOp, SliceOp, SortOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.custom_calls import CALL
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.targets.stable_sorts import Recorded

_CALLED = ("f32", "bf16")
"""Element types of what is selected by a call."""
_FOR_EACH, _LESS, _FOR_TWO = 82, 46, 76
"""The elements from which on XLA:TPU selects by a call, for two, and for each of more: bisected."""


def called(record: OpRecord) -> OpRecord | None:
    """Returns the call that selects the largest elements; None for other types, and for more than a batch."""
    (type_,) = record.operands
    if type_ is None or type_.element not in _CALLED or type_.rank > 2:
        return None
    attributes = {**record.attributes, "call_target_name": "TopK"}
    return replace(record, name=CALL, results=record.results[:1], attributes=attributes)


def selects_few(record: OpRecord) -> bool:
    """Returns whether so few of the elements are selected that XLA:TPU does not sort them."""
    (type_,) = record.operands
    if type_ is None or called(record) is None:
        return False
    count = int(record.attributes.get("k", 1))
    least = _FOR_TWO if count == 2 else _FOR_EACH * count - _LESS
    return count < 2 or (type_.shape[-1] or 0) >= least


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
