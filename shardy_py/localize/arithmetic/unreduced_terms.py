"""The unreduced axes that the result of an op has by what the op computes on each device.

    dot, contracted dimensions sharded along "x"      terms of a sum along "x"
    add of two operands unreduced along "x"           terms of a sum along "x"
    multiply of one by a replicated operand           terms of a sum along "x"
    sine of one, add of one and a replicated operand  no terms: the operands must be reduced first

Not here: changing the program (`localize/unreduced_results.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shardy_py.ops import TABLE, Linear
from shardy_py.sharding import Axes, FactorType, Mesh, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps, sort_and_merge
from shardy_py.sharding.rule import TensorMapping

Shardings = Sequence[TensorSharding | None]
Flags = Sequence[bool]


_TERMS: Mapping[Linear, Callable[[Flags], bool]] = {
    Linear.ALL: all,
    Linear.ONE: lambda flags: sum(flags) == 1,
    Linear.FIRST: lambda flags: flags[0] and not any(flags[1:]),
}
"""The operands that must be terms of a sum, and no others, so that the result is one."""


def is_linear(name: str, operands: Flags) -> bool:
    """True if the result is a term of a sum if exactly the flagged operands are."""
    row = TABLE.get(name)
    are_terms = None if row is None else _TERMS.get(row.linearity)
    return are_terms is not None and are_terms(operands)


def reduced_axes(rule: ShardingRule, operands: Shardings) -> Axes:
    """The axes that shard reduced factors of the operands."""
    return tuple(
        axis
        for sharding, tensor in zip(operands, rule.operands, strict=False)
        if sharding is not None
        for dimension, factors in zip(sharding.dimensions, tensor, strict=True)
        if any(rule.factors[factor].type is FactorType.REDUCTION for factor in factors)
        for axis in dimension.axes
    )


def common_axes(first: Axes, second: Axes, mesh: Mesh) -> Axes:
    """The axes in both, in the order of the mesh."""
    return sort_and_merge(difference(first, difference(first, second, mesh), mesh), mesh)


def without_unreduced(
    rule: ShardingRule, operands: Shardings, unreduced: Axes
) -> list[TensorSharding | None]:
    """The shardings of operands without the unreduced axes of the result in dimensions that are not reduced.

    The result would be sharded along these axes too.
    """
    return [
        None if sharding is None else _without(rule, sharding, tensor, unreduced)
        for sharding, tensor in zip(operands, rule.operands, strict=False)
    ]


def _without(
    rule: ShardingRule, sharding: TensorSharding, tensor: TensorMapping, unreduced: Axes
) -> TensorSharding:
    dimensions = tuple(
        dimension
        if any(rule.factors[factor].type is FactorType.REDUCTION for factor in factors)
        else replace(
            dimension, axes=tuple(axis for axis in dimension.axes if not overlaps((axis,), unreduced))
        )
        for dimension, factors in zip(sharding.dimensions, tensor, strict=True)
    )
    return sharding if dimensions == sharding.dimensions else replace(sharding, dimensions=dimensions)
