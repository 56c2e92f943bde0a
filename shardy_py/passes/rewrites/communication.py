"""Rewrites of communication: chains and repeated ops become one, ops that undo each other are erased.

all_slice of all_gather along the same axes     the operand
all_slice of all_reduce                         reduce_scatter (see `partition/collectives.py`)
all_to_all of all_to_all in other dimensions    one all_to_all
reshard of reshard                              the last reshard
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import Any, cast

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects import sdy
from shardy_py.dialects.sdy import ReshardOp
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import note_copies, note_moved, replace_by_values, replace_op
from shardy_py.graph.plain import plain
from shardy_py.graph.symbols import meshes_of, module_of
from shardy_py.graph.value_shardings import ShardingReader
from shardy_py.ir import build_operation, erase, operands_of, place_after, place_after_value, place_before
from shardy_py.partition.collectives import scatter_fusion
from shardy_py.partition.compare import is_equivalent, is_same_layout
from shardy_py.passes.communication_ops import sizes_of
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge
from shardy_py.sharding.meshes import mesh_of
from shardy_py.text.location_syntax import fuse

LABEL = "sdy-collective"
Params = tuple[tuple[Axes, int, int], ...]


def _data(op: Operation, name: str) -> Any:
    return cast(Any, op.properties[name]).data


def _producer(op: Operation, op_class: type[sdy.CollectiveOp]) -> Operation | None:
    value = operands_of(op)[0]
    return value.op if isinstance(value, OpResult) and isinstance(value.op, op_class) else None


def _replace_by(op: Operation, value: SSAValue) -> bool:
    replace_by_values(op, (value,))
    return True


def _without_axes(name: str) -> Callable[[Operation], bool]:
    def apply(op: Operation) -> bool:
        return not any(_data(op, name)) and _replace_by(op, operands_of(op)[0])

    return apply


def _permute_to_same(op: Operation) -> bool:
    source = ShardingReader().of(operands_of(op)[0])
    return is_equivalent(source, _data(op, "out_sharding")) and _replace_by(op, operands_of(op)[0])


def _slice_of_gather(op: Operation) -> bool:
    gather = _producer(op, sdy.AllGatherOp)
    if gather is None or _data(gather, "gathering_axes") != _data(op, "slicing_axes"):
        return False
    return _replace_by(op, operands_of(gather)[0])


def _reduce_of_made_unreduced(op: Operation) -> bool:
    made = _producer(op, sdy.ReplicatedToUnreducedOp)
    if made is None or _data(made, "axes") != _data(op, "reduction_axes"):
        return False
    return _replace_by(op, operands_of(made)[0])


def _reduce_of_freed(op: Operation) -> bool:
    """Sharded axes that are made unreduced and then reduced are gathered."""
    made = _producer(op, sdy.ShardedToUnreducedOp)
    if made is None:
        return False
    by_dimension: tuple[Axes, ...] = _data(made, "axes")
    mesh = mesh_of(_data(made, "out_sharding"), meshes_of(module_of(op)))
    if sort_and_merge((axis for axes in by_dimension for axis in axes), mesh) != _data(op, "reduction_axes"):
        return False
    properties = {"gathering_axes": made.properties["axes"], "out_sharding": op.properties["out_sharding"]}
    replace_op(op, _collective(sdy.AllGatherOp, operands_of(made)[0], properties, op.location, op))
    return True


def _exchange_of_exchange(op: Operation) -> bool:
    inner = _producer(op, sdy.AllToAllOp)
    if inner is None or inner.results[0].uses.get_length() != 1:
        return False
    params: Params = (*_data(inner, "params"), *_data(op, "params"))
    dimensions = [d for _, source, target in params for d in (source, target)]
    if len(set(dimensions)) < len(dimensions):
        return False
    combined = sdy.AllToAllParamListAttr(tuple(sorted(params, key=lambda param: param[1])))
    properties = {"params": combined, "out_sharding": op.properties["out_sharding"]}
    location = fuse([op.location, inner.location])
    replace_op(op, _collective(sdy.AllToAllOp, operands_of(inner)[0], properties, location, op))
    erase(inner)
    return True


def _unused_exchange(op: Operation) -> bool:
    return op.results[0].first_use is None and _replace_by(op, operands_of(op)[0])


def _slice_of_reduce(op: Operation) -> bool:
    """The users of the reduced tensor are this slice, and equal ones after it."""
    reduce = _producer(op, sdy.AllReduceOp)
    if reduce is None:
        return False
    slices = [use.operation for use in reduce.results[0].uses]
    axes = _data(op, "slicing_axes")
    for user in slices:
        is_equal = isinstance(user, sdy.AllSliceOp) and _data(user, "slicing_axes") == axes
        if not is_equal or user.is_before_in_block(op):
            return False
    source = operands_of(reduce)[0]
    target: TensorSharding = _data(op, "out_sharding")
    mesh = mesh_of(_data(reduce, "out_sharding"), meshes_of(module_of(op)))
    given = ShardingReader().of(source) or TensorSharding.fully_closed(mesh, target.rank)
    fusion = scatter_fusion(_data(reduce, "reduction_axes"), given, axes, target, mesh)
    if fusion is None:
        return False
    properties: dict[str, Attribute] = {"reduce_scatter_axes": sdy.ListOfAxisRefListsAttr(fusion.axes)}
    if "reduction_op" in reduce.properties:
        properties["reduction_op"] = reduce.properties["reduction_op"]
    properties["out_sharding"] = sdy.TensorShardingAttr(fusion.sharding)
    made = _collective(sdy.ReduceScatterOp, source, properties, reduce.location, reduce)
    place_before(made, op)
    if fusion.sliced_after is not None:
        left = sdy.ListOfAxisRefListsAttr(fusion.sliced_after)
        rest = {"slicing_axes": left, "out_sharding": op.properties["out_sharding"]}
        made = _collective(sdy.AllSliceOp, made.results[0], rest, op.location, op)
        place_before(made, op)
    for user in slices:
        _replace_by(user, made.results[0])
    erase(reduce)
    return True


def _collective(
    op_class: type[Operation], value: SSAValue, properties: dict[str, Any], location: Any, old: Operation
) -> Operation:
    """A new collective, in no block, whose result has the sharding of that of `old`."""
    made = build_operation(op_class, (value,), (value.type,), dict(properties), {}, location)
    note_moved(made.results, old.results, "canonicalize")
    return made


COLLECTIVE_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(sdy.AllGatherOp, _without_axes("gathering_axes"), LABEL),
    Rewrite(sdy.AllSliceOp, _slice_of_gather, LABEL),
    Rewrite(sdy.AllSliceOp, _without_axes("slicing_axes"), LABEL),
    Rewrite(sdy.AllSliceOp, _slice_of_reduce, LABEL),
    Rewrite(sdy.AllReduceOp, _reduce_of_made_unreduced, LABEL),
    Rewrite(sdy.AllReduceOp, _without_axes("reduction_axes"), LABEL),
    Rewrite(sdy.AllReduceOp, _reduce_of_freed, LABEL),
    Rewrite(sdy.AllToAllOp, _exchange_of_exchange, LABEL),
    Rewrite(sdy.AllToAllOp, _unused_exchange, LABEL),
    Rewrite(sdy.CollectivePermuteOp, _permute_to_same, LABEL),
    Rewrite(sdy.ReduceScatterOp, _without_axes("reduce_scatter_axes"), LABEL),
)


Reshape, Transpose = op_class("reshape"), op_class("transpose")


def _reshard_of_reshard(op: Operation) -> bool:
    # The last of adjacent reshards merges all: one after the other, locations are copied each time.
    after = op.next_op
    if isinstance(after, ReshardOp) and _only_reshard(operands_of(after)[0]) is op:
        return False
    merged: list[Operation] = []
    inner = op
    while (before := _only_reshard(operands_of(inner)[0])) is not None:
        merged.append(inner := before)
    if not merged:
        return False
    properties = {"sharding": op.properties["sharding"]}
    types = (op.results[0].type,)
    location = fuse([op.location, *(reshard.location for reshard in merged)])
    made = build_operation(ReshardOp, operands_of(inner), types, properties, {}, location)
    note_moved(made.results, op.results, "canonicalize")
    replace_op(op, made)
    for reshard in takewhile(lambda reshard: reshard.properties == properties, merged):
        note_copies({reshard.results[0]: made.results[0]})
    for reshard in merged:
        erase(reshard)
    return True


def _only_reshard(value: SSAValue) -> Operation | None:
    """The reshard that defines a value with one use."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ReshardOp) or not value.has_one_use():
        return None
    return value.op


