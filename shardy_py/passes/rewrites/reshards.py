"""Rewrites of reshards: a chain becomes one, and repeated ones are reused.

reshard of reshard                                  the last reshard
reshard of a value that an earlier one gave the     the result of the earlier one
same sharding, or of another view of it
reshard of a constant, iota or broadcast scalar     the same op with that sharding

Not here: rewrites of collectives (`communication.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import takewhile

from xdsl.ir import Block, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.sdy import ConstantOp, ReshardOp
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.holders import write_only_results
from shardy_py.mlir.ir import build_operation, erase, operands_of, place_after, place_after_value
from shardy_py.mlir.movements import note_copies, note_moved, replace_by_values, replace_op
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import meshes_of, module_of
from shardy_py.mlir.text.location_syntax import fuse
from shardy_py.passes.export.communication_ops import sizes_of
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.passes.rewrites.moved_reductions import LABEL as MOVED
from shardy_py.passes.rewrites.moved_reductions import move_reduction
from shardy_py.reshard.compare import strides
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of

Reshape, Transpose = op_class("reshape"), op_class("transpose")
Iota, Broadcast = op_class("iota"), op_class("broadcast_in_dim")


EQUAL, MADE = "sdy-equal-reshard", "sdy-made-reshard"
"""The labels of rewrites that Shardy does not have; they apply only if they are named."""
Key = tuple[Block | None, *tuple[Hashable, ...]]
"""The block of reshards of which one suffices, and what they have in common."""


class _Earlier:
    """The reshards that a round has visited, by what they do: one of many is found without a search."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forgets all."""
        self._meshes: dict[str, Mesh] | None = None
        self._ops: dict[Key, list[tuple[Operation, SSAValue]]] = {}

    def reshard_of_reshard(self, op: Operation) -> bool:
        """Merges a chain of reshards into its last one."""
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
        self._add(_task(made), made)
        self._add(self._own_layout(made), made)
        return True

    def equal_reshard(self, op: Operation) -> bool:
        """Reuses an earlier reshard of the same value to the same sharding, with the same attributes."""
        task = _task(op)
        found = self._newest(task)
        if found is None:
            self._add(task, op)
            return False
        replace_by_values(op, (found.results[0],))
        return True

    def repeated_reshard(self, op: Operation) -> bool:
        """Reuses an earlier reshard of the same tensor, possibly in another shape."""
        source = operands_of(op)[0]
        root = source
        while (view := _view(root)) is not None:
            root = operands_of(view)[0]
        wanted = _sharding_at_root(_sharding(op), source)
        keys = (self._layout(root, wanted, op, is_direct) for is_direct in (True, False))
        earlier = next((e for e in map(self._newest, keys) if e is not None), None)
        if earlier is None:
            self._add(self._own_layout(op), op)
            return False
        found = earlier.results[0]
        if found.type != root.type:
            made = build_operation(Reshape, (found,), (root.type,), {}, {}, op.location)
            place_after_value(made, found)
            found = made.results[0]
        replace_by_values(op, (_replayed(root, source, found),))
        return True

    def _add(self, key: Key, op: Operation) -> None:
        self._ops.setdefault(key, []).append((op, operands_of(op)[0]))

    def _newest(self, key: Key) -> Operation | None:
        """The newest reshard under a key that is still in its block, and reshards the same value."""
        known = self._ops.get(key)
        while known:
            op, source = known[-1]
            if op.parent is key[0] and operands_of(op)[0] is source:
                return op
            known.pop()
        return None

    def _own_layout(self, op: Operation) -> Key:
        """The key under which `op` is found by those that reshard the same tensor."""
        source = operands_of(op)[0]
        root = source
        while isinstance(root, OpResult) and isinstance(root.op, Reshape):
            root = operands_of(root.op)[0]
        return self._layout(root, _sharding(op), op, is_direct=root is source)

    def _layout(self, root: SSAValue, sharding: TensorSharding, op: Operation, is_direct: bool) -> Key:
        """A key of `root` with `sharding` of the tensor of `op`: equal for reshards to the same layout."""
        if self._meshes is None:
            self._meshes = meshes_of(module_of(op))
        mesh, merges = mesh_of(sharding, self._meshes), Behaviour.LAYOUTS_MERGE_SUB_AXES.holds
        steps = strides(sharding, sizes_of(op.results[0]), mesh, merges=merges)
        return op.parent, root, is_direct, sharding.mesh, sharding.replicated_axes, tuple(steps)


def reshard_of_made(op: Operation) -> bool:
    """Makes a value in the sharding that it is needed in, if that takes no communication."""
    (source,) = operands_of(op)
    if not isinstance(source, OpResult) or not _is_made_anywhere(source.op):
        return False
    made = clone(source.op, {operand: operand for operand in operands_of(source.op)})
    write_only_results([(made, _sharding(op))])
    place_after(made, source.op)
    replace_by_values(op, made.results)
    return True


def _is_made_anywhere(op: Operation) -> bool:
    """True if every device can make any part of the result."""
    is_scalar = all(not sizes_of(operand) for operand in operands_of(op))
    return isinstance(op, ConstantOp | Iota) or (isinstance(op, Broadcast) and is_scalar)


def _task(op: Operation) -> Key:
    """A key of a reshard, equal for those of which one suffices."""
    return op.parent, operands_of(op)[0], op.properties["sharding"], frozenset(op.attributes.items())


def _sharding(op: Operation) -> TensorSharding:
    return plain(op.properties["sharding"])


def _only_reshard(value: SSAValue) -> Operation | None:
    """The reshard that defines a value with one use."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ReshardOp) or not value.has_one_use():
        return None
    return value.op


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


def reshard_rewrites() -> tuple[Rewrite, ...]:
    """Returns the rewrites of reshards, for one module."""
    known = _Earlier()
    return (
        Rewrite(ReshardOp, known.reshard_of_reshard, "sdy-reshard", known.begin, reads_few=True),
        Rewrite(ReshardOp, known.repeated_reshard, reads_few=True),
        Rewrite(ReshardOp, known.equal_reshard, EQUAL, reads_few=True),
        Rewrite(ReshardOp, reshard_of_made, MADE),
        Rewrite(ReshardOp, move_reduction, MOVED),
    )
