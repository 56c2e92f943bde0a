"""Rewrites of reshards: chains become their last reshard, repeated reshards are merged.

before  %0 = sdy.reshard %a <@mesh, [{"x"}, {}]>        after   %0 = sdy.reshard %a <@mesh, [{"x"}, {}]>
        %1 = stablehlo.reshape %a                               %1 = stablehlo.reshape %0
        %2 = sdy.reshard %1 <@mesh, [{"x"}]>
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import ReshardOp
from shardy_py.dialects.stablehlo import op_class
from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import note_copies, note_moved, replace_by_values, replace_op
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.symbols import meshes_of, module_of
from shardy_py.ir import build_operation, erase, operands_of, place_after, place_after_value
from shardy_py.partition.compare import is_same_layout
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.text.location_syntax import fuse

Reshape, Transpose = op_class("reshape"), op_class("transpose")
LABEL = "sdy-reshard"


def _reshard_of_reshard(op: Operation) -> bool:
    value = operands_of(op)[0]
    if not isinstance(value, OpResult) or not isinstance(value.op, ReshardOp) or value.uses.get_length() != 1:
        return False
    inner = value.op
    properties = {"sharding": op.properties["sharding"]}
    types = (op.results[0].type,)
    location = fuse([op.location, inner.location])
    made = build_operation(ReshardOp, operands_of(inner), types, properties, {}, location)
    note_moved(made.results, op.results, "canonicalize")
    replace_op(op, made)
    if inner.properties == properties:
        note_copies({inner.results[0]: made.results[0]})
    erase(inner)
    return True


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
        elif len(_shape(value)) != len(_shape(view.results[0])):
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
    return is_same_layout(found, _shape(first), wanted, _shape(second), mesh)


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


def _shape(value: SSAValue) -> tuple[int, ...]:
    tensor = tensor_type(value.type)
    return tuple(size or 0 for size in tensor.shape) if tensor is not None else ()


RESHARD_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(ReshardOp, _reshard_of_reshard, LABEL),
    Rewrite(ReshardOp, _repeated_reshard),
)
