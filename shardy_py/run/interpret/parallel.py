"""`interpreter.run_parallel`: a function for each process of a grid.

Processes of the same function run in lockstep; different functions are tasks beside each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.typed import of_kind
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret.build import Builder, NestedRegion
from shardy_py.run.interpret.machine import Devices, Run, World
from shardy_py.run.interpret.plan import BlockPlan, execute
from shardy_py.run.interpret.values import Lanes, Value, is_array, lanes_of_values, selected


def run_parallel(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """The programs' inputs and results are listed process by process, replicas major."""
    attributes = {**op.attributes, **op.properties}
    programs = of_kind(attributes["programs"], ArrayAttr)
    rows = [_symbols(of_kind(row, ArrayAttr)) for row in programs]
    grid = Grid(len(rows), len(rows[0]))
    names = [name for row in rows for name in row]
    plans = [builder.function(name) for name in names]
    feeding = of_kind(attributes.get("infeed", ArrayAttr(())), ArrayAttr)
    infeed = [builder.function(name) for name in _symbols(feeding)]
    arguments = [_argument_count(builder, name) for name in names]

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        if lanes_of_values(operands) > 1 or devices.count > 1:
            raise ShardyError("runs as part of one process; it starts processes of its own")
        given, position = list[list[Value]](), 0
        for count in arguments:
            given.append(operands[position : position + count])
            position += count
        within = Devices(devices.machine, World(grid, is_manual=False), np.arange(grid.size))
        feeds = [partial(execute, plan, devices, []) for plan in infeed]
        within.machine.infeed = deque(cast(list[Callable[[], list[Value]]], feeds))
        return _run(within, plans, given)

    return Starting(run, frozenset((*plans, *infeed)))


class Starting:
    """The step: what it runs counts as called."""

    def __init__(self, run: Run, callees: frozenset[BlockPlan]) -> None:
        self._run = run
        self.callees = callees

    def __call__(self, devices: Devices, operands: list[Value]) -> Sequence[Value]:
        """Returns the results of all processes."""
        return self._run(devices, operands)


def _run(devices: Devices, plans: list[BlockPlan], given: list[list[Value]]) -> list[Value]:
    """The results of all processes, in their order."""
    by_plan: dict[int, list[int]] = {}
    for process, plan in enumerate(plans):
        by_plan.setdefault(id(plan), []).append(process)
    groups = [np.array(processes) for processes in by_plan.values()]
    work = [partial(_group, devices, plans[group[0]], group, given) for group in groups]
    results = devices.world.rendezvous.run_all(work) if len(work) > 1 else [work[0]()]
    by_process: dict[int, list[Value]] = {}
    for group, values in zip(groups, results, strict=True):
        for lane, process in enumerate(group.tolist()):
            by_process[process] = [selected(value, np.array([lane])) for value in values]
    return [value for process in range(len(plans)) for value in by_process[process]]


def _group(devices: Devices, plan: BlockPlan, group: Lanes, given: list[list[Value]]) -> list[Value]:
    columns = zip(*(given[process] for process in group), strict=True)
    return execute(plan, devices.only(group), [_stacked(column) for column in columns])


def _stacked(values: Sequence[Value]) -> Value:
    """One value for each process as lanes; one lane if it is the same value."""
    first = values[0]
    if not is_array(first) or all(value is first for value in values):
        return first
    return np.concatenate(values)


def _symbols(listed: Iterable[Attribute]) -> list[str]:
    return [of_kind(reference, SymbolRefAttr).root_reference.data for reference in listed]


def _argument_count(builder: Builder, name: str) -> int:
    block = builder.symbols.function(name).regions[0].first_block
    return 0 if block is None else len(block.args)