def _equal_reshard(op: Operation) -> bool:
    """Reuses an earlier reshard of the same value to the same sharding, with the same attributes."""
    source, wanted = operands_of(op)[0], op.properties["sharding"]
    for use in source.uses:
        user = use.operation
        is_equal = (
            isinstance(user, ReshardOp)
            and user.properties["sharding"] == wanted
            and user.attributes == op.attributes
        )
        if is_equal and user is not op and user.parent is op.parent and user.is_before_in_block(op):
            return _replace_by(op, user.results[0])
    return False


def _repeated_reshard(op: Operation) -> bool:
    """Reuses an earlier reshard of the same tensor, possibly in another shape."""
    source = operands_of(op)[0]
    root = source
    while (view := _view(root)) is not None:
        root = operands_of(view)[0]
    wanted = _sharding_at_root(cast(TensorSharding, plain(op.properties["sharding"])), source)
    found = _earlier_reshard(root, wanted, op)
    if found is None:
        return False
    if found.type != root.type:
        made = build_operation(Reshape, (found,), (root.type,), {}, {}, op.location)
        place_after_value(made, found)
        found = made.results[0]
    replace_by_values(op, (_replayed(root, source, found),))
    return True


def _view(value: SSAValue) -> Operation | None:
    return value.op if isinstance(value, OpResult) and isinstance(value.op, (Reshape, Transpose)) else None


