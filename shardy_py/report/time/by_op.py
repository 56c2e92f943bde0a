"""The arithmetic of each op of a program: on whole tensors, and on each device as XLA partitions it.

Not here: sums over a program (`counted.py`), the time of a step (`report.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.ir import Operation

from shardy_py.mlir.record import record_of
from shardy_py.mlir.typed import of_kind
from shardy_py.report.time.counted import tilings_of
from shardy_py.report.time.local_work import NOTHING, DeviceWork, local_work, whole_work
from shardy_py.xla.buffers.on_chips import by_step
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.program import Block, PlannedOp


def work_of_op(op: Operation) -> DeviceWork:
    """Returns the work of an op on whole tensors, one run without its regions; none if a size is dynamic."""
    record = record_of(op)
    if not record.is_static:
        return NOTHING
    try:
        return whole_work(PlannedOp(record, (), (), (), source=op))
    except OverflowError:  # more operations than a float can hold
        return NOTHING


def local_work_by_op(program: SpmdProgram) -> Mapping[Operation, DeviceWork]:
    """Returns the work of each op on a device, one run without its regions; of ops in functions per call.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    found: dict[Operation, DeviceWork] = {}
    for function in program.entries:
        block, plan = program.planned(function)
        sent, tilings = by_step(plan.sent), tilings_of(block)
        for step in _steps(block):
            if step.source is not None:
                op = of_kind(step.source, Operation)
                held = [tilings.get(name) for name in step.operands]
                work = local_work(step, sent.get(id(step), ()), held, is_planned=program.is_planned)
                found.setdefault(program.originals.get(op, op), work)
    return found


def _steps(block: Block) -> Iterator[PlannedOp]:
    for step in block.steps:
        yield step
        for inner in step.blocks:
            yield from _steps(inner)
