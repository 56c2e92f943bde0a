"""Builds the ops of communication steps and inserts them between a value and its users.

Not a pass: several passes share it. Which steps are needed is decided in `reshard/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.movements import Movement, note, note_inserted
from shardy_py.mlir.plain import tensor_type
from shardy_py.ops import REDUCTIONS
from shardy_py.reshard.collectives import AllGather, AllSlice, AllToAll, Collective, CollectivePermute
from shardy_py.reshard.steps import AllReduce, ReplicatedToUnreduced, Reshard, ShardedToUnreduced, Step
from shardy_py.sharding import TensorSharding

RESHARDING = "sdy-insert-explicit-reshards"


def chain_before_use(
    user: Operation,
    index: int,
    steps: Iterable[Step | Collective],
    *,
    after_maker: bool = False,
) -> None:
    """Inserts `steps` on operand `index` of `user`, before `user` or after the op that defines it."""
    value = made = ir.operands_of(user)[index]
    for step in steps:
        op = step_op(step, value, location_of(value))
        note(Movement(op.results[0], value, RESHARDING, user, index, new=step.sharding))
        if after_maker:
            ir.place_after_value(op, value)
        else:
            ir.place_before(op, user)
        value = op.results[0]
    if value is not made:
        ir.replace_operand(user, index, value)


def chain_after_result(result: OpResult, steps: Iterable[Step], last: Operation) -> Operation:
    """Inserts `steps` between `result` and its users, after `last`; returns the last op inserted."""
    value: SSAValue = result
    for step in steps:
        op = step_op(step, value, result.op.location)
        note(Movement(op.results[0], value, RESHARDING, result.op, new=step.sharding))
        ir.place_after(op, last)
        ir.replace_uses(value, op.results[0], but_not_in=op)
        last, value = op, op.results[0]
    return last


def location_of(value: SSAValue) -> Any:
    """The location of `value`."""
    return value.op.location if isinstance(value, OpResult) else getattr(value, "location", None)


_FORMS: dict[type, tuple[type[Operation], str, Callable[[Any], Attribute]]] = {
    AllReduce: (sdy.AllReduceOp, "reduction_axes", sdy.AxisRefListAttr),
    ReplicatedToUnreduced: (sdy.ReplicatedToUnreducedOp, "axes", sdy.AxisRefListAttr),
    ShardedToUnreduced: (sdy.ShardedToUnreducedOp, "axes", sdy.ListOfAxisRefListsAttr),
    AllSlice: (sdy.AllSliceOp, "slicing_axes", sdy.ListOfAxisRefListsAttr),
    AllGather: (sdy.AllGatherOp, "gathering_axes", sdy.ListOfAxisRefListsAttr),
}
"""The op of each step along axes, and its property for the axes."""


def step_op(step: Step | Collective, value: SSAValue, location: Attribute | None) -> Operation:
    """The op of `step` on `value`, not yet inserted."""
    properties: dict[str, Attribute] = {}
    match step:
        case Reshard():
            return identity_op(sdy.ReshardOp, value, step.sharding, location)
        case CollectivePermute():
            op_class = sdy.CollectivePermuteOp
        case AllToAll(axes=axes, source=source, target=target):
            op_class = sdy.AllToAllOp
            properties["params"] = sdy.AllToAllParamListAttr(((axes, source, target),))
        case _:
            op_class, name, attribute = _FORMS[type(step)]
            properties[name] = attribute(step.axes)
            if isinstance(step, AllReduce) and step.reduction != REDUCTIONS[0]:
                properties["reduction_op"] = IntegerAttr(REDUCTIONS.index(step.reduction), i32)
    properties["out_sharding"] = sdy.TensorShardingAttr(step.sharding)
    op = ir.build_operation(op_class, (value,), (value.type,), properties, {}, location)
    note_inserted(op)
    return op


def identity_op(
    op_class: type[Operation], value: SSAValue, sharding: TensorSharding | None, location: Attribute | None
) -> Operation:
    """An op on `value` with its type and the property `sharding`, not yet inserted."""
    properties: dict[str, Attribute] = {"sharding": sdy.TensorShardingAttr(sharding)} if sharding else {}
    op = ir.build_operation(op_class, (value,), (value.type,), properties, {}, location)
    note_inserted(op)
    return op


def only_user(op: Operation) -> Operation | None:
    """The user of the result of `op` if there is a single use."""
    use = op.results[0].first_use
    return use.operation if use is not None and ir.next_use(use) is None else None


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, 0 for dynamic ones; () for other types."""
    tensor = tensor_type(value.type)
    return tuple(size or 0 for size in tensor.shape) if tensor is not None else ()
