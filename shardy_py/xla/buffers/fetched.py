"""The values that XLA:TPU fetches into VMEM before ops read them there, where values are in HBM.

An op reads from VMEM what can be copied there while the ops between run, each of which has time for one copy:
it moves as many bytes. One argument that only products read is copied before the program starts. While there
is room, what was fetched stays until it is read last, so that it needs no memory in HBM from then on. Not
fetched are what ops read less than half of, as slices of it, what an op writes over, what is sent instead,
and single elements. Sums over devices are in HBM, also those of what is in VMEM (710 of 710). Source:
openxla/xla, xla/service/memory_space_assignment/, and the buffer assignments and schedules of XLA:TPU for
466 programs.

Not here: what fusions make in VMEM (`vmem.py`), what loops keep there (`loops_there.py`), the addresses that
copies have (`beside_vmem.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.xla.buffers.loops_there import FETCHED, LoopsThere, fetched
from shardy_py.xla.buffers.moved import while_kept
from shardy_py.xla.buffers.read_there import has_elements, is_constant
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.sliced import sliced_into_vmem
from shardy_py.xla.buffers.vmem import VectorMemory, in_vmem
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_WRITTEN = "written"


def with_fetches(
    block: StoredBlock, events: Sequence[Event], room: int, taken: Mapping[Name | None, Name]
) -> list[Event]:
    """Returns events with one for each fetch of a value; others read what was fetched last.

    room: the bytes of VMEM. taken: by argument the result in its memory, which loops over elements make in
    VMEM and then write. Notes that values there need no memory in HBM, also those that fusions make.
    """
    from shardy_py.xla.buffers.choosing import Choosing  # modules that are needed for some TPUs only
    from shardy_py.xla.buffers.copying import Copying

    own = block.in_vmem.returned if block.is_entry else set[Name]()
    updated = {made for name, made in taken.items() if name is not None and has_elements(block, made)} & own
    sizes, memory = block.sizes, _memory(block, events, room)
    loops = LoopsThere(block, events, memory)
    sliced = sliced_into_vmem(block, events)
    carried = dict[Name | None, Name]() if block.is_entry or not block.setting.sends_apart else taken
    candidates = _made_there(block, events, loops) | sliced
    if block.setting.any_in_vmem:
        made, reads, before = Choosing(block, events, memory, candidates, carried, loops).chosen()
    else:
        candidates -= loops.in_hbm()
        made = {*in_vmem(events, sizes, candidates, memory)} if candidates else set[Name]()
        reads, before = Copying(block, events, memory, {*made, *loops.made()}, carried, loops).found()
    updated |= loops.note(reads, made)
    sizes |= dict.fromkeys(made, 0)
    found: list[Event] = []
    last: dict[Name, Name] = {}
    for number, event in enumerate(events):
        for name in before.get(number, ()):
            last[name] = copy = fetched(name, number)
            sizes[copy] = 0
            found.append(Event(None, (name,), (copy,)))
        moved = {name: last[name] for name in reads.get(number, ())}
        if number in loops.of:
            found += loops.started(number, moved)
            event = found.pop()
        elif moved:
            own = tuple([moved.get(name, name) for name in event.reads])
            over = tuple([name for name in event.over if name not in moved])
            each = tuple([tuple([n for n in any_of if n not in moved]) for any_of in event.over_each])
            event = event._replace(reads=own, over=over, over_each=each)
        if not made.isdisjoint(event.makes) and not sliced.isdisjoint(event.makes):
            event = event._replace(is_part=True)
        found += _with_writes(event, updated, sizes)
    return found


def _memory(block: StoredBlock, events: Sequence[Event], room: int) -> VectorMemory:
    """The VMEM of a block: what ops inside loops and branches make there has room first.

    What these read from around them has not: of that, what is replaced in each iteration comes before.
    """
    memory = VectorMemory(room, len(events), while_kept(block, events))
    if block.setting.any_in_vmem:
        for number, event in enumerate(events):
            if event.step is not None and event.step.blocks and event.sent is None:
                inside = (_most_there(*each, room) for each in block.regions_in_order(event.step))
                memory.take(number, number + 1, max(inside, default=0))
    return memory


def _most_there(block: StoredBlock, events: Sequence[Event], room: int) -> int:
    """The most bytes that ops of a block make in VMEM at one time."""
    from shardy_py.xla.buffers.choosing import Choosing  # needed for some TPUs only

    memory = _memory(block, events, room)
    loops = LoopsThere(block, events)
    Choosing(block, events, memory, _made_there(block, events, loops), {}, loops).chosen(copies=False)
    return memory.most


def _made_there(block: StoredBlock, events: Sequence[Event], loops: LoopsThere) -> set[Name]:
    """The values that may be in VMEM from when they are made.

    Where that is any, it is not what a loop reads that moves too much meanwhile, and what is of constants,
    which are in HBM.
    """
    if not block.setting.any_in_vmem:
        return block.in_vmem.made
    made = {
        name
        for event in events
        if not (is_constant(event) or (event.step is not None and event.step.blocks))
        for name in event.makes
        if has_elements(block, name)
    }
    return made.difference(
        block.results, *(loop.read.keys() - loop.read_there() for loop in loops.of.values())
    )


def _with_writes(event: Event, updated: Collection[Name], sizes: dict[Name, int]) -> list[Event]:
    """An event and what writes its results from VMEM into the memory of arguments."""
    written = {name: (_WRITTEN, name) for name in event.makes if name in updated}
    if not written:
        return [event]
    sizes |= dict.fromkeys(written.values(), 0)
    made = event._replace(makes=tuple([written.get(name, name) for name in event.makes]))
    return [made, *(Event(None, (there,), (name,)) for name, there in written.items())]


def is_fetch(event: Event) -> bool:
    """Returns whether an event fetches a value, or writes it back."""
    if event.step is not None or len(event.makes) != 1 or event.sums:
        return False
    return _is_named(event.makes[0], FETCHED) or any(_is_named(name, _WRITTEN) for name in event.reads)


def _is_named(name: Name, kind: str) -> bool:
    return isinstance(name, tuple) and name[:1] == (kind,)
