"""The slices that XLA:TPU computes alone: what time they leave for others, and which a copy into VMEM makes.

A slice of whole tiles of a value in HBM is an asynchronous copy of these, if there is room for them in VMEM;
its addresses are in a tuple in another one. Source: the HLO of XLA:TPU for 60 slices that are read by pads
and concatenations. Not here: first parts (`first_parts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.local_sizes import TILED, least_padded
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

TUPLES = 2
"""The tuples that an asynchronous slice makes."""


def is_sliced_alone(block: StoredBlock, event: Event) -> bool:
    """Returns whether an event is a slice of a stored value, which is not fused with other ops."""
    step = event.step
    if step is None or event.sent is not None or len(event.reads) != 1 or len(event.makes) != 1:
        return False
    if (
        COMPILED.of(step.record.name).form is not NodeForm.SLICE
        or "start_indices" not in step.record.attributes
    ):
        return False
    return block.stored_name(step.operands[0]) == event.reads[0]


def starts_slice(event: Event) -> bool:
    """Returns whether an event is a slice that a copy into VMEM makes."""
    return (
        event.is_part
        and event.step is not None
        and COMPILED.of(event.step.record.name).form is NodeForm.SLICE
    )


def sliced_into_vmem(block: StoredBlock, events: Sequence[Event]) -> set[Name]:
    """Returns the slices of whole tiles of values in HBM, but those that are sent.

    The parts of an image that are put together are in VMEM.
    """
    from shardy_py.xla.buffers.tpu.records import PLACED  # needed for some TPUs only

    put = {event.makes[0] for event in events if event.step is not None and event.step.record.name == PLACED}
    kept = {*block.results, *(name for event in events if event.sent is not None for name in event.reads)}
    return {
        event.makes[0]
        for event in events
        if is_sliced_alone(block, event)
        and event.reads[0] not in block.in_vmem.made
        and event.reads[0] not in put
        and event.makes[0] not in kept
        and _is_of_tiles(event)
    }


def _is_of_tiles(event: Event) -> bool:
    """True for a slice that begins with a tile and has tiles of the same rows."""
    (held,), (made,) = event.step.record.operands[:1], event.step.record.results
    attributes = event.step.record.attributes
    if held is None or made is None or held.rank < TILED or set(integers(attributes, "strides")) - {1}:
        return False
    starts, order = integers(attributes, "start_indices"), least_padded(held)
    row, lane = order[-TILED:]
    return not (starts[row] % SUBLANES or starts[lane] % LANES or (made.shape[row] or 0) < SUBLANES)
