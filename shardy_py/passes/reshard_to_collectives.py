"""`sdy-reshard-to-collectives`: converts reshards to sequences of collectives.

    %arg0: [{"x", "y"}, {}]
    before  %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
    after   %0 = sdy.all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>

Reshards between equivalent shardings are erased, unless `keep-redundant-reshards` is given. Reshards to or
from a single device, and between meshes with different axes, are kept: no collective implements them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy import ReshardOp
from shardy_py.graph.movements import Movement, note, replace_by_values
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.symbols import meshes_of
from shardy_py.graph.value_shardings import ShardingReader, before_barriers
from shardy_py.ir import find_ops, operands_of, place_before
from shardy_py.partition.collectives import collectives_between
from shardy_py.partition.compare import is_equivalent
from shardy_py.passes.communication_ops import step_op
from shardy_py.passes.options import ReshardToCollectivesOptions
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of


def reshard_to_collectives(module: ModuleOp, options: ReshardToCollectivesOptions) -> None:
    """Converts reshards to sequences of collectives."""
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
    converted = [reshard for reshard in find_ops(module, ReshardOp.name) if is_converted(reshard)]
    for reshard in converted:
        _convert(reshard, reader, meshes)


def _convert(reshard: Operation, reader: ShardingReader, meshes: Meshes) -> None:
    """Replaces one reshard; its operand is the value before any barriers."""
    value, target = operands_of(reshard)[0], _target(reshard)
    made = before_barriers(value)
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
    for collective in collectives_between(source, target, _shape(value), mesh_of(source, meshes)):
        op = step_op(collective, value, reshard.location)
        note(
            Movement(op.results[0], reshard.results[0], "sdy-reshard-to-collectives", new=collective.sharding)
        )
        place_before(op, reshard)
        value = op.results[0]
    replace_by_values(reshard, (value,))


def _target(reshard: Operation) -> TensorSharding:
    return cast(TensorSharding, plain(reshard.properties["sharding"]))


def _share_axes(first: TensorSharding, second: TensorSharding, meshes: Meshes) -> bool:
    """Returns whether the meshes differ at most in the order of devices."""
    if first.mesh == second.mesh:
        return True
    mine, its = mesh_of(first, meshes), mesh_of(second, meshes)
    return mine.axes == its.axes


def _shape(value: SSAValue) -> tuple[int, ...]:
    tensor = tensor_type(value.type)
    return tuple(size or 0 for size in tensor.shape) if tensor is not None else ()
