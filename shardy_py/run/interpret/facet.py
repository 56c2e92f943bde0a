"""The function that runs each op of which numpy computes nothing: collectives, channels, tokens, instruments.

    RUN.of("stablehlo.all_gather").handler(builder, op, regions)

By default an op has none: its columns say what runs it (constants, control flow, elements, values that are
passed on), or its function in `ops/compute/`. Not here: the choice among these (`handlers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.record import record_of
from shardy_py.ops import Facet
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.ops.compute.windowed import dynamic_reduce_window
from shardy_py.ops.custom_calls import CALL
from shardy_py.run.interpret import collectives, effects, instruments, logical_reduction
from shardy_py.run.interpret.bodies import body_maker
from shardy_py.run.interpret.build import Builder, Handler, NestedRegion
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.parallel import run_parallel
from shardy_py.run.interpret.values import Value


@dataclass(frozen=True, slots=True)
class RunRow:
    """The function that runs an op. handler: None: its columns say what does, or numpy computes it."""

    handler: Handler | None = None


def _nothing(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The op has no results and no effect on a run."""
    return lambda devices, operands: ()


def _token(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    return lambda devices, operands: (TOKEN,)


def _tuple(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    return lambda devices, operands: (tuple(operands),)


def _done(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The results of the asynchronous call, which the future holds."""
    return lambda devices, operands: operands[0]


def _dynamic_reduce_window(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Combines by the function that the custom call names; its plan is made after this one."""
    record = record_of(op)
    (name,) = record.attributes["called_computations"]
    region = NestedRegion(builder.function(name), ())

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        body = body_maker(region)(devices, operands)
        return dynamic_reduce_window(record, body, *operands)

    return run


_CHECKS: dict[str, Handler] = {
    "check.expect_almost_eq": instruments.expect_almost_eq,
    "check.expect_almost_eq_const": instruments.expect_almost_eq,
    "check.expect_close": instruments.expect_close,
    "check.expect_eq": instruments.expect_eq,
    "check.expect_eq_const": instruments.expect_eq,
    "check.expect_serialized_eq": instruments.expect_serialized_eq,
}
_HANDLERS: dict[str, Handler] = {
    "sdy.all_reduce": logical_reduction.all_reduce,
    "sdy.mesh": _nothing,
    "sdy.sharding_group": _nothing,
    "stablehlo.after_all": _token,
    "stablehlo.all_gather": collectives.all_gather,
    "stablehlo.all_reduce": collectives.all_reduce,
    "stablehlo.all_to_all": collectives.all_to_all,
    "stablehlo.async_done": _done,
    "stablehlo.collective_broadcast": collectives.collective_broadcast,
    "stablehlo.collective_permute": collectives.collective_permute,
    "stablehlo.collective_reduce": collectives.collective_reduce,
    "stablehlo.create_token": _token,
    "stablehlo.cross-replica-sum": collectives.cross_replica_sum,
    "stablehlo.infeed": effects.infeed,
    "stablehlo.outfeed": effects.outfeed,
    "stablehlo.partition_id": collectives.partition_id,
    "stablehlo.recv": effects.recv,
    "stablehlo.reduce_scatter": collectives.reduce_scatter,
    "stablehlo.replica_id": collectives.replica_id,
    "stablehlo.send": effects.send,
    "stablehlo.tuple": _tuple,
    "interpreter.print": instruments.print_,
    "interpreter.probe": instruments.probe,
    "interpreter.run_parallel": run_parallel,
    f"{CALL}@stablehlo.dynamic_reduce_window": _dynamic_reduce_window,
    f"{CALL}@check.eq": instruments.check_eq,
    **_CHECKS,
    # StableHLO's testdata spells expectations as custom calls.
    **{f"{CALL}@{name}": handler for name, handler in _CHECKS.items()},
}

RUN = Facet("what runs", RunRow(), rows={name: RunRow(handler) for name, handler in _HANDLERS.items()})
