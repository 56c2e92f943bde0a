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

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES
from shardy_py.xla.buffers.loops_there import FETCHED, LoopsThere, fetched, used_of
from shardy_py.xla.buffers.moved import moved_meanwhile, while_kept
from shardy_py.xla.buffers.read_there import has_elements, is_constant, is_fetched_whole
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.sliced import sliced_into_vmem
from shardy_py.xla.buffers.vmem import VectorMemory, in_vmem
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_WRITTEN = "written"
_PART_BYTES = 1 << 10
"""The most bytes of a part of a tuple that is copied though the next op reads it: read off the buffer
assignments of XLA:TPU (right for 89 of 107 such parts), not a limit that XLA's sources name."""
_LEAST_USED = 0.5
"""The part of the bytes of a copy that ops read: XLA's `xla_tpu_msa_inefficient_use_to_copy_ratio`."""


def with_fetches(
    block: StoredBlock, events: Sequence[Event], room: int, taken: Mapping[Name | None, Name]
) -> list[Event]:
    """Returns events with one for each fetch of a value; others read what was fetched last.

    room: the bytes of VMEM. taken: by argument the result in its memory, which loops over elements make in
    VMEM and then write. Notes that values there need no memory in HBM, also those that fusions make.
    """
    own = block.in_vmem.returned if block.is_entry else set[Name]()
    updated = {made for name, made in taken.items() if name is not None and has_elements(block, made)} & own
    sizes, memory = block.sizes, VectorMemory(room, len(events), while_kept(block, events))
    loops = LoopsThere(block, events, memory)
    sliced = sliced_into_vmem(block, events)
    candidates = (block.in_vmem.made | sliced) - loops.in_hbm()
    made = {*in_vmem(events, sizes, candidates, memory)} if candidates else set[Name]()
    carried = dict[Name | None, Name]() if block.is_entry or not block.setting.sends_apart else taken
    reads = _fetched_reads(block, events, room, {*made, *loops.made()}, carried, loops)
    before = _fetches(reads, sizes, memory)
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


def _with_writes(event: Event, updated: Collection[Name], sizes: dict[Name, int]) -> list[Event]:
    """An event and what writes its results from VMEM into the memory of arguments."""
    written = {name: (_WRITTEN, name) for name in event.makes if name in updated}
    if not written:
        return [event]
    sizes |= dict.fromkeys(written.values(), 0)
    made = event._replace(makes=tuple([written.get(name, name) for name in event.makes]))
    return [made, *(Event(None, (there,), (name,)) for name, there in written.items())]


def _fetches(
    reads: Mapping[int, Sequence[Name]], sizes: Mapping[Name, int], memory: VectorMemory
) -> dict[int, list[Name]]:
    """By the number of an event, what is fetched for it: what did not stay since it was read before.

    reads: by the number of an event what it reads in VMEM.
    """
    before: dict[int, list[Name]] = defaultdict(list)
    last: dict[Name, int] = {}
    stays: list[tuple[int, int, int, int, Name]] = []
    for order, (number, names) in enumerate(reads.items()):
        for name in names:
            if name in last:
                start = last[name]
                stays.append((number - start, sizes[name], start, order, name))
            else:
                before[number].append(name)
            last[name] = number
    for length, size, start, _, name in sorted(stays, key=lambda stay: stay[:4]):
        if not memory.take(start, start + length, size, (start, start + length)):
            before[start + length].append(name)
    return before


