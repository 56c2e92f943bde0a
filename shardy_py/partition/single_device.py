"""Ops that run on one given device: reshards of their operands to it, and of their results from it.

Both go through the fully replicated tensor on the mesh of all devices:

    operand [{"x"}] -> replicated -> device 3;      result on device 3 -> replicated -> sharding of the users
"""

from __future__ import annotations

from dataclasses import dataclass

from shardy_py.errors import ShardyError
from shardy_py.partition.compare import is_equivalent, is_replicated
from shardy_py.partition.reshard_plan import NOTHING, ReshardPlan, ResultReshard, Shardings
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, is_single_device, mesh_of


@dataclass(frozen=True, slots=True)
class SingleDeviceOp:
    """An op with a result on a single device.

    operand_ranks, result_ranks: None for tokens and other types that are not ranked tensors.
    everyone: the name of the mesh of all devices; None if there is none: then no reshards are needed.
    """

    operands: Shardings
    results: Shardings
    operand_ranks: tuple[int | None, ...]
    result_ranks: tuple[int | None, ...]
    everyone: str | None


def global_mesh(meshes: Meshes) -> str | None:
    """The first mesh with axes."""
    return next((name for name, mesh in meshes.items() if mesh.axes), None)


def is_single_device_op(results: Shardings, meshes: Meshes) -> bool:
    """Whether a result is on a single device."""
    return any(is_single_device(sharding, meshes) for sharding in results)


def single_device_plan(op: SingleDeviceOp, meshes: Meshes) -> ReshardPlan:
    """The reshards around `op`."""
    target = _device(op.results, meshes)
    everyone = op.everyone
    if everyone is None:
        return NOTHING
    operands: list[tuple[int, tuple[TensorSharding, ...]]] = []
    for index, (sharding, rank) in enumerate(zip(op.operands, op.operand_ranks, strict=True)):
        if rank is not None and (chain := _to_device(sharding, rank, target, everyone)):
            operands.append((index, chain))
    results: list[tuple[int, ResultReshard]] = []
    for index, (sharding, rank) in enumerate(zip(op.results, op.result_ranks, strict=True)):
        if rank is None:
            results.append((index, ResultReshard(TensorSharding(everyone, ()), ())))
        else:
            results.append((index, ResultReshard(target, _from_device(sharding, rank, everyone, meshes))))
    return ReshardPlan(tuple(operands), tuple(results))


def _device(results: Shardings, meshes: Meshes) -> TensorSharding:
    """The sharding of rank 0 on the device of the results."""
    on_devices = [s for s in results if s is not None and is_single_device(s, meshes)]
    if len({mesh_of(s, meshes).maximal_device_id for s in on_devices}) > 1:
        raise ShardyError("has conflicting single-device result shardings")
    return TensorSharding(on_devices[-1].mesh, ())


def _to_device(
    sharding: TensorSharding | None, rank: int, target: TensorSharding, everyone: str
) -> tuple[TensorSharding, ...]:
    replicated = TensorSharding.fully_closed(everyone, rank)
    sharding = sharding or replicated
    if is_equivalent(sharding, target) and sharding.mesh == target.mesh:
        return ()
    if is_replicated(sharding) and sharding.mesh == everyone:
        return (target,)
    return (replicated, target)


def _from_device(
    sharding: TensorSharding | None, rank: int, everyone: str, meshes: Meshes
) -> tuple[TensorSharding, ...]:
    replicated = TensorSharding.fully_closed(everyone, rank)
    if sharding is None or is_single_device(sharding, meshes) or sharding == replicated:
        return (replicated,)
    return (replicated, sharding)
