"""Handlers of ops: control flow and collectives by name or column, all others by `ops/compute/`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from inspect import signature
from sys import getrefcount
from typing import Any

from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.sdy import ops as sdy
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.mlir.record import record_of
from shardy_py.mlir.typed import integer_of
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import COMPUTED, Compute, compute_of
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.custom_calls import check_call, guarded
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.ops.compute.windowed import dynamic_reduce_window
from shardy_py.ops.custom_calls import CALL
from shardy_py.ops.spec import Control, Storage
from shardy_py.ops.table import call_target, row_name, row_of
from shardy_py.run.interpret import collectives, effects, instruments
from shardy_py.run.interpret.bodies import body_maker
from shardy_py.run.interpret.build import Builder, Handler, Known, NestedRegion, Pure
from shardy_py.run.interpret.constants import constant_array
from shardy_py.run.interpret.control import handlers as control_handlers
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.values import Value, expanded, is_tuple, lanes_of_values

_STABLEHLO: dict[str, Handler] = {
    "after_all": lambda builder, op, regions: lambda devices, operands: (TOKEN,),
    "all_gather": collectives.all_gather,
    "all_reduce": collectives.all_reduce,
    "all_to_all": collectives.all_to_all,
    "async_done": lambda builder, op, regions: lambda devices, operands: operands[0],
    "collective_broadcast": collectives.collective_broadcast,
    "collective_permute": collectives.collective_permute,
    "collective_reduce": collectives.collective_reduce,
    "create_token": lambda builder, op, regions: lambda devices, operands: (TOKEN,),
    "cross-replica-sum": collectives.cross_replica_sum,
    "infeed": effects.infeed,
    "outfeed": effects.outfeed,
    "partition_id": collectives.partition_id,
    "recv": effects.recv,
    "reduce_scatter": collectives.reduce_scatter,
    "replica_id": collectives.replica_id,
    "send": effects.send,
    "tuple": lambda builder, op, regions: lambda devices, operands: (tuple(operands),),
}
_NOTHING = (sdy.MeshOp, sdy.ShardingGroupOp)


def _dynamic_reduce_window(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Combines by the function that the custom call names; its plan is made after this one."""
    record = record_of(op)
    (name,) = record.attributes["called_computations"]
    region = NestedRegion(builder.function(name), ())

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        body: Any = body_maker(region)(devices, operands)
        return dynamic_reduce_window(record, body, *operands)

    return run


@cache
def _by_name() -> dict[str, Handler]:
    named = {op_class(name).name: handler for name, handler in _STABLEHLO.items()}
    return {
        **named,
        f"{CALL}@stablehlo.dynamic_reduce_window": _dynamic_reduce_window,
        **instruments.HANDLERS,
    }


@cache
def _by_control() -> dict[Control, Handler]:
    return control_handlers()


def handler_of(op: Operation) -> Handler:
    """Returns what runs `op`. Raises `ShardyError` if nothing does."""
    record = record_of(op)
    row = row_of(record)
    named = _by_name().get(row.name)
    if named is not None:
        return named
    if isinstance(op, _NOTHING):
        return lambda builder, op, regions: lambda devices, operands: ()
    if is_constant(op):
        return _constant
    if row.control is not Control.NONE:
        return _by_control()[row.control]
    if row.storage is Storage.ELEMENT:
        return _element
    if COMPUTED.of(row.name).function is not None:
        return _computed
    is_logical = row.collective is not None and not row.collective.names_devices
    if row.storage is Storage.ALIAS or is_logical:
        # Shardings say where elements lie: the logical values of all shardings are the same.
        return lambda builder, op, regions: lambda devices, operands: operands
    target = call_target(record)
    what, remedy = (
        ("", "")
        if target is None
        else (f"@{target} ", "; shardy_py.run.interpret.register_custom_call gives it a function")
    )
    raise ShardyError(f"{what}cannot run{remedy}")


def _constant(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    array, arithmetic = constant_array(op), current()
    return Known(lambda: arithmetic.constant(array))


def _element(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    index: int = integer_of(op, "index")
    return lambda devices, operands: (operands[0][index],)


def _computed(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    record = record_of(op)
    own = current().function_of(op, record)
    function = compute_of(record) if own is None else own
    if target := call_target(record):  # nothing else verifies operands and results
        check_call(record)
        try:
            signature(compute_of(record)).bind(record, *op.operands)
        except TypeError:
            raise ShardyError(f"@{target} does not take {len(op.operands)} operands") from None
        function = guarded(target, function)
    bodies = [body_maker(region) for region in regions]
    if bodies:
        return _with_bodies(record, function, bodies, len(op.operands))
    write = COMPUTED.of(row_name(record)).write if own is None else None
    if write is not None:
        return partial(_in_place, record, function, write)
    if len(op.results) == 1 and is_dead_when_unused(op):
        return Pure(partial(function, record))

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        results = function(record, *operands)
        return results if is_tuple(results) else (results,)

    return run


def _in_place(
    record: OpRecord, function: Compute, write: Compute, devices: Devices, operands: list[Value]
) -> tuple[Value]:
    """Writes into the first operand if nothing else refers to it, as in loops that fill an array."""
    target, operands[0] = operands[0], None
    others = operands[1:]
    is_own = getrefcount(target) == 2 and target.base is None  # this variable, and the argument
    if is_own and target.flags.carray and len(target) >= lanes_of_values(others):
        return (write(record, target, *others),)
    return (function(record, target, *others),)


def _with_bodies(record: OpRecord, function: Any, makers: list[Any], count: int) -> Run:
    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        bodies = [make(devices, operands) for make in makers]
        arrays = operands[:count]
        if max(body.lanes for body in bodies) > 1 and lanes_of_values(arrays) == 1:
            arrays = [expanded(array, devices.count) for array in arrays]
        result = function(record, *bodies, *arrays)
        return result if is_tuple(result) else (result,)

    return run
