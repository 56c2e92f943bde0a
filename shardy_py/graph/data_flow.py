"""Data-flow edges: which values of a control-flow or region op must be sharded alike.

An edge joins sources (operands of the op, or of a terminator in its regions) with targets (its results, or
block arguments of its regions). One target is the owner, it stands for the edge: `sdy.data_flow_edge` takes
the owner as its operand, and once it exists, its result carries the sharding of all targets.

    y = stablehlo.while(x) cond { ^c: ... } do { ^b: return r }     sources x, r; owner y; other targets c, b

One row of `DATA_FLOW` describes one op. Not here: making edges (`passes/add_data_flow_edges.py`), propagating
through them (`propagation/`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.graph.walk import owning_op, terminator_of

Source = tuple[Operation, int]
"""The use of a value as a source: the op that uses it and the operand's index."""

EDGE_NAME = "sdy.data_flow_edge"


@dataclass(frozen=True, slots=True)
class DataFlow:
    """The edges of one kind of op.

    sources: the sources of the edge of an owner.
    owner_of_argument: the owner of the edge whose target a block argument is; None: it is no target.
    owner_of_source: the owner that an operand of the op itself belongs to, as far as Shardy's look-up goes.
    other_targets: the targets of an edge beside its owner.
    has_argument_owners: whether block arguments own edges too, before the results.
    keeps_divisible: whether the shardings of owners must divide their dimensions.
    """

    sources: Callable[[Operation, SSAValue], tuple[Source, ...]]
    owner_of_argument: Callable[[Operation, BlockArgument], SSAValue | None]
    owner_of_source: Callable[[Operation, int], SSAValue | None]
    other_targets: Callable[[Operation, SSAValue], tuple[SSAValue, ...]]
    has_argument_owners: bool = False
    keeps_divisible: bool = False


def _result_at(op: Operation, index: int) -> SSAValue | None:
    return op.results[index] if index < len(op.results) else None


def _argument_index(owner: SSAValue) -> int:
    assert isinstance(owner, OpResult | BlockArgument)
    return owner.index


def _while_sources(op: Operation, owner: SSAValue) -> tuple[Source, ...]:
    body = terminator_of(op.regions[1])
    assert body is not None
    return ((op, _argument_index(owner)), (body, _argument_index(owner)))


def _branch_sources(op: Operation, owner: SSAValue) -> tuple[Source, ...]:
    terminators = (terminator_of(region) for region in op.regions)
    return tuple((t, _argument_index(owner)) for t in terminators if t is not None)


def _operand_source(op: Operation, owner: SSAValue) -> tuple[Source, ...]:
    return ((op, _argument_index(owner)),)


def _region_sources(op: Operation, owner: SSAValue) -> tuple[Source, ...]:
    if isinstance(owner, BlockArgument):
        return ((op, owner.index),)
    terminator = terminator_of(op.regions[0])
    assert terminator is not None
    return ((terminator, _argument_index(owner)),)


def _while_arguments(op: Operation, owner: SSAValue) -> tuple[SSAValue, ...]:
    index = _argument_index(owner)
    return tuple(region.blocks[0].args[index] for region in op.regions)


def _no_targets(op: Operation, owner: SSAValue) -> tuple[SSAValue, ...]:
    return ()


def _same_result(op: Operation, argument: BlockArgument) -> SSAValue | None:
    return _result_at(op, argument.index)


def _argument_itself(op: Operation, argument: BlockArgument) -> SSAValue | None:
    return argument


def _no_argument(op: Operation, argument: BlockArgument) -> SSAValue | None:
    return None


def _no_owner(op: Operation, index: int) -> SSAValue | None:
    return None


# An operand of a region op looks up no owner: Shardy's look-up answers with the operand itself, which never
# has an edge as its only user. So a change of such an operand does not wake the edge of its block argument.
_REGION_OP = DataFlow(
    _region_sources, _argument_itself, _no_owner, _no_targets, has_argument_owners=True, keeps_divisible=False
)

DATA_FLOW: dict[str, DataFlow] = {
    "stablehlo.while": DataFlow(_while_sources, _same_result, _result_at, _while_arguments),
    "stablehlo.case": DataFlow(_branch_sources, _no_argument, _result_at, _no_targets),
    "stablehlo.optimization_barrier": DataFlow(_operand_source, _no_argument, _result_at, _no_targets),
    "sdy.manual_computation": replace(_REGION_OP, keeps_divisible=True),
    "sdy.named_computation": _REGION_OP,
}


def argument_owners(op: Operation) -> Sequence[BlockArgument]:
    """The block arguments of `op` that own an edge."""
    row = DATA_FLOW.get(op.name)
    return op.regions[0].blocks[0].args if row is not None and row.has_argument_owners else ()


def result_owners(op: Operation) -> Sequence[OpResult]:
    """The results of `op` that own an edge."""
    return op.results if op.name in DATA_FLOW else ()


def edge_owners(op: Operation) -> tuple[SSAValue, ...]:
    """All owners of edges of `op`: block arguments, then results; () for an op without edges."""
    return (*argument_owners(op), *result_owners(op))


def edge_sources(owner: SSAValue) -> tuple[Source, ...]:
    """The sources of the edge of `owner`, as uses."""
    op = owning_op(owner)
    assert op is not None
    return DATA_FLOW[op.name].sources(op, owner)


def source_values(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The sources of the edge of `owner`, as values."""
    return tuple(user._operands[index] for user, index in edge_sources(owner))


def other_targets(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The targets of the edge of `owner` beside `owner` itself."""
    op = owning_op(owner)
    assert op is not None
    return DATA_FLOW[op.name].other_targets(op, owner)


def edge_targets(owner: SSAValue) -> tuple[SSAValue, ...]:
    """The targets of the edge of `owner`, the owner first."""
    return (owner, *other_targets(owner))


def owner_of_target(value: SSAValue) -> SSAValue | None:
    """The owner of the edge that has `value` as a target; None when there cannot be one."""
    op = owning_op(value)
    if op is None or (row := DATA_FLOW.get(op.name)) is None:
        return None
    return row.owner_of_argument(op, value) if isinstance(value, BlockArgument) else value


def edge_of_owner(owner: SSAValue | None) -> Operation | None:
    """The `sdy.data_flow_edge` of `owner`: its only user, if it is one."""
    if owner is None or (use := owner.first_use) is None or use._next_use is not None:
        return None
    user = use._operation
    return user if user.name == EDGE_NAME else None


def edge_of_target(value: SSAValue) -> Operation | None:
    """The `sdy.data_flow_edge` that has `value` as a target."""
    return edge_of_owner(owner_of_target(value))


def edge_of_source(user: Operation, index: int) -> Operation | None:
    """The `sdy.data_flow_edge` that has operand `index` of `user` as a source."""
    if (row := DATA_FLOW.get(user.name)) is not None:
        return edge_of_owner(row.owner_of_source(user, index))
    if user.name in TERMINATORS:
        parent = user.parent_op()
        if parent is not None and parent.name in DATA_FLOW:
            return edge_of_owner(_result_at(parent, index))
    return None


TERMINATORS = frozenset({"stablehlo.return", "sdy.return", "func.return"})
"""The terminators of the dialects in use; each ends its block and passes its operands on."""
