"""The order in which a TPU runs the events of a block, with sums as they are combined.

On v5p it is that of `memory_order.py`. On v5e and v6e, where nearly all values are in VMEM, what frees most
bytes runs first, which keeps single elements in the memory of results, as XLA does (`beside_vmem.py`).
Not here: which sums are combined (`xla/targets/`), what is fetched meanwhile (`fetched.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shardy_py.ops import TABLE, Role
from shardy_py.xla.buffers.events import with_joined_sums
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES
from shardy_py.xla.buffers.memory_order import in_least_memory
from shardy_py.xla.buffers.read_there import is_constant
from shardy_py.xla.buffers.schedule import Event, least_memory, makes_elements, ordered_by_reads
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


def in_tpu_order(block: StoredBlock, events: Sequence[Event]) -> list[Event]:
    """Returns the events of a block in the order of TPUs; combined sums apart if these need each other."""
    joined = with_joined_sums(events, block.joined)
    found = ordered_by_reads(joined)
    if not block.setting.as_compiled:
        return least_memory(events if found is None else joined, block.sizes, block.types)
    if found is None:
        found = ordered_by_reads(events) or [*events]
    # XLA's schedulers ignore constants: their memory is never freed.
    sizes = {
        name: 0 if is_constant(event) else block.sizes.get(name, 0) for event in found for name in event.makes
    }
    ordered = in_least_memory(
        *(found, sizes, block.results),
        lambda event: makes_elements(event, block.types),
        lambda event: _most_alive_inside(block, event),
        knows_operands=False,  # fusions have operands in an order of their own
    )
    return _with_late_broadcasts(block, ordered)


def _with_late_broadcasts(block: StoredBlock, events: Sequence[Event]) -> list[Event]:
    """Returns events in order, with those that repeat one element or count right before their first readers.

    XLA:TPU has zeros that loops and scatters start with there, and the places that are sorted, in whatever
    order it runs other ops.
    """
    late: dict[Name, Event] = {}
    found: list[Event] = []
    for event in events:
        found += [late.pop(name) for name in dict.fromkeys(event.reads) if name in late]
        if _is_made_late(block, event):
            late[event.makes[0]] = event
        else:
            found.append(event)
    return [*found, *late.values()]


def _is_made_late(block: StoredBlock, event: Event) -> bool:
    """True for an op that only repeats one element, or makes the places of elements."""
    step = event.step
    if step is None or event.sent is not None or len(event.makes) != 1 or step.blocks:
        return False
    name = step.record.name
    if TABLE[name].role is not Role.BROADCAST and not STORED.of(name).counts_places:
        return False
    return all(block.sizes.get(name, 0) <= ELEMENT_BYTES for name in event.reads)


def _most_alive_inside(block: StoredBlock, event: Event) -> int:
    """The most bytes of values that are alive at once in what an event runs."""
    step = event.step
    if step is None or not step.blocks or event.sent is not None:
        return 0
    most = 0
    for inner, events in block.regions_in_order(step):
        if inner.most_alive is None:
            inner.most_alive = _most_alive(inner, events)
        most = max(most, inner.most_alive)
    return most


def _most_alive(block: StoredBlock, events: Sequence[Event]) -> int:
    """The most bytes of values that are alive at once while these events of a block run."""
    sizes = block.sizes
    last: dict[Name, int] = {}
    for number, event in enumerate(events):
        last |= dict.fromkeys((*event.reads, *event.makes), number)
    last = {name: last[name] for event in events for name in event.makes if name not in block.results}
    alive = most = 0
    for number, event in enumerate(events):
        alive += sum([sizes.get(name, 0) for name in event.makes])
        most = max(most, alive + _most_alive_inside(block, event))
        dying = [name for name in {*event.reads, *event.makes} if last.get(name) == number]
        alive -= sum([sizes.get(name, 0) for name in dying])
    return most
