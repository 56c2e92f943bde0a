"""Rewrites of collectives that undo each other, do nothing, or combine to one collective.

all_slice of all_gather along the same axes     the operand
all_slice of all_reduce                         reduce_scatter (see `partition/scatter_fusion.py`)
all_to_all of all_to_all in other dimensions    one all_to_all
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    AllToAllParamListAttr,
    CollectiveOp,
    CollectivePermuteOp,
    ListOfAxisRefListsAttr,
    ReduceScatterOp,
    ReplicatedToUnreducedOp,
    ShardedToUnreducedOp,
    TensorShardingAttr,
)
from shardy_py.graph.movements import note_moved, replace_by_values, replace_op
from shardy_py.graph.symbols import meshes_of, module_of
from shardy_py.graph.value_shardings import ShardingReader
from shardy_py.ir import build_operation, erase, operands_of, place_before
from shardy_py.partition.compare import is_equivalent
from shardy_py.partition.scatter_fusion import scatter_fusion
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge
from shardy_py.sharding.meshes import mesh_of
from shardy_py.text.location_syntax import fuse

LABEL = "sdy-collective"
_PASS = "canonicalize"
Params = tuple[tuple[Axes, int, int], ...]


def _data(op: Operation, name: str) -> Any:
    return cast(Any, op.properties[name]).data


def _producer(op: Operation, op_class: type[CollectiveOp]) -> Operation | None:
    """The op that defines the operand of `op`, if it is of that class."""
    value = operands_of(op)[0]
    return value.op if isinstance(value, OpResult) and isinstance(value.op, op_class) else None


def _replace_by(op: Operation, value: SSAValue) -> bool:
    replace_by_values(op, (value,))
    return True


def _without_axes(name: str) -> Callable[[Operation], bool]:
    """Removes a collective whose axes, in property `name`, are empty."""

    def apply(op: Operation) -> bool:
        return not any(_data(op, name)) and _replace_by(op, operands_of(op)[0])

    return apply


def _permute_to_same(op: Operation) -> bool:
    source = ShardingReader().of(operands_of(op)[0])
    return is_equivalent(source, _data(op, "out_sharding")) and _replace_by(op, operands_of(op)[0])


def _slice_of_gather(op: Operation) -> bool:
    gather = _producer(op, AllGatherOp)
    if gather is None or _data(gather, "gathering_axes") != _data(op, "slicing_axes"):
        return False
    return _replace_by(op, operands_of(gather)[0])


def _reduce_of_made_unreduced(op: Operation) -> bool:
    made = _producer(op, ReplicatedToUnreducedOp)
    if made is None or _data(made, "axes") != _data(op, "reduction_axes"):
        return False
    return _replace_by(op, operands_of(made)[0])


def _reduce_of_freed(op: Operation) -> bool:
    """Sharded axes that are made unreduced and then reduced are gathered."""
    made = _producer(op, ShardedToUnreducedOp)
    if made is None:
        return False
    by_dimension: tuple[Axes, ...] = _data(made, "axes")
    mesh = mesh_of(_data(made, "out_sharding"), meshes_of(module_of(op)))
    if sort_and_merge((axis for axes in by_dimension for axis in axes), mesh) != _data(op, "reduction_axes"):
        return False
    properties = {"gathering_axes": made.properties["axes"], "out_sharding": op.properties["out_sharding"]}
    gather = _collective(AllGatherOp, operands_of(made)[0], properties, op.location)
    note_moved(gather.results, op.results, _PASS)
    replace_op(op, gather)
    return True


def _exchange_of_exchange(op: Operation) -> bool:
    inner = _producer(op, AllToAllOp)
    if inner is None or inner.results[0].uses.get_length() != 1:
        return False
    params: Params = (*_data(inner, "params"), *_data(op, "params"))
    dimensions = [d for _, source, target in params for d in (source, target)]
    if len(set(dimensions)) < len(dimensions):
        return False
    combined = AllToAllParamListAttr(tuple(sorted(params, key=lambda param: param[1])))
    properties = {"params": combined, "out_sharding": op.properties["out_sharding"]}
    location = fuse([op.location, inner.location])
    both = _collective(AllToAllOp, operands_of(inner)[0], properties, location)
    note_moved(both.results, op.results, _PASS)
    replace_op(op, both)
    erase(inner)
    return True


def _unused_exchange(op: Operation) -> bool:
    return op.results[0].first_use is None and _replace_by(op, operands_of(op)[0])


def _slice_of_reduce(op: Operation) -> bool:
    """The users of the reduced tensor are this slice, and equal ones after it."""
    reduce = _producer(op, AllReduceOp)
    if reduce is None:
        return False
    slices = [use.operation for use in reduce.results[0].uses]
    axes = _data(op, "slicing_axes")
    for user in slices:
        if (
            not isinstance(user, AllSliceOp)
            or _data(user, "slicing_axes") != axes
            or user.is_before_in_block(op)
        ):
            return False
    source = operands_of(reduce)[0]
    target: TensorSharding = _data(op, "out_sharding")
    mesh = mesh_of(_data(reduce, "out_sharding"), meshes_of(module_of(op)))
    given = ShardingReader().of(source) or TensorSharding.fully_closed(mesh, target.rank)
    fusion = scatter_fusion(_data(reduce, "reduction_axes"), given, axes, target, mesh)
    if fusion is None:
        return False
    properties: dict[str, Attribute] = {"reduce_scatter_axes": ListOfAxisRefListsAttr(fusion.axes)}
    if "reduction_op" in reduce.properties:
        properties["reduction_op"] = reduce.properties["reduction_op"]
    properties["out_sharding"] = TensorShardingAttr(fusion.sharding)
    made = _collective(ReduceScatterOp, source, properties, reduce.location)
    note_moved(made.results, reduce.results, _PASS)
    place_before(made, op)
    if fusion.sliced_after is not None:
        rest = {
            "slicing_axes": ListOfAxisRefListsAttr(fusion.sliced_after),
            "out_sharding": op.properties["out_sharding"],
        }
        made = _collective(AllSliceOp, made.results[0], rest, op.location)
        note_moved(made.results, op.results, _PASS)
        place_before(made, op)
    for user in slices:
        _replace_by(user, made.results[0])
    erase(reduce)
    return True


def _collective(
    op_class: type[Operation], value: SSAValue, properties: dict[str, Any], location: Any
) -> Operation:
    return build_operation(op_class, (value,), (value.type,), dict(properties), {}, location)


COLLECTIVE_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(AllGatherOp, _without_axes("gathering_axes"), LABEL),
    Rewrite(AllSliceOp, _slice_of_gather, LABEL),
    Rewrite(AllSliceOp, _without_axes("slicing_axes"), LABEL),
    Rewrite(AllSliceOp, _slice_of_reduce, LABEL),
    Rewrite(AllReduceOp, _reduce_of_made_unreduced, LABEL),
    Rewrite(AllReduceOp, _without_axes("reduction_axes"), LABEL),
    Rewrite(AllReduceOp, _reduce_of_freed, LABEL),
    Rewrite(AllToAllOp, _exchange_of_exchange, LABEL),
    Rewrite(AllToAllOp, _unused_exchange, LABEL),
    Rewrite(CollectivePermuteOp, _permute_to_same, LABEL),
    Rewrite(ReduceScatterOp, _without_axes("reduce_scatter_axes"), LABEL),
)
