"""The maps of an op in both directions, as fusions and analyses use them; the maps of a sharding rule.

`output_to_input(record)[result][operand]` holds the maps from an element of the result to the elements of the
operand that it reads, `input_to_output(record)[operand][result]` those from an element of the operand to the
elements of the result that read it. Usually there is one map; none if nothing is read, several if an operand
is read in several ways. All follow from the op's row (`table.py`): its `closer` maps, or those that sharding
rules derive from. An op with a sharding rule of the user's (attribute `sdy.sharding_rule`) reads what
the rule allows, an op without maps reads everything.

A dimension that a rule maps to factors i, j is the mixed-radix number of their coordinates. A factor that is
carried through has the same coordinate in operands and results; a reduction, permutation or replicated factor
may be read anywhere: the maps over-approximate what the op reads.

>>> from shardy_py.ops.record import TensorType
>>> record = OpRecord("stablehlo.reshape", (TensorType((4, 8)),), (TensorType((32,)),))
>>> [str(maps[0][0][0]).splitlines()[0] for maps in (output_to_input(record), input_to_output(record))]
['(d0) -> (d0 floordiv 8, d0 mod 8),', '(d0, d1) -> (d0 * 8 + d1),']
>>> from shardy_py.sharding import Factor
>>> rule = ShardingRule((Factor(4), Factor(8, FactorType.REDUCTION)), (((0,), (1,)),), (((0,),),))
>>> record = OpRecord("stablehlo.custom_call", (TensorType((4, 8)),), (TensorType((4,)),))
>>> str(from_rule(record, rule)[0].operands[0]).splitlines()[0]
'(d0)[s0] -> (d0, s0),'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from shardy_py.indexing import Expr, IndexMap, constant, dim, extent, range_var, reverse
from shardy_py.ops.reads import Domain, Reads, all_results, everything, extents, shape_of
from shardy_py.ops.record import OpRecord, matching_attributes
from shardy_py.ops.table import row_of
from shardy_py.sharding import DimMapping, FactorType, ShardingRule


def rule_of(record: OpRecord) -> ShardingRule | None:
    """The rule that a record carries as its attribute `sdy.sharding_rule`."""
    rule = record.attributes.get("sdy.sharding_rule")
    return rule if isinstance(rule, ShardingRule) else None


def from_rule(record: OpRecord, rule: ShardingRule) -> tuple[Reads, ...]:
    """The elements that each result may read under the rule."""
    groups: list[Reads] = []
    for result in all_results(record):
        shape = shape_of(record.results[result])
        carried = _coordinates(rule, rule.results[result], shape)
        maps: list[IndexMap | None] = []
        for operand, mapping in zip(record.operands, rule.operands, strict=True):
            maps.append(_map(rule, carried, shape, shape_of(operand), mapping) if operand else None)
        groups.append(Reads((result,), tuple(maps)))
    return tuple(groups)


def _coordinates(
    rule: ShardingRule, mapping: tuple[DimMapping, ...], shape: tuple[int, ...]
) -> dict[int, Expr]:
    """The coordinates of the factors that are carried through to a result, as digits of its dimensions."""
    digits: dict[int, Expr] = {}
    sizes = rule.factor_sizes
    for position, factors in enumerate(mapping):
        below = prod(sizes[f] for f in factors)
        if below != shape[position]:
            continue
        for place, factor in enumerate(factors):
            below //= sizes[factor]
            digit = dim(position) // below
            if rule.factors[factor].type is FactorType.PASS_THROUGH:
                digits[factor] = digit % sizes[factor] if place else digit
    return digits


def _map(
    rule: ShardingRule,
    carried: Mapping[int, Expr],
    shape: tuple[int, ...],
    operand: tuple[int, ...],
    mapping: tuple[DimMapping, ...],
) -> IndexMap:
    ranges: list[int] = []
    known = dict(carried)

    def anywhere(size: int) -> Expr:
        ranges.append(size)
        return range_var(len(ranges) - 1)

    point: list[Expr] = []
    for size, factors in zip(operand, mapping, strict=True):
        if prod(rule.factor_sizes[f] for f in factors) != size:
            point.append(anywhere(size))
            continue
        total = constant(0)
        for factor in factors:
            if factor not in known:
                known[factor] = anywhere(rule.factor_sizes[factor])
            total = total * rule.factor_sizes[factor] + known[factor]
        point.append(total)
    return Domain(extents(shape), tuple(map(extent, ranges))).reading(tuple(point))


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
    """Returns whether the op has no maps, so that it is taken to read everything."""
    row = row_of(record)
    return rule_of(record) is None and row.maps is None and row.closer is None


def is_exact(record: OpRecord, operand: int | None = None) -> bool:
    """Returns whether the maps hold exactly the elements that a result may depend on.

    operand: only the maps to that operand.
    """
    row = row_of(record)
    if rule_of(record) is not None or reads_everything(record):
        return False
    loose = row.superset(record) if row.superset else frozenset[int]()
    return operand not in loose if operand is not None else not loose


def _groups(record: OpRecord) -> dict[int, list[Reads]]:
    """The elements that each result reads."""
    rule, row = rule_of(record), row_of(record)
    maps = row.closer or row.maps
    with matching_attributes(record):
        read = maps or everything
        groups = read(record) if rule is None else from_rule(record, rule)
    by_result: dict[int, list[Reads]] = {}
    for group in groups:
        for result in group.results:
            by_result.setdefault(result, []).append(group)
    return by_result


def _maps_to(
    record: OpRecord, groups: Mapping[int, Sequence[Reads]], result: int, operand: int
) -> tuple[IndexMap, ...]:
    if record.operands[operand] is None or record.results[result] is None:
        return ()
    maps = (group.operands[operand] for group in groups.get(result, ()))
    return _distinct(m.tidied for m in maps if m is not None)


def _distinct(maps: Iterable[IndexMap]) -> tuple[IndexMap, ...]:
    return tuple(dict.fromkeys(maps))
