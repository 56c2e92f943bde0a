"""Dimensions of several factors, which their axes must divide evenly, major to minor.

    kernel dimension [j, l] of a convolution in 2 groups, j=2, l=3

4 parts of 6 elements are 01 23 45 --, but a device that holds half of l of one group holds 01, 2-, 34 or 5-.
An axis that divides j in unequal parts divides groups.

>>> from shardy_py.sharding import AxisRef
>>> [str(axis) for axis in divided_prefix((AxisRef("x"), AxisRef("y")), (2, 3), Mesh.of(x=2, y=2))]
['"x"']

Not here: reshapes, whose uneven parts may be exchanged (`reshape_groups.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.sharding import Axes, Mesh, ShardingRule, TensorSharding

Shardings = tuple[TensorSharding | None, ...]


def compound_factors(rule: ShardingRule) -> frozenset[int]:
    """The factors of more than one element that share a dimension with another one."""
    found: set[int] = set()
    for tensor in (*rule.operands, *rule.results):
        for dimension in tensor:
            several = [factor for factor in dimension if rule.factors[factor].size > 1]
            if len(several) > 1:
                found.update(several)
    return frozenset(found)


def divided_prefix(axes: Axes, sizes: Sequence[int], mesh: Mesh) -> Axes:
    """The axes that divide factors of these sizes evenly: each one before any after it, major to minor."""
    rest = iter(sizes)
    left = 1
    for position, axis in enumerate(axes):
        parts = axis.size(mesh)
        while parts > 1:
            if left == 1:
                left = next(rest, 0)
            if left and left % parts == 0:
                left, parts = left // parts, 1
            elif left and parts % left == 0:
                left, parts = 1, parts // left
            else:
                return axes[:position]
    return axes


def evenly_divided(
    rule: ShardingRule, shardings: Shardings, compound: frozenset[int], mesh: Mesh
) -> Shardings:
    """The shardings without axes that do not divide compound factors; of operands, then of results.

    A compound factor must be divided evenly also where it is a dimension of its own.
    """
    return tuple(
        None if sharding is None else _divided(rule, sharding, tensor, compound, mesh)
        for sharding, tensor in zip(shardings, (*rule.operands, *rule.results), strict=True)
    )


def _divided(
    rule: ShardingRule,
    sharding: TensorSharding,
    tensor: Sequence[Sequence[int]],
    compound: frozenset[int],
    mesh: Mesh,
) -> TensorSharding:
    dimensions = tuple(
        dimension
        if compound.isdisjoint(factors)
        else replace(
            dimension,
            axes=divided_prefix(dimension.axes, [rule.factors[factor].size for factor in factors], mesh),
        )
        for dimension, factors in zip(sharding.dimensions, tensor, strict=True)
    )
    return sharding if dimensions == sharding.dimensions else replace(sharding, dimensions=dimensions)
