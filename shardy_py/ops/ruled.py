"""Indexing maps from a sharding rule, such as the user's rule of a custom call.

A dimension that maps to factors i, j is the mixed-radix number of their coordinates. A factor that is carried
through has the same coordinate in operands and results; a reduction, permutation or replicated factor may be
read anywhere: the maps over-approximate what the op reads.

>>> from shardy_py.ops.record import TensorType
>>> from shardy_py.sharding import Factor, FactorType, ShardingRule
>>> rule = ShardingRule((Factor(4), Factor(8, FactorType.REDUCTION)), (((0,), (1,)),), (((0,),),))
>>> attributes = {"sdy.sharding_rule": rule}
>>> record = OpRecord("stablehlo.custom_call", (TensorType((4, 8)),), (TensorType((4,)),), attributes)
>>> str(from_rule(record, rule)[0].operands[0]).splitlines()[0]
'(d0)[s0] -> (d0, s0),'
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from shardy_py.indexing import Expr, IndexMap, constant, dim, extent, range_var
from shardy_py.ops.reads import Domain, Reads, all_results, extents, shape_of
from shardy_py.ops.record import OpRecord
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
