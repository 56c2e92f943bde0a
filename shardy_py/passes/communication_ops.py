"""Builds the ops of communication steps and inserts them between a value and its users.

Not a pass: several passes share it. Which steps are needed is decided in `partition/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    AllToAllParamListAttr,
    AxisRefListAttr,
    CollectivePermuteOp,
    ListOfAxisRefListsAttr,
    ReplicatedToUnreducedOp,
    ReshardOp,
    ShardedToUnreducedOp,
    TensorShardingAttr,
)
from shardy_py.dialects.sdy.syntax import REDUCTIONS
from shardy_py.dialects.traits import sharding_property
from shardy_py.graph.movements import Movement, note
from shardy_py.ir import (
    build_operation,
    operands_of,
    place_after,
    place_at_start,
    place_before,
    replace_operand,
    replace_uses,
)
from shardy_py.partition.collectives import AllGather, AllSlice, AllToAll, Collective, CollectivePermute
from shardy_py.partition.steps import AllReduce, ReplicatedToUnreduced, Reshard, ShardedToUnreduced, Step
from shardy_py.sharding import TensorSharding

RESHARDING = "sdy-insert-explicit-reshards"


def chain_before_use(
    user: Operation, index: int, steps: Iterable[Step], *, after_maker: bool = False
) -> None:
    """Inserts `steps` on operand `index` of `user`, before `user` or after the op that defines it."""
    value = made = operands_of(user)[index]
    last: Operation | None = None
    for step in steps:
        op = step_op(step, value, location_of(value))
        note(Movement(op.results[0], value, RESHARDING, user, index, new=step.sharding))
        if not after_maker:
            place_before(op, user)
        elif last is not None:
            place_after(op, last)
        elif isinstance(made, OpResult):
            place_after(op, made.op)
        else:
            assert isinstance(made.owner, Block)
            place_at_start(op, made.owner)
        last, value = op, op.results[0]
    if value is not made:
        replace_operand(user, index, value)


def chain_after_result(result: OpResult, steps: Iterable[Step], last: Operation) -> Operation:
    """Inserts `steps` between `result` and its users, after `last`; returns the last op inserted."""
    value: SSAValue = result
    for step in steps:
        op = step_op(step, value, result.op.location)
        note(Movement(op.results[0], value, RESHARDING, result.op, new=step.sharding))
        place_after(op, last)
        replace_uses(value, op.results[0], but_not_in=op)
        last, value = op, op.results[0]
    return last


def reshards(shardings: Iterable[TensorSharding]) -> tuple[Step, ...]:
    """One reshard to each sharding, in order."""
    return tuple(map(Reshard, shardings))


def location_of(value: SSAValue) -> Any:
    """The location of `value`."""
    return value.op.location if isinstance(value, OpResult) else getattr(value, "location", None)


def step_op(step: Step | Collective, value: SSAValue, location: Any) -> Operation:
    """The op of `step` on `value`, not yet inserted."""
    properties: dict[str, Attribute] = {}
    match step:
        case Reshard():
            op_class = ReshardOp
        case AllReduce(axes=axes, reduction=reduction):
            op_class = AllReduceOp
            properties["reduction_axes"] = AxisRefListAttr(axes)
            if reduction != REDUCTIONS[0]:
                properties["reduction_op"] = IntegerAttr(REDUCTIONS.index(reduction), i32)
        case ReplicatedToUnreduced(axes=axes):
            op_class = ReplicatedToUnreducedOp
            properties["axes"] = AxisRefListAttr(axes)
        case ShardedToUnreduced(axes=axes):
            op_class = ShardedToUnreducedOp
            properties["axes"] = ListOfAxisRefListsAttr(axes)
        case AllSlice(axes=axes):
            op_class = AllSliceOp
            properties["slicing_axes"] = ListOfAxisRefListsAttr(axes)
        case CollectivePermute():
            op_class = CollectivePermuteOp
        case AllToAll(axes=axes, source=source, target=target):
            op_class = AllToAllOp
            properties["params"] = AllToAllParamListAttr(((axes, source, target),))
        case AllGather(axes=axes):
            op_class = AllGatherOp
            properties["gathering_axes"] = ListOfAxisRefListsAttr(axes)
    op = build_operation(op_class, (value,), (value.type,), properties, {}, location)
    properties[sharding_property(op) or ""] = TensorShardingAttr(step.sharding)
    return op
