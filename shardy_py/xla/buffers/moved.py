"""The bytes that can be copied while ops of a TPU run: as many as they move, or a product's time allows.

XLA:TPU takes each loop for five iterations where it asks how long a value would stay in VMEM
(`xla_tpu_memory_space_assignment_while_execution_count`). Source: openxla/xla, the interval picker of
xla/service/memory_space_assignment/. Not here: what is copied (`fetched.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

from shardy_py.ops import TABLE, Control
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.read_there import is_constant
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.sliced import is_sliced_alone
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_ITERATIONS = 5


def moved_up_to(block: StoredBlock, events: Sequence[Event]) -> list[float]:
    """Returns by event the bytes that can be copied until it has run."""
    return [*accumulate(_moved_with_iterations(block, event) for event in events)]


def _moved_with_iterations(block: StoredBlock, event: Event) -> float:
    """The bytes that can be copied while an event runs, and all iterations of a loop."""
    step = event.step
    if step is None or event.sent is not None or TABLE[step.record.name].control is not Control.LOOP:
        return moved_meanwhile(block, event)
    inner, events = block.regions_in_order(step)[-1]
    return _ITERATIONS * sum(_moved_with_iterations(inner, each) for each in events)


def moved_meanwhile(block: StoredBlock, event: Event) -> float:
    """The bytes that are copied to VMEM while an event runs, which reads and writes memory as fast."""
    if is_constant(event):
        return 0
    sizes = block.sizes
    if is_sliced_alone(block, event):
        return 2 * sizes.get(event.makes[0], 0)
    own = sum(sizes.get(name, 0) for name in {*event.reads, *event.makes})
    return max(own, _flops(block, event) / block.setting.flops_per_byte)


def _flops(block: StoredBlock, event: Event) -> int:
    """The operations of a product; 0 of others."""
    step = event.step
    if step is None or event.sent is not None or COMPILED.of(step.record.name).form is not NodeForm.PRODUCT:
        return 0
    left, made = block.types.get(step.operands[0]), block.types.get(step.results[0])
    if left is None or made is None:
        return 0
    summed = DotDimensions.of(step.record.attributes).contracting[0]
    return 2 * prod(size or 0 for size in made.shape) * prod(left.shape[d] or 0 for d in summed)