def _sharding_at_root(sharding: TensorSharding, value: SSAValue) -> TensorSharding:
    """`sharding` of `value`, its dimensions in the order before the transposes that lead to it.

    Reshapes that keep the rank are looked through as well, others are not.
    """
    while (view := _view(value)) is not None:
        value = operands_of(view)[0]
        if isinstance(view, Transpose):
            dimensions = list(sharding.dimensions)
            for result, operand in enumerate(plain(view.properties["permutation"])):
                dimensions[operand] = sharding.dimensions[result]
            sharding = replace(sharding, dimensions=tuple(dimensions))
        elif len(sizes_of(value)) != len(sizes_of(view.results[0])):
            break
    return sharding


def _earlier_reshard(root: SSAValue, wanted: TensorSharding, op: Operation) -> SSAValue | None:
    """The result of an earlier reshard in the block, of `root` or a reshape of it, to the same layout."""
    pending = [root]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for use in value.uses:
            user = use.operation
            if isinstance(user, ReshardOp) and user is not op:
                is_earlier = user.is_before_in_block(op)
                if is_earlier and _is_alike(user, op, wanted):
                    return user.results[0]
            elif isinstance(user, Reshape):
                pending.append(user.results[0])
    return None


def _is_alike(other: Operation, op: Operation, wanted: TensorSharding) -> bool:
    """Returns whether reshard `other` gives its tensor the layout that `wanted` gives the tensor of `op`."""
    found = cast(TensorSharding, plain(other.properties["sharding"]))
    first, second = other.results[0], op.results[0]
    if found == wanted and first.type == second.type:
        return True
    if found.mesh != wanted.mesh:
        return False
    mesh = mesh_of(wanted, meshes_of(module_of(op)))
    return is_same_layout(found, sizes_of(first), wanted, sizes_of(second), mesh)


def _replayed(root: SSAValue, target: SSAValue, start: SSAValue) -> SSAValue:
    """Recomputes `target`, a view of `root`, from `start` instead of `root`."""
    views: list[Operation] = []
    while target is not root and (view := _view(target)) is not None:
        views.append(view)
        target = operands_of(view)[0]
    value = start
    for view in reversed(views):
        copy = clone(view, {operands_of(view)[0]: value})
        if isinstance(value, OpResult):
            place_after(copy, value.op)
        else:
            place_after_value(copy, value)
        value = copy.results[0]
    return value


RESHARD_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(ReshardOp, _reshard_of_reshard, "sdy-reshard"),
    Rewrite(ReshardOp, _repeated_reshard),
)

EQUAL_RESHARD_REWRITES: tuple[Rewrite, ...] = (Rewrite(ReshardOp, _equal_reshard, "sdy-equal-reshard"),)
"""Applied only where the label is given: Shardy has no such rewrite."""
