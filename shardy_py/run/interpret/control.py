"""Control flow: calls, branches, loops, regions that run once.

Devices that disagree on a branch or on the end of a loop run in groups that agree, one after the other.
Groups whose branches communicate run as tasks beside each other (`rendezvous.py`): one may wait for another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from shardy_py.mlir.symbols import callee_name
from shardy_py.mlir.typed import of_kind
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.spec import Control
from shardy_py.run.interpret.build import Builder, Handler, NestedRegion
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.plan import BlockPlan, execute
from shardy_py.run.interpret.values import Lanes, Value, joined, selected


class CallRun:
    """Runs the plan of a function."""

    def __init__(self, plan: BlockPlan) -> None:
        self._plan = plan
        self.callees = frozenset((plan,))

    def __call__(self, devices: Devices, operands: list[Value]) -> list[Value]:
        """Returns the function's results."""
        return execute(self._plan, devices, operands)


def call(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Sections "composite" and "Functions": the callee, on the operands."""
    composite = op.properties.get("decomposition")
    name = callee_name(op) if composite is None else of_kind(composite, SymbolRefAttr).root_reference.data
    return CallRun(builder.function(name))


def region_once(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """A region that takes the operands."""
    count = len(op.operands)
    (body,) = regions
    return lambda devices, operands: body(devices, operands[:count], operands)


def asynchronous(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "async_start": the region runs at once; the future is the tuple of its results."""
    once = region_once(builder, op, regions)
    return lambda devices, operands: (tuple(once(devices, operands)),)


def branches(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Sections "if" and "case": the index of a branch out of range means the last one."""
    last, branch = len(regions) - 1, current().branch

    def position(selector: Value) -> int:
        if selector.dtype == np.bool_:
            return branch(0 if selector else 1, last + 1)
        return branch(int(selector) if 0 <= selector <= last else last, last + 1)

    communicates = any(region.plan.communicates for region in regions)

    def run(devices: Devices, operands: list[Value]) -> list[Value]:
        selector = operands[0]
        chosen = {position(value) for value in np.unique(selector)}
        if len(chosen) == 1:
            return regions[chosen.pop()](devices, [], operands)
        by_lane = np.array([position(value) for value in selector])
        groups = [(number, np.flatnonzero(by_lane == number)) for number in sorted(chosen)]
        return diverge(
            devices,
            [(lanes, partial(_branch, regions[number], operands)) for number, lanes in groups],
            communicates,
        )

    return run


def _branch(region: NestedRegion, operands: list[Value], devices: Devices, lanes: Lanes) -> list[Value]:
    return region(devices, [], [selected(value, lanes) for value in operands])


Part = tuple[Lanes, Callable[[Devices, Lanes], list[Value]]]
"""Positions of lanes, and what the devices there run."""


def diverge(devices: Devices, parts: Sequence[Part], communicates: bool) -> list[Value]:
    """Runs each part on its devices only; returns the values of all, joined."""
    work = [partial(run, devices.only(lanes), lanes) for lanes, run in parts]
    results = devices.world.rendezvous.run_all(work) if communicates else [run() for run in work]
    by_value = zip(*results, strict=True)
    positions = [lanes for lanes, _ in parts]
    return [joined(list(zip(positions, values, strict=True)), devices.count) for values in by_value]


def loop(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "while"."""
    condition, body = regions
    count, most_iterations = len(op.operands), current().most_iterations

    def run(devices: Devices, operands: list[Value]) -> list[Value]:
        carried, operands[:count] = operands[:count], [None] * count
        active, ended = np.arange(devices.count), list[tuple[Lanes, list[Value]]]()
        outer: Sequence[Value] = operands
        done, most = 0, most_iterations(op)
        while True:
            (going,) = condition(devices, list(carried), outer)
            if done == most:
                break
            done += 1
            if going.all():
                carried = body(devices, carried, outer)
                continue
            if not going.any():
                break
            stays = np.flatnonzero(going)
            leaves = np.flatnonzero(~going)
            ended.append((active[leaves], [selected(value, leaves) for value in carried]))
            carried = [selected(value, stays) for value in carried]
            outer = [selected(value, stays) for value in outer]
            devices, active = devices.only(stays), active[stays]
        if not ended:
            return carried
        ended.append((active, carried))
        lanes = sum(len(positions) for positions, _ in ended)
        columns = zip(*(values for _, values in ended), strict=True)
        positions = [place for place, _ in ended]
        return [joined(list(zip(positions, values, strict=True)), lanes) for values in columns]

    return run


def handlers() -> dict[Control, Handler]:
    """Returns what runs ops of each kind of control flow."""
    from shardy_py.run.interpret.manual import manual_computation

    return {
        Control.CALL: call,
        Control.REGION: region_once,
        Control.MANUAL: manual_computation,
        Control.ASYNC: asynchronous,
        Control.BRANCHES: branches,
        Control.LOOP: loop,
    }
