"""Reductions of the program count once: they combine along the axes that their operand is unreduced along.

    %0 = stablehlo.reduce ... [<@mesh, []>], of a tensor sharded along "x"
    before  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []>
    after   the users of %1 use %0, after which `sdy-insert-explicit-reshards` inserts the all-reduce

Shardy lets an all-reduce have any axes. A value that is not unreduced is the same on all devices along them,
also where the op that makes it is yet to be reduced: a sum along them would count it several times. Part of
`sdy-insert-explicit-reshards` with `keep-reductions`. Along manual axes devices have values of their own.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir.dialects.sdy import (
    AllReduceOp,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ReduceScatterOp,
    TensorShardingAttr,
)
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.ir import erase, find_ops, operands_of, replace_uses
from shardy_py.mlir.movements import note_copies
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.typed import of_kind, property_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import REDUCTIONS
from shardy_py.passes.export.communication_ops import chain_before_use
from shardy_py.reshard.collectives import AllSlice
from shardy_py.reshard.steps import AllReduce, ReplicatedToUnreduced
from shardy_py.sharding import Axes, AxisRef, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import difference, sort_and_merge
from shardy_py.sharding.meshes import mesh_of


def keep_reductions(module: ModuleOp) -> None:
    """Lets all-reduces and reduce-scatters of the program reduce what their shardings say."""
    found = list(find_ops(module, AllReduceOp.name, ReduceScatterOp.name))
    meshes, reader = (meshes_of(module), ShardingReader()) if found else ({}, None)
    for op in found:
        assert reader is not None
        target = property_of(op, "out_sharding", TensorShardingAttr).data
        source = reader.of(operands_of(op)[0])
        before = source.unreduced_axes if source is not None else ()
        mesh = mesh_of(target, meshes)
        wanted = difference(before, target.unreduced_axes, mesh)
        if isinstance(op, AllReduceOp):
            _keep_all_reduce(op, wanted, mesh)
        else:
            _keep_reduce_scatter(op, source, target, wanted, mesh)


def _keep_all_reduce(op: Operation, wanted: Axes, mesh: Mesh) -> None:
    given = property_of(op, "reduction_axes", AxisRefListAttr).data
    axes = sort_and_merge((*wanted, *_manual(op, difference(given, wanted, mesh))), mesh)
    if axes:
        op.properties["reduction_axes"] = AxisRefListAttr(axes)
        return
    note_copies({op.results[0]: operands_of(op)[0]})
    replace_uses(op.results[0], operands_of(op)[0])
    erase(op)


def _keep_reduce_scatter(
    op: Operation, source: TensorSharding | None, target: TensorSharding, wanted: Axes, mesh: Mesh
) -> None:
    by_dimension = property_of(op, "reduce_scatter_axes", ListOfAxisRefListsAttr).data
    given = tuple(axis for axes in by_dimension for axis in axes)
    others = difference(wanted, given, mesh)
    missing = difference(given, wanted, mesh)
    missing = difference(missing, _manual(op, missing), mesh)
    if source is None:
        source = TensorSharding.fully_closed(target.mesh, target.rank)
    if others:
        left = difference(source.unreduced_axes, others, mesh)
        source = replace(source, unreduced_axes=left)
        chain_before_use(op, 0, (AllReduce(source, others, _reduction_of(op)),))
    if missing and not difference(given, missing, mesh):
        chain_before_use(op, 0, (AllSlice(target, by_dimension),))
        made = operands_of(op)[0]
        note_copies({op.results[0]: made})
        replace_uses(op.results[0], made)
        erase(op)
    elif missing:
        unreduced = sort_and_merge((*source.unreduced_axes, *missing), mesh)
        step = ReplicatedToUnreduced(replace(source, unreduced_axes=unreduced), missing)
        chain_before_use(op, 0, (step,))


def _reduction_of(op: Operation) -> str:
    kind = op.properties.get("reduction_op")
    return REDUCTIONS[0 if kind is None else of_kind(kind, IntegerAttr).value.data]


def _manual(op: Operation, axes: Axes) -> tuple[AxisRef, ...]:
    """The axes among `axes` that are manual around `op`."""
    bound: set[str] = set()
    parent = op.parent_op()
    while parent is not None:
        bound.update(manual_axes(parent))
        parent = parent.parent_op()
    return tuple(axis for axis in axes if axis.name in bound)
