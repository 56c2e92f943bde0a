"""The passes that convert reshards: constraints to reshards, reshards to collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult

from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import DotGeneralOp, DotOp
from shardy_py.mlir.ir import (
    OperandChanges,
    erase,
    find_ops,
    operands_of,
    operands_set_together,
    owning_op,
    place_before,
    replace_uses,
    set_operands,
)
from shardy_py.mlir.movements import Movement, note, note_moved, replace_by_values, replace_op
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.typed import property_of
from shardy_py.mlir.value_shardings import ShardingReader, before_barriers, set_sharding, sharding_of
from shardy_py.passes.export.communication_ops import identity_op, only_user, sizes_of, step_op
from shardy_py.passes.options import ReshardToCollectivesOptions
from shardy_py.reshard.collectives import collectives_between
from shardy_py.reshard.compare import is_equivalent
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of


def sharding_constraint_to_reshard(module: ModuleOp) -> None:
    """`sdy-sharding-constraint-to-reshard`: converts sharding constraints to reshards.

    Propagation has decided what was open, so what constrained it now merely moves data.

    before  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    after   %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    """
    with operands_set_together():
        for constraint in find_ops(module, sdy.ShardingConstraintOp.name):
            sharding = property_of(constraint, "sharding", sdy.TensorShardingAttr).data
            reshard = identity_op(sdy.ReshardOp, operands_of(constraint)[0], sharding, constraint.location)
            reshard.attributes.update(constraint.attributes)
            replace_op(constraint, reshard)
            note_moved(reshard.results, constraint.results, "sdy-sharding-constraint-to-reshard")


def reshard_to_collectives(module: ModuleOp, options: ReshardToCollectivesOptions) -> None:
    """`sdy-reshard-to-collectives`: converts reshards to sequences of collectives.

    %arg0: [{"x", "y"}, {}]
    before  %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
    after   %0 = sdy.all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>

    Reshards between equivalent shardings are erased, unless `keep-redundant-reshards` is given. Reshards to
    or from a single device, and between meshes with different axes, are kept: no collective implements them.
    """
    meshes = meshes_of(module)
    reader = ShardingReader()

    def is_converted(reshard: Operation) -> bool:
        source, target = reader.through_barriers(operands_of(reshard)[0]), _target(reshard)
        if options.keep_redundant_reshards and is_equivalent(source, target):
            return False
        if is_single_device(source, meshes) or is_single_device(target, meshes):
            return False
        return source is None or target.is_fully_replicated or _share_axes(source, target, meshes)

    # Decided on the original program: an earlier reshard may be erased when the turn of a later one comes.
    converted = [reshard for reshard in find_ops(module, sdy.ReshardOp.name) if is_converted(reshard)]
    with operands_set_together() as changes:
        for reshard in converted:
            _convert(reshard, reader, meshes, changes, options)


def _convert(
    reshard: Operation,
    reader: ShardingReader,
    meshes: Meshes,
    changes: OperandChanges,
    options: ReshardToCollectivesOptions,
) -> None:
    """Replaces one reshard; its operand is the value before any barriers."""
    value, target = operands_of(reshard)[0], _target(reshard)
    made = before_barriers(value)
    if not isinstance(made, OpResult) and not isinstance(owning_op(made), FuncOp):
        set_operands(changes)  # the sharding of an inner argument may be that of an operand
    source = reader.of(made) or TensorSharding.fully_open(target.mesh, target.rank)
    if is_single_device(source, meshes):
        return
    if target.is_fully_replicated:
        if source.is_fully_replicated:
            replace_by_values(reshard, (value,))
            return
        target = replace(target, mesh=source.mesh)
    elif not _share_axes(source, target, meshes):
        return
    value = made
    collectives = collectives_between(
        source,
        target,
        sizes_of(value),
        mesh_of(source, meshes),
        misaligned_in_place=options.misaligned_in_place,
    )
    for collective in collectives:
        op = step_op(collective, value, reshard.location)
        new = collective.sharding
        note(Movement(op.results[0], reshard.results[0], "sdy-reshard-to-collectives", new=new))
        place_before(op, reshard)
        value = op.results[0]
    replace_by_values(reshard, (value,))


def _target(reshard: Operation) -> TensorSharding:
    return plain(reshard.properties["sharding"])


def _share_axes(first: TensorSharding, second: TensorSharding, meshes: Meshes) -> bool:
    """Returns whether the meshes differ at most in the order of devices."""
    if first.mesh == second.mesh:
        return True
    mine, its = mesh_of(first, meshes), mesh_of(second, meshes)
    return mine.axes == its.axes


DOTS = (DotOp.name, DotGeneralOp.name)


def remove_all_gather_reduce_scatter_for_cmv1(module: ModuleOp) -> None:
    """`sdy-remove-all-gather-reduce-scatter-for-cmv1`: removes collectives next to dot_general.

    Backends with collective matmul overlap this communication with the computation of the product.

    before  %0 = sdy.all_gather [{}, {"x"}] %lhs out_sharding=<@mesh, [{}, {}]>
        %1 = stablehlo.dot %0, %rhs {...}
    after   %1 = stablehlo.dot %lhs, %rhs {...}

    Likewise a reduce-scatter that is the only user of a product, if no all-gather was removed: the product
    then has the sharding of the reduce-scatter.
    """
    for removed in [found for dot in find_ops(module, *DOTS) for found in _removed_beside(dot)]:
        replace_uses(removed.results[0], operands_of(removed)[0])
        erase(removed)


def _removed_beside(dot: Operation) -> Sequence[Operation]:
    """The collectives to remove; if it is a reduce-scatter, `dot` has been given its sharding."""
    makers = [value.op for value in operands_of(dot) if isinstance(value, OpResult)]
    gathers = [op for op in makers if isinstance(op, sdy.AllGatherOp) and only_user(op) is dot]
    if gathers:
        return gathers
    user = only_user(dot)
    if not isinstance(user, sdy.ReduceScatterOp):
        return []
    made, wanted = sharding_of(dot.results[0]), sharding_of(user.results[0])
    if made is not None and made.unreduced_axes:
        return []
    assert wanted is not None
    set_sharding(dot.results[0], wanted)
    return [user]
