"""Who wanted an axis that a pass put on a reshard: what else of the op, call or function has it.

    %1 = sdy.reshard %0 <@mesh, [{"x"}]>          inserted because operand 0 of `call @f` has to be as
    call @f(%1)                                   argument 0 of @f is: that argument is the answer

Not here: following the axis from there (`tracing.py`), which reshards are needed (`partition/`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy.attributes import OpShardingRuleAttr
from shardy_py.graph.data_flow import DATA_FLOW, TERMINATORS, edge_owners, edge_sources
from shardy_py.graph.holders import RULE, Holder, Place
from shardy_py.graph.movements import Spot
from shardy_py.graph.record import record_of
from shardy_py.graph.symbols import Symbols
from shardy_py.propagation.step import common_mesh
from shardy_py.rules import derive_rule
from shardy_py.sharding import AxisRef, Mesh, Projection, ShardingRule, TensorSharding

CALL = "func.call"
FUNCTION = "func.func"

ShardingOf = Callable[[Spot], TensorSharding | None]


def demanders(
    op: Operation,
    position: int,
    dimension: int,
    axis: AxisRef,
    values: tuple[SSAValue, ...],
    sharding_of: ShardingOf,
    meshes: Mapping[str, Mesh],
) -> Iterator[tuple[Spot, int]]:
    """What has `axis` along the factor of a dimension of a tensor of `op`, with the dimension.

    position: of the tensor among operands, then results. values: all operands and results, without what was
    put between. sharding_of: their shardings before.
    """
    spot = _counterpart(op, position)
    if spot is not None:
        yield spot, dimension
        return
    rule = _rule_of(op)
    shardings = tuple(map(sharding_of, values))
    mesh = common_mesh(shardings, meshes)
    if rule is None or mesh is None or len(rule.tensors) != len(values):
        yield from _anywhere(values, shardings, axis)
        return
    projection = Projection.build(rule, shardings, mesh[1])
    wanted = rule.tensors[position][dimension]
    for other, tensor in enumerate(projection.tensors):
        for at, factors in enumerate(rule.tensors[other]):
            for factor in factors:
                along = tensor.factors[factor]
                if (
                    other != position
                    and factor in wanted
                    and along is not None
                    and any(axis.overlaps(a) for a in along.axes)
                ):
                    yield values[other], at


def _counterpart(op: Operation, position: int) -> Spot | None:
    """What operand `position` of a call, terminator or region op has to be sharded like."""
    if position >= len(op._operands):
        return None
    if op.name == CALL:
        root = op
        while (parent := root.parent_op()) is not None:
            root = parent
        function = Symbols(cast("object", root)).callee(op)  # pyright: ignore
        return function.regions[0].blocks[0].args[position]
    parent = op.parent_op() if op.name in TERMINATORS else op
    if parent is not None and parent.name == FUNCTION:
        return Holder(Place.FUNCTION_RESULT, parent, position)
    if parent is not None and parent.name in DATA_FLOW:
        for owner in edge_owners(parent):
            if any(user is op and index == position for user, index in edge_sources(owner)):
                return owner
    return None


def _rule_of(op: Operation) -> ShardingRule | None:
    given = op.attributes.get(RULE)
    return given.data if isinstance(given, OpShardingRuleAttr) else derive_rule(record_of(op))


def _anywhere(
    values: tuple[SSAValue, ...], shardings: tuple[TensorSharding | None, ...], axis: AxisRef
) -> Iterator[tuple[Spot, int]]:
    for value, sharding in zip(values, shardings, strict=True):
        for at, dimension in enumerate(sharding.dimensions if sharding is not None else ()):
            if any(axis.overlaps(other) for other in dimension.axes):
                yield value, at
