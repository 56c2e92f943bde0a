"""The op table: one row an op.

A new op is one row in its family's module and one example in the tests. An op of a user's dialect is
registered at run time:

>>> from shardy_py.ops.elementwise import pointwise
>>> register(OpSpec("mine.gelu", pointwise, is_elementwise=True))
>>> is_elementwise(OpRecord("mine.gelu", (), ()))
True
"""

from __future__ import annotations

from shardy_py.base.plugins import claim
from shardy_py.indexing import IndexMap
from shardy_py.ops import (
    collective,
    contraction,
    custom_calls,
    elementwise,
    indexed,
    movement,
    passing,
    reduction,
    windowed,
)
from shardy_py.ops.custom_calls import CALL
from shardy_py.ops.reads import Reads
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec, Storage
from shardy_py.ops.work import NO_WORK, Work, each_element

_FAMILIES = (
    collective,
    contraction,
    custom_calls,
    elementwise,
    indexed,
    movement,
    passing,
    reduction,
    windowed,
)


class _Table(dict[str, OpSpec]):
    """Rows by name; an op without a row has the default of every column."""

    def __missing__(self, name: str) -> OpSpec:
        return OpSpec(name)


TABLE: dict[str, OpSpec] = _Table({row.name: row for family in _FAMILIES for row in family.ROWS})
"""The row of every op; of an op without one, `TABLE[name]` has the defaults and `name in TABLE` is False."""


def register(spec: OpSpec) -> None:
    """Adds a row, or replaces the row of that name. Raises `ShardyError` if it is that of another plugin."""
    claim("row of op", spec.name)
    TABLE[spec.name] = spec


def row_of(record: OpRecord) -> OpSpec:
    """Returns the row of an op; a custom call's target counts as part of its name."""
    return TABLE[row_name(record)]


def row_name(record: OpRecord) -> str:
    """Returns the name of an op's row."""
    target = call_target(record)
    return record.name if target is None else f"{record.name}@{target}"


def call_target(record: OpRecord) -> str | None:
    """Returns the target of a custom call; None for other ops."""
    return record.attributes.get("call_target_name", "") if record.name == CALL else None


def reads_of(record: OpRecord) -> tuple[Reads, ...] | None:
    """Returns what an op reads; None if its row does not state it."""
    maps = row_of(record).maps
    return maps(record) if maps else None


def indexing_maps(record: OpRecord) -> tuple[tuple[IndexMap | None, ...], ...] | None:
    """For each result, the map to each operand, without the variables it does not use."""
    groups = reads_of(record)
    if groups is None:
        return None
    by_result: dict[int, tuple[IndexMap | None, ...]] = {}
    for group in groups:
        maps = tuple(m.trimmed() if m else None for m in group.operands)
        by_result.update(dict.fromkeys(group.results, maps))
    return tuple(by_result[result] for result in range(len(record.results)))


def is_elementwise(record: OpRecord) -> bool:
    """Returns whether each element of a result depends on the same element of the operands only."""
    return row_of(record).elementwise(record)


def work_of(record: OpRecord) -> Work:
    """Returns the arithmetic of an op on whole tensors; dynamic sizes count as 0."""
    row = row_of(record)
    if row.work is not None:
        return row.work(record) if record.is_static else NO_WORK
    is_computed = row.elementwise(record) and row.storage is Storage.NEW
    return each_element(record) if is_computed else NO_WORK
