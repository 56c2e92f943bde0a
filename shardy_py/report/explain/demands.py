"""The tensors that require an axis which a pass added by a reshard: others of the op, call or function.

    %1 = sdy.reshard %0 <@mesh, [{"x"}]>          inserted because operand 0 of `call @f` must be sharded as
    call @f(%1)                                   argument 0 of @f: that argument is the answer

Not here: tracing the axis from there (`tracing.py`), which reshards are needed (`reshard/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.data_flow import edge_owners, edge_sources
from shardy_py.mlir.dialects.sdy.attributes import OpShardingRuleAttr
from shardy_py.mlir.dialects.traits import data_flow, is_terminator
from shardy_py.mlir.holders import RULE, Holder, Place
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import Spot
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.propagation.rules import derive_rule
from shardy_py.propagation.step import common_mesh
from shardy_py.sharding import AxisRef, Mesh, Projection, TensorSharding

Shardings = tuple[TensorSharding | None, ...]


def requiring_tensors(
    op: Operation,
    position: int,
    dimension: int,
    axis: AxisRef,
    values: tuple[SSAValue, ...],
    shardings: Shardings,
    meshes: Mapping[str, Mesh],
) -> Iterator[tuple[Spot, int]]:
    """Returns the tensors, and their dimensions, with `axis` along the factor of a dimension of a tensor.

    position: of the tensor among operands, then results. values: all operands and results, without the
    reshards inserted between. shardings: those of the values before.
    """
    spot = _counterpart(op, position)
    if spot is not None:
        yield spot, dimension
        return
    along = tuple(_along_factors(op, position, dimension, axis, shardings, meshes))
    # An axis that cannot shard its factor shards another, such as the dimension of a concatenation.
    anywhere = (
        (other, at)
        for other, sharding in enumerate(shardings)
        for at, given in enumerate(sharding.dimensions if sharding is not None else ())
        if any(map(axis.overlaps, given.axes))
    )
    yield from ((values[other], at) for other, at in along or anywhere)


def required_alike(op: Operation, position: int) -> tuple[Spot, ...]:
    """Returns what an operand of `op` may have to be sharded like: its target, or all tensors of `op`."""
    spot = _counterpart(op, position) if position >= 0 else None
    return (*op.operands, *op.results) if spot is None else (spot,)


def _along_factors(
    op: Operation,
    position: int,
    dimension: int,
    axis: AxisRef,
    shardings: Shardings,
    meshes: Mapping[str, Mesh],
) -> Iterator[tuple[int, int]]:
    """Returns the positions of other tensors with `axis` along a factor of the dimension, and of theirs."""
    given = op.attributes.get(RULE)
    rule = given.data if isinstance(given, OpShardingRuleAttr) else derive_rule(record_of(op))
    mesh = common_mesh(shardings, meshes)
    if rule is None or mesh is None or len(rule.tensors) != len(shardings):
        return
    wanted = rule.tensors[position][dimension]
    for other, tensor in enumerate(Projection.build(rule, shardings, mesh[1]).tensors):
        for at, factors in enumerate(rule.tensors[other] if other != position else ()):
            along = (tensor.factors[factor] for factor in factors if factor in wanted)
            if any(axis.overlaps(other) for found in along if found is not None for other in found.axes):
                yield other, at


def _counterpart(op: Operation, position: int) -> Spot | None:
    """Returns the spot that operand `position` of a call, terminator or region op must be sharded like."""
    if position >= len(operands_of(op)):
        return None
    if isinstance(op, CallOp):
        root: Operation = op
        while (parent := root.parent_op()) is not None:
            root = parent
        function = Symbols(cast("object", root)).callee(op)  # pyright: ignore
        return function.regions[0].blocks[0].args[position]
    parent = op.parent_op() if is_terminator(op) else op
    if isinstance(parent, FuncOp):
        return Holder(Place.FUNCTION_RESULT, parent, position)
    if parent is not None and data_flow(parent) is not None:
        for owner in edge_owners(parent):
            if any(user is op and index == position for user, index in edge_sources(owner)):
                return owner
    return None
