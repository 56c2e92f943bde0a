"""Sorts in which equal elements keep their order, which XLA:TPU makes sorts by places, too.

    sort(a)  ->  sort(a, iota), of which equal elements are compared by the second

It does so before it partitions: places are sharded as the elements are, and move with them. Places behind a
constraint of their sharding are not known as such: they are sorted twice, but made once. Source: openxla/xla,
xla/hlo/transforms/expanders/stable_sort_expander.cc; XLA:GPU runs it after the partitioner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import IotaOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

Recorded = Callable[[OpRecord, object, Callable[[], OpRecord | None]], OpRecord | None]
"""The record made of another one under a key: the same one for equal steps."""
_NUMBERS, _PLACES = IotaOp.name, "i32"


def sorted_with_places(
    step: PlannedOp, makers: Mapping[Name, PlannedOp], recorded: Recorded
) -> Sequence[PlannedOp]:
    """Returns the places of elements, and the sort of both; () for sorts that have places already.

    makers: of values, by their names.
    """
    type_ = step.record.results[0]
    if not step.record.attributes.get("is_stable") or type_ is None or not type_.shape:
        return ()
    dimension = step.record.attributes.get("dimension", -1) % len(type_.shape)
    if any(name in makers and _numbers(makers[name].record, dimension) for name in step.operands):
        return ()
    places = TensorType(type_.shape, _PLACES)
    numbers = OpRecord(_NUMBERS, (), (places,), {"iota_dimension": dimension})
    made = recorded(step.record, "places", lambda: numbers)
    both = recorded(step.record, "with places", lambda: _with(step.record, places))
    assert made is not None
    assert both is not None
    moved, target = (step.results[0], "sorted places"), step.targets[:1]
    equal = [name for name in step.operands if _numbers_as_sorted(name, makers, step, dimension)]
    name: Name = equal[0] if equal else (step.results[0], "places")
    made_first = () if equal else (PlannedOp(made, (), (name,), target),)
    return *made_first, PlannedOp(
        both,
        (*step.operands, name),
        (*step.results, moved),
        (*step.targets, *target),
        step.blocks,
        step.times,
        step.source,
    )


def _numbers_as_sorted(name: Name, makers: Mapping[Name, PlannedOp], step: PlannedOp, dimension: int) -> bool:
    """True for places that are constrained to the sharding in which they are sorted."""
    maker = makers.get(name)
    if maker is None or COMPILED.of(maker.record.name).form is not NodeForm.COPY:
        return False
    source = makers.get(maker.operands[0])
    return maker.targets == step.targets[:1] and source is not None and _numbers(source.record, dimension)


def _numbers(record: OpRecord, dimension: int) -> bool:
    """True if an op makes the places of elements along a dimension."""
    if record.name != _NUMBERS or record.results[0] is None or record.results[0].element != _PLACES:
        return False
    return record.attributes.get("iota_dimension") == dimension


def _with(record: OpRecord, places: TensorType) -> OpRecord:
    return replace(record, operands=(*record.operands, places), results=(*record.results, places))
