"""Scatters of single elements, which the cores for sparse data of a TPU run.

    x.at[i].add(a)  ->  j, b = sort(i, a);  x flat.at[j].add(b), as x is

They add, or take the larger or smaller element, of 32 bits. What is scattered into is flat, and in HBM, as
places and elements are; floats are sorted by places, so that sums are the same each time, unless the program
says that places are in order or different. Source: the HLO of XLA:TPU for 25 scatters of 64 to a million
elements on v5p. Not here: scatters of rows, which the core computes itself.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

from shardy_py.mlir.dialects.stablehlo import AddOp, MaximumOp, MinimumOp, ReshapeOp, SortOp
from shardy_py.mlir.record import combiners_of
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import ScatterDimensions
from shardy_py.xla.buffers.tpu.records import PLACED, Records, elements_of, step_of
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

_COMBINERS = frozenset((AddOp.name, MaximumOp.name, MinimumOp.name))
_FLAT: Mapping[str, object] = MappingProxyType(
    {
        "scatter_dimension_numbers": MappingProxyType(
            {"inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,), "index_vector_dim": 1}
        )
    }
)
"""The attributes of a scatter of elements into a row of them."""
_ELEMENTS = frozenset(("f32", "i32", "ui32"))


def is_on_sparse_cores(record: OpRecord) -> bool:
    """Returns whether a record is that of a scatter into a flat value, as `on_sparse_cores` makes it."""
    return record.attributes is _FLAT


def runs_on_sparse_cores(step: PlannedOp) -> bool:
    """Returns whether a step is a scatter of single elements that the cores for sparse data run."""
    record = step.record
    if COMPILED.of(record.name).form is not NodeForm.SCATTER or len(record.operands) != 3:
        return False
    _, places, added = record.operands
    op = source_op(step)
    if op is None or places is None or added is None or added.element not in _ELEMENTS:
        return False
    offsets = ScatterDimensions.of(record.attributes).offsets
    sizes = shape_of(added)
    return prod(sizes[d] for d in offsets) == 1 and {*combiners_of(op)} <= _COMBINERS


def on_sparse_cores(records: Records, own: PlannedOp) -> Iterator[PlannedOp]:
    """Yields the steps of such a scatter."""
    (base, at, values), (given, places, added) = own.operands, own.record.operands
    (made,) = own.record.results
    assert given is not None
    assert places is not None
    assert added is not None
    assert made is not None
    name, count = own.results[0], (elements_of(added),)
    numbers, elements = TensorType(count, places.element), TensorType(count, added.element)
    at = yield from _flat(records, own, at, places, numbers, (name, "places"))
    values = yield from _flat(records, own, values, added, elements, (name, "elements"))
    if _is_sorted(own.record):
        record = records.of(SortOp.name, (numbers, elements), (numbers, elements), dimension=0)
        sorted_: tuple[Name, Name] = ((name, "sorted places"), (name, "sorted elements"))
        yield step_of(record, (at, values), sorted_, own.source)
        at, values = sorted_
    whole = TensorType((elements_of(made),), made.element)
    base = yield from _flat(records, own, base, given, whole, (name, "base"))
    record = replace(own.record, operands=(whole, numbers, elements), results=(whole,), attributes=_FLAT)
    if whole.shape == made.shape:
        yield replace(own, record=record, operands=(base, at, values))
        return
    scattered: Name = (name, "flat")
    yield replace(own, record=record, operands=(base, at, values), results=(scattered,))
    yield step_of(records.of(PLACED, (whole,), (made,)), (scattered,), (name,), own.source)


def _is_sorted(record: OpRecord) -> bool:
    """True for floats in any order, of which several may be for one place."""
    added = record.operands[2]
    is_known = record.attributes.get("indices_are_sorted") or record.attributes.get("unique_indices")
    return added is not None and added.element == "f32" and not is_known


def _flat(
    records: Records, own: PlannedOp, value: Name, given: TensorType, made: TensorType, name: Name
) -> Generator[PlannedOp, None, Name]:
    """Makes all elements of a value in a row, and returns their name; it may have one dimension already."""
    if given.shape == made.shape:
        return value
    is_row = elements_of(given) == elements_of(made) and sum(size > 1 for size in shape_of(given)) <= 1
    kind = ReshapeOp.name if is_row else PLACED
    yield step_of(records.of(kind, (given,), (made,)), (value,), (name,), own.source)
    return name
