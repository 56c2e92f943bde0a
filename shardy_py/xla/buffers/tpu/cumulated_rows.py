"""The copies of rows before they are cumulated: XLA:TPU splits a dimension, and then turns what it has made.

    cumsum of [32, 32000]  ->  rows = reshape to [32, 250, 128];  turned = copy, 250 in lanes;  windows

No reshape moves elements into the order in which they are cumulated: that is a copy of its own. Neither is in
the fusion of the windows, which takes in only a transpose that leaves lanes as they are. Source: the HLO of
XLA:TPU for 47 cumulative sums on v5p. Not here: that order (`needed_orders.py`), what makes the rows
(`xla/prepare/cumulative_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from shardy_py.indexing.layout.formats import SUBLANES
from shardy_py.ops import TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.buffers.needed_orders import cumulated_along, cumulated_order
from shardy_py.xla.buffers.tpu.records import PLACED, Records, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


def with_rows_copied(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with the copies that windows over rows read.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    makers = {step.results[0]: step for step in steps if len(step.results) == 1}
    found: list[PlannedOp] = []
    for step in steps:
        if not is_fixed(step) and (reshape := _split(step, makers)) is not None and not is_fixed(reshape):
            *copies, step = _copied(step, reshape, makers.get(reshape.operands[0]), records)
            found += copies
        found.append(step)
    return found


def _split(step: PlannedOp, makers: Mapping[Name, PlannedOp]) -> PlannedOp | None:
    """The reshape that splits the last dimension into the rows that a step cumulates; None of other steps."""
    made, reshape = step.record.results[0] if step.record.results else None, None
    if COMPILED.of(step.record.name).form is NodeForm.WINDOW and made is not None:
        shapes = [shape_of(type_) for type_ in step.record.operands if type_ is not None]
        is_last = len(step.results) == 1 and cumulated_along(step.record, shapes) == made.rank - 1
        reshape = makers.get(step.operands[0]) if is_last and shapes[0] == shape_of(made) else None
    if reshape is None or COMPILED.of(reshape.record.name).form is not NodeForm.RESHAPE:
        return None
    (given,), (rows,) = reshape.record.operands, reshape.record.results
    is_split = given is not None and rows is not None and shape_of(given)[:-1] == shape_of(rows)[:-2]
    return reshape if is_split else None


def _copied(
    step: PlannedOp, reshape: PlannedOp, transpose: PlannedOp | None, records: Records
) -> Iterator[PlannedOp]:
    """The copies that a window over rows reads, and the window. transpose: what makes the split value."""
    source, (given,), (rows,) = reshape.operands[0], reshape.record.operands, reshape.record.results
    assert given is not None
    assert rows is not None
    order = cumulated_order(rows, rows.rank - 1).minor_to_major
    is_in_rows = prod(shape_of(given)[:-1]) == 1
    if transpose is not None and COMPILED.of(transpose.record.name).form is NodeForm.TRANSPOSE:
        lanes = _lanes(transpose)
        is_in_rows |= lanes < rows.rank - 2
        if is_in_rows and lanes == order[0]:
            yield step
            return
        (source,), (given,) = transpose.operands, transpose.record.operands
    rank, in_rows = rows.rank, tuple(reversed(range(rows.rank)))
    orders = {"rows": in_rows, "turned": order}
    if order[0] < rank - 2 and (rows.shape[-2] or 0) % SUBLANES:
        orders = {"columns": (order[0], rank - 1, *(d for d in in_rows[1:] if d != order[0]))}
    elif order == in_rows or is_in_rows:
        del orders["turned" if order == in_rows else "rows"]
    for name, minor_to_major in orders.items():
        made: Name = (step.results[0], name)
        record = records.of(PLACED, (given,), (rows,), minor_to_major=minor_to_major)
        yield step_of(record, (source,), (made,), step.source)
        source, given = made, rows
    yield replace(step, operands=(source, *step.operands[1:]))


def _lanes(transpose: PlannedOp) -> int:
    """The dimension of the result of a transpose that is in lanes before it."""
    (given,) = transpose.record.operands
    assert isinstance(given, TensorType)
    return integers(transpose.record.attributes, "permutation").index(least_padded(given)[-1])
