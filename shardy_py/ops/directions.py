"""The maps of an op in both directions, as fusions and analyses use them.

`output_to_input(record)[result][operand]` holds the maps from an element of the result to the elements of the
operand that it reads, `input_to_output(record)[operand][result]` those from an element of the operand to the
elements of the result that read it. Usually there is one map; none if nothing is read, several if an operand
is read in several ways. All follow from the op's row (`table.py`): its `closer` maps, or those that sharding
rules derive from. An op with a sharding rule of the user's (attribute `sdy.sharding_rule`) reads what
the rule allows, an op without maps reads everything.

>>> from shardy_py.ops.record import TensorType
>>> record = OpRecord("stablehlo.reshape", (TensorType((4, 8)),), (TensorType((32,)),))
>>> [str(maps[0][0][0]).splitlines()[0] for maps in (output_to_input(record), input_to_output(record))]
['(d0) -> (d0 floordiv 8, d0 mod 8),', '(d0, d1) -> (d0 * 8 + d1),']
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.indexing import IndexMap, reverse
from shardy_py.ops.reads import Reads, everything, extents, shape_of
from shardy_py.ops.record import OpRecord, matching_attributes
from shardy_py.ops.ruled import from_rule, rule_of
from shardy_py.ops.table import row_of

Directed = tuple[tuple[tuple[IndexMap, ...], ...], ...]


def output_to_input(record: OpRecord) -> Directed:
    """For each result, for each operand, the maps from the result to the operand."""
    groups = _groups(record)
    return tuple(
        tuple(_maps_to(record, groups, result, operand) for operand in range(len(record.operands)))
        for result in range(len(record.results))
    )


def input_to_output(record: OpRecord) -> Directed:
    """For each operand, for each result, the maps from the operand to the result."""
    groups = _groups(record)
    by_operand: list[tuple[tuple[IndexMap, ...], ...]] = []
    for number, operand in enumerate(record.operands):
        target = extents(shape_of(operand))
        by_result = (_maps_to(record, groups, result, number) for result in range(len(record.results)))
        by_operand.append(tuple(_distinct(reverse(m, target) for m in maps) for maps in by_result))
    return tuple(by_operand)


def reads_everything(record: OpRecord) -> bool:
    """Whether the op has no maps, so that it is taken to read everything."""
    row = row_of(record)
    return rule_of(record) is None and row.maps is None and row.closer is None


def is_exact(record: OpRecord, operand: int | None = None) -> bool:
    """Whether the maps hold exactly the elements that a result may depend on.

    operand: only the maps to that operand.
    """
    row = row_of(record)
    if rule_of(record) is not None or reads_everything(record):
        return False
    loose = row.superset(record) if row.superset else frozenset[int]()
    return operand not in loose if operand is not None else not loose


def _groups(record: OpRecord) -> tuple[Reads, ...]:
    rule, row = rule_of(record), row_of(record)
    maps = row.closer or row.maps
    with matching_attributes(record):
        if rule is not None:
            return from_rule(record, rule)
        return maps(record) if maps else everything(record)


def _maps_to(record: OpRecord, groups: tuple[Reads, ...], result: int, operand: int) -> tuple[IndexMap, ...]:
    if record.operands[operand] is None or record.results[result] is None:
        return ()
    maps = (group.operands[operand] for group in groups if result in group.results)
    return _distinct(m.tidied for m in maps if m is not None)


def _distinct(maps: Iterable[IndexMap]) -> tuple[IndexMap, ...]:
    return tuple(dict.fromkeys(maps))