def _fetched_reads(
    block: StoredBlock,
    events: Sequence[Event],
    room: int,
    made_there: Collection[Name],
    carried: Mapping[Name | None, Name],
    loops: LoopsThere,
) -> dict[int, list[Name]]:
    """By the number of an event, what it reads that is fetched before it, or was before another.

    carried: by what a loop carries what is in its memory in the next iteration, which is made over it there.
    """
    found: dict[int, list[Name]] = {}
    made: dict[Name, int] = dict.fromkeys(made_there, len(events))
    sent: dict[int, set[Name]] = defaultdict(set)
    known = {*_fetched_before(block, events, room)}
    time = CopyTime()
    used = used_of(block, events)
    small = set[Name]()
    """The elements of tuples that are fetched without an op between."""
    for number, event in enumerate(events):
        if event.sent is not None and event.sent.kind == "all_gather" and not is_fetched_whole(block, event):
            sent[id(event.step)].update(event.reads)
        elif there := loops.read_there(number, sent[id(event.step)]):
            there.difference_update(n for n in event.over if n in carried and carried[n] in event.makes)
            if number in loops.of:
                time.add_before(loops.copied(number))
            known.update(name for name in event.reads if _is_of_words(block, event))
            names = [
                name
                for name in sorted(
                    dict.fromkeys(event.reads),
                    key=lambda name: (-block.sizes.get(name, 0), made.get(name, -1)),
                )
                if name in there
                and block.sizes.get(name, 0) <= room
                and has_elements(block, name)
                and used.get(name, block.sizes[name]) >= _LEAST_USED * block.sizes[name]
                and (name in known or name in small or time.take(made.get(name, -1), block.sizes[name]))
            ]
            if names:
                known.update(names)
                found[number] = names
        time.add(moved_meanwhile(block, event))
        if len(event.makes) > 1:
            stored = {*event.makes}.difference(made_there)
            small.update(name for name in stored if ELEMENT_BYTES < block.sizes.get(name, 0) <= _PART_BYTES)
        known.update(name for name in event.makes if _is_of_words(block, event))
        for name in event.makes:
            if name not in made_there:
                made[name] = len(events) if is_constant(event) else number
                if is_constant(event) and block.kinds.of(event.step.record).is_table:
                    known.add(name)
    return found


def _is_of_words(block: StoredBlock, event: Event) -> bool:
    """True for a sum of Booleans, which XLA:TPU has in words of 32 bits: these are copied in any case."""
    types = (block.types.get(name) for name in event.makes)
    return bool(event.sums) and all(type_ is not None and type_.element == "i1" for type_ in types)


def _fetched_before(block: StoredBlock, events: Sequence[Event], room: int) -> list[Name]:
    """The argument that is fetched before the program starts: the largest that only products read, if any.

    Of 207 programs that XLA:TPU compiled for v5p it is the same one, or none, for 184.
    """
    if not block.is_entry:
        return []
    left = {value.name for value in block.block.arguments if block.sizes.get(value.name, 0) <= room}
    left &= {name for event in events for name in event.reads}
    for event in events:
        if event.step is None or event.sent is not None or id(event.step) not in block.in_vmem.products:
            left.difference_update(event.reads)
    left.difference_update(block.results)
    return [max(left, key=lambda name: block.sizes.get(name, 0))] if left else []


class CopyTime:
    """The bytes that can be copied while events run, which each copy takes from the last of them."""

    def __init__(self) -> None:
        """Nothing has run yet."""
        self._left: list[float] = [0]
        """By event, after what is copied before the first of them."""
        self._before: list[int] = [-1]
        """By event the last one up to it, in which bytes may be left."""

    def add(self, size: float) -> None:
        """Adds an event, while which so many bytes can be copied."""
        self._before.append(len(self._left))
        self._left.append(size)

    def add_before(self, size: float) -> None:
        """Adds copies before the next event, while which so many bytes can be copied."""
        if size:
            self._left[-1] += size
            self._before[-1] = len(self._left) - 1

    def take(self, made: int, size: float) -> bool:
        """Takes the time to copy what an event has made, -1 for an argument; False if that is over."""
        number, needed, taken = self._last(len(self._left) - 1), size, list[int]()
        first = made + 1 if made >= 0 else -1
        while needed > 0:
            if number <= first:
                return False
            taken.append(number)
            needed -= self._left[number]
            number = self._last(number - 1)
        for each in taken:
            used = min(size, self._left[each])
            self._left[each] -= used
            size -= used
            if not self._left[each]:
                self._before[each] = each - 1
        return True

    def _last(self, number: int) -> int:
        """The last event up to one in which bytes are left; -1 for none."""
        path: list[int] = []
        while number >= 0 and self._before[number] != number:
            path.append(number)
            number = self._before[number]
        for each in path:
            self._before[each] = number
        return number


def is_fetch(event: Event) -> bool:
    """Returns whether an event fetches a value, or writes it back."""
    if event.step is not None or len(event.makes) != 1 or event.sums:
        return False
    return _is_named(event.makes[0], FETCHED) or any(_is_named(name, _WRITTEN) for name in event.reads)


def _is_named(name: Name, kind: str) -> bool:
    return isinstance(name, tuple) and name[:1] == (kind,)
