"""Data-flow edges: the values of a control-flow or region op that must have the same sharding.

An edge connects sources (operands of the op, or of a terminator in its regions) with targets (its results, or
block arguments of its regions). One target is the owner: it is the operand of `sdy.data_flow_edge`, whose
result holds the sharding of all targets.

    y = stablehlo.while(x) cond { ^c: ... } do { ^b: return r }     sources x, r; owner y; other targets c, b

An interface of the op declares its edges (`mlir/dialects/sdy/interfaces.py`). Not here: inserting edges
(`passes/import_/data_flow_edges.py`), propagating through them (`propagation/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.sdy import DataFlowEdgeOp
from shardy_py.mlir.dialects.sdy.interfaces import Source
from shardy_py.mlir.dialects.traits import data_flow, is_terminator, required_data_flow
from shardy_py.mlir.ir import next_use, operands_of, owning_op
from shardy_py.mlir.text.source import position_of

EDGE_NAME = DataFlowEdgeOp.name


def argument_owners(op: Operation) -> Sequence[BlockArgument]:
    """The block arguments of `op` that own an edge."""
    flow = data_flow(op)
    return () if flow is None else flow.block_argument_edge_owners(op)


def result_owners(op: Operation) -> Sequence[OpResult]:
    """The results of `op` that own an edge."""
    flow = data_flow(op)
    return () if flow is None else flow.op_result_edge_owners(op)


def edge_owners(op: Operation) -> tuple[SSAValue, ...]:
    """All owners of edges of `op`: block arguments, then results; () for an op without edges."""
    return (*argument_owners(op), *result_owners(op))


def edge_sources(owner: SSAValue) -> tuple[Source, ...]:
    """The sources of the edge of `owner`, as uses; raises `ShardyError` if `owner` cannot have an edge."""
    op = owning_op(owner)
    if op is None or (flow := data_flow(op)) is None:
        edge = edge_of_owner(owner)
        place = None if edge is None else position_of(edge.location)
        what = f"invalid operand of '{EDGE_NAME}'"
        remedy = "run sdy-add-data-flow-edges, which inserts all edges"
        expected = "a target of data flow, such as a result of stablehlo.while"
        raise ShardyError(Diagnostic(what, place, expected=expected, remedy=remedy))
    return flow.edge_sources(op, owner)


def source_values(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The sources of the edge of `owner`, as values."""
    return tuple(operands_of(user)[index] for user, index in edge_sources(owner))


def edge_targets(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The targets of the edge of `owner`, the owner first."""
    op = owning_op(owner)
    assert op is not None
    return (owner, *required_data_flow(op).non_edge_owner_targets(op, owner))


def owner_of_target(value: SSAValue) -> SSAValue | None:
    """The owner of the edge of which `value` is a target, or None."""
    op = owning_op(value)
    if op is None or (flow := data_flow(op)) is None:
        return None
    return flow.edge_owner_from_target(op, value)


def edge_of_owner(owner: SSAValue | None) -> Operation | None:
    """The `sdy.data_flow_edge` of `owner`, which is its only user, or None."""
    if owner is None or (use := owner.first_use) is None or next_use(use) is not None:
        return None
    user = use.operation
    return user if user.name == EDGE_NAME else None


def edge_of_target(value: SSAValue) -> Operation | None:
    """The `sdy.data_flow_edge` of which `value` is a target, or None."""
    return edge_of_owner(owner_of_target(value))


def edge_of_source(user: Operation, index: int) -> Operation | None:
    """The `sdy.data_flow_edge` of which operand `index` of `user` is a source, or None."""
    op = user.parent_op() if is_terminator(user) else user
    if op is None or (flow := data_flow(op)) is None:
        return None
    return edge_of_owner(flow.edge_owner_from_source(op, user, index))
