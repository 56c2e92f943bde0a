"""The slices that XLA:TPU reads where the value itself is: first parts of it, in as many tiles.

    f32[512,1024] sliced to [509,1024] from its first element on: both have 64 rows of 8 tiles

Such a slice is a bitcast if it is not fused with others. Source: the HLO of XLA:TPU for 60 slices that are
read by pads and concatenations. Not here: which slices are fused (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


def with_first_parts(
    block: StoredBlock, events: Sequence[Event], members: Mapping[int, Sequence[PlannedOp]]
) -> list[Event]:
    """Returns the events of a block without those that only slice such parts, which others then read whole.

    members: by the identity of a step, what is computed in it.
    """
    kept = {*block.results, *block.returned}
    kept.update(
        name for event in events if event.step is not None and event.step.blocks for name in event.reads
    )
    whole: dict[Name, Name] = {}
    found: list[Event] = []
    for event in events:
        own = event if whole.keys().isdisjoint(event.reads) else _reading(event, whole)
        is_alone = len(members.get(id(event.step), ())) == 1 and event.sent is None
        if is_alone and kept.isdisjoint(event.makes) and _is_first_part(block, own):
            whole[own.makes[0]] = own.reads[0]
        else:
            found.append(own)
    return found


def _reading(event: Event, whole: Mapping[Name, Name]) -> Event:
    """An event that reads values instead of their first parts, over which it does not write."""
    over = tuple([name for name in event.over if name not in whole])
    return event._replace(
        reads=tuple(dict.fromkeys(whole.get(name, name) for name in event.reads)), over=over
    )


def _is_first_part(block: StoredBlock, event: Event) -> bool:
    """True for a slice from the first element on, with as many bytes in memory as what it is of."""
    step = event.step
    if step is None or COMPILED.of(step.record.name).form is not NodeForm.SLICE:
        return False
    if len(event.reads) != 1 or len(event.makes) != 1 or "start_indices" not in step.record.attributes:
        return False
    attributes = step.record.attributes
    is_first = not any(integers(attributes, "start_indices")) and set(integers(attributes, "strides")) <= {1}
    return is_first and block.sizes.get(event.reads[0]) == block.sizes.get(event.makes[0])
