"""`sdy-reshard-to-collectives`: turns reshards into the collectives that they consist of.

    %arg0: [{"x", "y"}, {}]
    before  %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
    after   %0 = sdy.all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>

A reshard to what the tensor has already goes, unless `keep-redundant-reshards` is given. Reshards to or from
a single device, and between meshes with different axes, stay: no collective does them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from shardy_py.graph.movements import Movement, note, replace_by_values
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.symbols import meshes_of
from shardy_py.graph.value_shardings import ShardingReader, before_barriers
from shardy_py.ir import find_ops, operands_of, place_before
from shardy_py.partition.collectives import collectives_between
from shardy_py.partition.compare import is_equivalent
from shardy_py.passes.communication_ops import step_op
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of


@dataclass(frozen=True)
class ReshardToCollectivesPass(ModulePass):
    """Turns reshards into the collectives that they consist of."""

    name = "sdy-reshard-to-collectives"

    keep_redundant_reshards: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        meshes = meshes_of(op)
        reader = ShardingReader()
        # What stays is decided by the program as it came: a reshard before may be gone when its turn comes.
        converted = [
            reshard
            for reshard in find_ops(op, "sdy.reshard")
            if self._is_converted(reader.through_barriers(operands_of(reshard)[0]), _target(reshard), meshes)
        ]
        for reshard in converted:
            _convert(reshard, reader, meshes)

    def _is_converted(self, source: TensorSharding | None, target: TensorSharding, meshes: Meshes) -> bool:
        if self.keep_redundant_reshards and is_equivalent(source, target):
            return False
        if is_single_device(source, meshes) or is_single_device(target, meshes):
            return False
        return source is None or target.is_fully_replicated or _share_axes(source, target, meshes)


def _convert(reshard: Operation, reader: ShardingReader, meshes: Meshes) -> None:
    """Replace one reshard; its operand is taken from before the barriers that it went through."""
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
            Movement(
                op.results[0], reshard.results[0], ReshardToCollectivesPass.name, new=collective.sharding
            )
        )
        place_before(op, reshard)
        value = op.results[0]
    replace_by_values(reshard, (value,))


def _target(reshard: Operation) -> TensorSharding:
    return cast(TensorSharding, plain(reshard.properties["sharding"]))


def _share_axes(first: TensorSharding, second: TensorSharding, meshes: Meshes) -> bool:
    """Whether the meshes differ in the order of devices at most."""
    if first.mesh == second.mesh:
        return True
    mine, its = mesh_of(first, meshes), mesh_of(second, meshes)
    return mine.axes == its.axes


def _shape(value: SSAValue) -> tuple[int, ...]:
    tensor = tensor_type(value.type)
    return tuple(size or 0 for size in tensor.shape) if tensor is not None else ()
