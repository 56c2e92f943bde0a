"""The ops of a program with the types that they had before all floats became f64.

Not here: the runs (`exact_programs.py`), what each op means (`field/facet.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue

from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.ops import Control, OpRecord
from shardy_py.ops.table import row_of
from shardy_py.run.proof.field.arithmetic import FieldSite
from shardy_py.run.proof.field.conversions import Format, format_of, kept_format
from shardy_py.run.proof.float_loops import ends_by_floats


def noted_sites(module: ModuleOp, sites: list[dict[Operation, FieldSite]]) -> Callable[[], None]:
    """Returns what adds the sites of a program when it is wide."""
    records = _records_of(module)
    formats = _formats_of(records)

    def widened() -> None:
        sites.append(_widened_sites(module, records, formats))

    return widened


def _records_of(module: ModuleOp) -> dict[Operation, OpRecord]:
    """Returns the ops with their types, before widening."""
    return {op: record_of(op) for op in walk_pre_order(module) if op.results}


def _formats_of(records: dict[Operation, OpRecord]) -> dict[SSAValue, Format | None]:
    """Returns the format in which each value is exact."""
    found: dict[SSAValue, Format | None] = {}
    for op, record in records.items():
        given = tuple(
            found[value] if value in found else format_of(type_)
            for value, type_ in zip(operands_of(op), record.operands, strict=False)
        )
        kept = kept_format(record, given) if len(record.results) == 1 else None
        for result, type_ in zip(op.results, record.results, strict=False):
            found[result] = format_of(type_) if kept is None else kept
    return found


def _widened_sites(
    module: ModuleOp, records: dict[Operation, OpRecord], formats: dict[SSAValue, Format | None]
) -> dict[Operation, FieldSite]:
    """Returns the sites of ops whose floats are f64 now."""
    sites: dict[Operation, FieldSite] = {}
    symbols = Symbols(module)
    conditions = _conditions_of(records)
    for op, original in records.items():
        given = tuple(
            formats[value] if value in formats else format_of(type_)
            for value, type_ in zip(operands_of(op), original.operands, strict=False)
        )
        is_condition = op.parent_region() in conditions
        sites[op] = FieldSite(original, record_of(op), given, is_condition, ends_by_floats(op, symbols))
    return sites


def _conditions_of(records: dict[Operation, OpRecord]) -> frozenset[Region | None]:
    """Returns the conditions of loops with results."""
    loops = (op for op, record in records.items() if op.regions and row_of(record).control is Control.LOOP)
    return frozenset(loop.regions[0] for loop in loops)
