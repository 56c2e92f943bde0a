"""The arithmetic of a program: each op that is needed counts once, with the trip counts of loops.

XLA's cost analysis counts a loop as one iteration, and the largest of branches. Not here: the part of each
device of one op (`local_work.py`), the time (`graph.py`, where an op may be computed in several groups).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shardy_py.ops import TABLE, Control
from shardy_py.report.time.local_work import DeviceWork, total_work
from shardy_py.xla.spmd.program import Block, PlannedOp, reads_of

WorkOfStep = Callable[[PlannedOp], DeviceWork]
Times = Callable[[PlannedOp], int]


def block_work(block: Block, work: WorkOfStep, times: Times = lambda step: step.times) -> DeviceWork:
    """Returns the sum of the work of the steps of a block; as `steps_work`."""
    return steps_work(live_steps(block), work, times)


def live_steps(block: Block) -> list[PlannedOp]:
    """Returns the steps that the results of a block need, or that have none themselves, last ones first."""
    live = {*block.results}
    found: list[PlannedOp] = []
    for step in reversed(block.steps):
        if step.results and live.isdisjoint(step.results):
            continue
        live.update(reads_of(step))
        found.append(step)
    return found


def steps_work(
    steps: Iterable[PlannedOp], work: WorkOfStep, times: Times = lambda step: step.times
) -> DeviceWork:
    """Returns the sum of the work of steps.

    work: of a step without its regions. times: how often the regions of a step count.
    """
    return total_work([_step_work(step, work, times) if step.blocks else work(step) for step in steps])


def _step_work(step: PlannedOp, work: WorkOfStep, times: Times) -> DeviceWork:
    inside = [block_work(inner, work, times) for inner in step.blocks]
    if TABLE[step.record.name].control is Control.BRANCHES:
        return max(inside, key=lambda each: each.all_flops)
    return total_work(inside) * times(step)
