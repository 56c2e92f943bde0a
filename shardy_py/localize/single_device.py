"""`sdy-resolve-single-device-sharding`: runs ops on a single device there only.

    before  %1 = sdy.reshard %0 <@one, []>             sdy.mesh @one = <[], device_ids=[1]>
            %2 = stablehlo.add %1, %1 {... <@one, []>}
            %3 = sdy.reshard %2 <@mesh, [{}]>
    after   %1 = the id of the device
            %2 = "stablehlo.if"(%1 == 1) ({ stablehlo.add %0, %0 }, { zeros })
            %3 = sdy.all_reduce {"x"} %2 out_sharding=<@mesh, [{}]>

The sum over all devices is the result of that one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.localize.device_ids import DeviceCounts, is_device
from shardy_py.localize.padding_masks import scalar_data
from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.holders import SHARDING, result_shardings
from shardy_py.mlir.ir import erase, operands_of, place_before, replace_operand, replace_uses
from shardy_py.mlir.movements import inserting_for, note_copies
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.value_shardings import ShardingReader, rank_of
from shardy_py.ops import Identity
from shardy_py.passes.export.communication_ops import step_op
from shardy_py.passes.options import ResolveSingleDeviceOptions
from shardy_py.reshard.steps import AllReduce
from shardy_py.sharding import AxisRef, TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of, meshes_with_axes


def resolve_single_device_sharding(module: ModuleOp, options: ResolveSingleDeviceOptions) -> None:
    """Replaces each op on a single device by a conditional and an all-reduce.

    Nothing changes in modules without a mesh of several devices.

    Raises:
        ShardyError: an op has results on several single devices, or sharded ones too.
    """
    meshes = meshes_of(module)
    main = next(iter(meshes_with_axes(meshes)), None)
    if main is None or not any(mesh.is_maximal for mesh in meshes.values()):
        return
    is_narrow = Behaviour.POSITIONS_ARE_NARROW.holds and not options.wide_device_ids
    counts = DeviceCounts(options.replica_count, options.partition_count, is_narrow)
    resolution = _Resolution(meshes, main, counts)
    found = [(op, resolution.device_of(op)) for op in ir.walk_pre_order(module, include_root=False)]
    for op, device in found:
        if device is not None:
            with inserting_for(op):
                resolution.resolve(op, device)


class _Resolution:
    def __init__(self, meshes: Meshes, main: str, counts: DeviceCounts) -> None:
        self._meshes = meshes
        self._main = main
        self._axes = tuple(AxisRef(axis.name) for axis in meshes[main].axes)
        self._counts = counts
        self._reader = ShardingReader()

    def device_of(self, op: Operation) -> int | None:
        """The only device that runs `op`, None if there is none."""
        if op.name.startswith("sdy."):
            return None
        devices: set[int] = set()
        sharded = False
        tensors = [result for result in op.results if tensor_type(result.type) is not None]
        # An op without tensor results, run for its effects, has one sharding all the same.
        given = map(self._reader.of, tensors) if tensors else result_shardings(op)
        for sharding in given:
            if sharding is not None and is_single_device(sharding, self._meshes):
                devices.update(mesh_of(sharding, self._meshes).device_ids)
            elif sharding is not None and not sharding.is_fully_replicated:
                sharded = True
        if len(devices) > 1 or (devices and sharded):
            got = " and ".join(f"device {device}" for device in sorted(devices))
            with errors_at(op):
                raise ShardyError.unexpected(
                    "results",
                    expected="all on one device",
                    got=got + (" and several devices" if sharded else ""),
                )
        return devices.pop() if devices else None

    def resolve(self, op: Operation, device: int) -> None:
        """Replaces `op` by its results on `device`, sent to all devices."""
        build = StablehloBuilder(op)
        is_there = is_device(build, self._counts, device)
        reshards: list[Operation] = []

        def run(inner: StablehloBuilder, arguments: Sequence[Value]) -> Sequence[Value]:
            copy = clone(op, {})
            copy.attributes.pop(SHARDING, None)
            place_before(copy, inner.anchor)
            for index, value in enumerate(operands_of(copy)):
                if isinstance(value, OpResult) and self._moves_to_device(value.op):
                    reshards.append(value.op)
                    replace_operand(copy, index, operands_of(value.op)[0])
            return copy.results

        def skip(inner: StablehloBuilder, arguments: Sequence[Value]) -> Sequence[Value]:
            return [_zeros(inner, result) for result in op.results]

        types = [result.type for result in op.results]
        branches = (build.region((), run), build.region((), skip))
        made = build.insert("if", (is_there,), types, branches)
        news = [self._shared(result, op) for result in made.results]
        note_copies(dict(zip(op.results, news, strict=True)))
        for old, new in zip(op.results, news, strict=True):
            self._replace(old, new)
        erase(op)
        for reshard in dict.fromkeys(reshards):
            if reshard.results[0].first_use is None:
                erase(reshard)

    def _moves_to_device(self, op: Operation) -> bool:
        return isinstance(op, sdy.ReshardOp) and is_single_device(
            self._reader.of(op.results[0]), self._meshes
        )

    def _shared(self, result: SSAValue, before: Operation) -> SSAValue:
        """A tensor summed over all devices; another value itself."""
        if tensor_type(result.type) is None:
            return result
        sharding = TensorSharding.fully_closed(self._main, rank_of(result.type))
        op = step_op(AllReduce(sharding, self._axes), result, before.location)
        place_before(op, before)
        return op.results[0]

    def _replace(self, old: SSAValue, new: SSAValue) -> None:
        """Replaces uses; reshards to what the new value is already are erased."""
        wanted = self._reader.of(new)
        for use in list(old.uses):
            user = use.operation
            is_reshard = isinstance(user, sdy.ReshardOp) and wanted is not None
            if is_reshard and self._reader.of(user.results[0]) == wanted:
                replace_uses(user.results[0], new)
                note_copies({user.results[0]: new})
                erase(user)
            else:
                replace_operand(user, use.index, new)


def _zeros(build: StablehloBuilder, like: SSAValue) -> Value:
    if tensor_type(like.type) is None:
        return build.one("create_token", (), like.type)
    return build.dense(like.type, scalar_data(Identity.ZERO, element_of(like)))
