"""The op table: one row an op, and what can be looked up in it.

A plain new op is one row in its family's module and one example in the tests. A user's own op is registered
at run time:

>>> from shardy_py.ops.elementwise import pointwise
>>> register(OpSpec("mine.gelu", pointwise, is_elementwise=True))
>>> is_elementwise(OpRecord("mine.gelu", (), ()))
True
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.indexing import IndexMap
from shardy_py.ops import (
    collective,
    contraction,
    custom_calls,
    elementwise,
    generator,
    indexed,
    movement,
    passing,
    reduction,
    windowed,
)
from shardy_py.ops.closer import CLOSER, SUPERSET
from shardy_py.ops.reads import OpSpec, Reads
from shardy_py.ops.record import OpRecord

_FAMILIES = (
    collective,
    contraction,
    custom_calls,
    elementwise,
    generator,
    indexed,
    movement,
    passing,
    reduction,
    windowed,
)
TABLE: dict[str, OpSpec] = {
    row.name: replace(row, closer=CLOSER.get(row.name), superset=SUPERSET.get(row.name))
    for family in _FAMILIES
    for row in family.ROWS
}


def register(spec: OpSpec) -> None:
    """Adds a row, or replaces the row of that name."""
    TABLE[spec.name] = spec


def row_of(record: OpRecord) -> OpSpec | None:
    """The row of an op; a custom call's target counts as part of its name."""
    return TABLE.get(row_name(record))


def row_name(record: OpRecord) -> str:
    """The name under which the table knows an op."""
    if record.name == "stablehlo.custom_call":
        return f"{record.name}@{record.attributes.get('call_target_name', '')}"
    return record.name


def reads_of(record: OpRecord) -> tuple[Reads, ...] | None:
    """What an op reads; None if the table does not state it."""
    row = row_of(record)
    return row.maps(record) if row and row.maps else None


def indexing_maps(record: OpRecord) -> tuple[tuple[IndexMap | None, ...], ...] | None:
    """For each result, the map to each operand, without the variables it does not use."""
    groups = reads_of(record)
    if groups is None:
        return None
    by_result = {result: group for group in groups for result in group.results}
    return tuple(
        tuple(m.trimmed() if m else None for m in by_result[result].operands)
        for result in range(len(record.results))
    )


def is_elementwise(record: OpRecord) -> bool:
    """Whether every element of a result depends on the same element of the operands alone."""
    if record.name == "stablehlo.bitcast_convert":
        operand, result = record.operands[0], record.results[0]
        return operand is not None and result is not None and operand.shape == result.shape
    row = TABLE.get(record.name)
    return row is not None and row.is_elementwise
