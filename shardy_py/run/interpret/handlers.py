"""The handler of an op: that of its row in `facet.py`, else by its columns, else by `ops/compute/`.

Not here: handlers that belong to one op (`facet.py`), control flow (`control.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import signature
from sys import getrefcount

from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.mlir.record import record_of
from shardy_py.mlir.typed import integer_of
from shardy_py.ops import OpRecord
from shardy_py.ops.compute import COMPUTED, Compute, compute_of
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.custom_calls import check_call, guarded
from shardy_py.ops.spec import Control, Storage
from shardy_py.ops.table import call_target, row_name, row_of
from shardy_py.run.interpret.bodies import RegionBody, body_maker
from shardy_py.run.interpret.build import Builder, Handler, Known, NestedRegion, Pure
from shardy_py.run.interpret.constants import constant_array
from shardy_py.run.interpret.control import handlers as control_handlers
from shardy_py.run.interpret.facet import RUN
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.values import Value, expanded, is_tuple, lanes_of_values


@cache
def _by_control() -> dict[Control, Handler]:
    return control_handlers()


def handler_of(op: Operation) -> Handler:
    """Returns what runs `op`. Raises `ShardyError` if nothing does."""
    record = record_of(op)
    row = row_of(record)
    own = RUN.of(row.name).handler
    if own is not None:
        return own
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


def _with_bodies(
    record: OpRecord,
    function: Compute,
    makers: list[Callable[[Devices, list[Value]], RegionBody]],
    count: int,
) -> Run:
    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        bodies = [make(devices, operands) for make in makers]
        arrays = operands[:count]
        if max(body.lanes for body in bodies) > 1 and lanes_of_values(arrays) == 1:
            arrays = [expanded(array, devices.count) for array in arrays]
        result = function(record, *bodies, *arrays)
        return result if is_tuple(result) else (result,)

    return run
