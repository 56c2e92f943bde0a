"""The values of loops that XLA:TPU has in VMEM as long as a loop runs.

What each iteration of a loop replaces by what a fusion without a product makes is made there, and is there
from the copy with which the loop starts, but not what its condition reads; on chips where any op makes values
there, so is what any other op makes. What a loop only reads is fetched
before it, if there is time.
Source: the carried values of 210 loops that XLA:TPU compiled for v5p. Not here: whether there is time
(`fetched.py`), and what is copied for a loop in any case (`carried.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.ops import TABLE, Control
from shardy_py.xla.buffers.moved import while_kept
from shardy_py.xla.buffers.read_there import has_elements, is_constant, read_there
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.vmem import VectorMemory
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

FETCHED = "fetched"


def fetched(name: Name, number: int, position: int = -1) -> Name:
    """Returns the name of what is fetched of a value for the event of a number.

    position: of a loop, that of what it starts with, if it replaces it.
    """
    return (FETCHED, name, number) if position < 0 else (FETCHED, name, number, position)


class Loop(NamedTuple):
    """The values of a loop that may be in VMEM.

    inner, events: its body. read: by what the loop reads, and never replaces, the names in the body.
    replaced: by the position of what each iteration replaces its names in the body: at first, and in the end.
    """

    inner: StoredBlock
    events: Sequence[Event]
    read: Mapping[Name, Sequence[Name]]
    replaced: Mapping[int, tuple[Name, Name]]

    def used(self) -> dict[Name, int]:
        """The bytes that the body reads of each value of the loop."""
        inside = self.inner.in_vmem.used
        if inside is None:
            inside = self.inner.in_vmem.used = used_of(self.inner, self.events)
        return {
            name: sum(inside[each] for each in within if each in inside)
            for name, within in self.read.items()
            if not inside.keys().isdisjoint(within)
        }

    def read_there(self) -> set[Name]:
        """The values that the body reads in VMEM if they are fetched before."""
        stays = self.inner.in_vmem.stays
        if stays is None:
            stays = self.inner.in_vmem.stays = self._stays()
        return {
            name
            for name, within in self.read.items()
            if (own := [stays[each] for each in within if each in stays]) and all(own)
        }

    def _stays(self) -> dict[Name, bool]:
        """The values that events of the body read in VMEM, and whether each stays there all the time."""
        inside = LoopsThere(self.inner, self.events)
        uses = dict[Name, list[int]]()
        for number in range(len(self.events)):
            for name in inside.read_there(number, ()):
                uses.setdefault(name, [-1]).append(number)
        kept, end = while_kept(self.inner, self.events), len(self.events)
        return {name: kept.stays([*own, end]) for name, own in uses.items()}

    def note(self, names: Iterable[Name]) -> None:
        """Notes that values of the body need no memory, as they are in VMEM."""
        self.inner.sizes |= dict.fromkeys(names, 0)
        known = self.inner.in_vmem
        known.copied = known.stays = known.used = None


def used_of(block: StoredBlock, events: Sequence[Event]) -> dict[Name, int]:
    """Returns the bytes that events read of each value, all together."""
    used = Counter[Name]()
    for own in block.in_vmem.used_by.values():
        used.update(own)
    for event in events:
        loop = loop_of(block, event)
        if loop is not None:
            inside = loop.used()
        elif event.step is None or event.sent is not None:
            inside = {name: block.sizes.get(name, 0) for name in event.reads}
        else:
            inside = dict[Name, int]()
        for name, size in inside.items():
            used[name] = used.get(name, 0) + size
    return used


class LoopsThere:
    """The loops among the events of a block, by their numbers, and what of each is in VMEM."""

    def __init__(
        self, block: StoredBlock, events: Sequence[Event], memory: VectorMemory | None = None
    ) -> None:
        """Takes room for what iterations replace. memory: the room; None if there is enough."""
        self._block, self._events = block, events
        found = {number: loop_of(block, event) for number, event in enumerate(events)}
        self.of = {number: loop for number, loop in found.items() if loop is not None}
        self._replaced: dict[int, list[int]] = defaultdict(list)
        self._uses: dict[Name, list[int]] = defaultdict(list)
        for number, event in enumerate(events):
            for name in dict.fromkeys(event.reads):
                self._uses[name].append(number)
        self._last = {name: own[-1] for name, own in self._uses.items()}
        self._makers = {name: number for number, event in enumerate(events) for name in event.makes}
        self._constants = set[Name]()
        for event in events:
            if is_constant(event) or (event.step is not None and self._constants.issuperset(event.reads)):
                self._constants.update(event.makes)
        if not block.setting.any_in_vmem:
            for number, position in self.places().values():
                self._take(number, position, memory)

    def places(self) -> dict[Name, tuple[int, int]]:
        """The results of loops that each iteration replaces, with the number of the loop and the position."""
        return {
            self._events[number].makes[position]: (number, position)
            for number, loop in self.of.items()
            for position in loop.replaced
        }

    def _take(self, number: int, position: int, memory: VectorMemory | None) -> None:
        """Takes room for what a loop replaces, from its start to the last use, if there is any."""
        made = self._events[number].makes[position]
        uses = [number, *self._uses.get(made, ())]
        if self.may_be_there(number, position) and (
            memory is None or memory.take(number, uses[-1] + 1, self._block.sizes[made], uses)
        ):
            self.replace(number, position)

    def replace(self, number: int, position: int) -> None:
        """Notes that a loop replaces a value in VMEM."""
        self._replaced[number].append(position)

    def may_be_there(self, number: int, position: int) -> bool:
        """Returns whether a loop may replace a value in VMEM, if there is room."""
        return self._may_be_there(self._events[number].makes[position]) and self._is_copied_there(
            number, position
        )

    def _may_be_there(self, made: Name) -> bool:
        """True for several elements; what a loop around it carries is in HBM."""
        return has_elements(self._block, made) and (self._block.is_entry or made not in self._block.results)

    def _is_copied_there(self, number: int, position: int) -> bool:
        """True if there is time to copy what a loop starts with.

        A copy in HBM takes as long. A constant has none: it is memory in which nothing is written, and copied
        while that for the next ones is reserved; where any op may make values in VMEM, it is reserved there.
        What is made for the loop alone is not copied in HBM.
        """
        over, sizes = self._events[number].over, self._block.sizes
        name = over[position]
        if name in self._constants:
            if self._block.setting.any_in_vmem:
                return True
            later = sum(sizes.get(each, 0) for each in over[position + 1 :] if each in self._constants)
            return later >= sizes.get(name, 0)
        if self._is_copied(name, number) or name in self._block.in_vmem.made:
            return True
        between = self._events[self._makers[name] + 1 : number]
        moved = (sizes.get(each, 0) for event in between for each in (*event.reads, *event.makes))
        return sum(moved) >= sizes.get(name, 0)

    def read_there(self, number: int, sent: Collection[Name]) -> set[Name]:
        """The values that an event reads in VMEM if they are fetched. sent: see `read_there`."""
        loop = self.of.get(number)
        return read_there(self._block, self._events[number], sent) if loop is None else loop.read_there()

    def in_hbm(self) -> set[Name]:
        """The values with which loops start in HBM: iterations replace them there."""
        return {
            name
            for number, loop in self.of.items()
            for position, name in enumerate(self._events[number].over)
            if name not in loop.read and position not in self._replaced[number]
        }

    def copied(self, number: int) -> int:
        """The bytes that are read and written to copy what a loop starts with, and replaces."""
        sizes, constants = self._block.sizes, self._constants
        starts = [name for name in self._events[number].over if name not in self.of[number].read]
        return sum(
            (2 - (name in constants)) * sizes.get(name, 0) for name in starts if self._is_copied(name, number)
        )

    def _is_copied(self, name: Name, number: int) -> bool:
        """True for what a loop starts with if it is an argument or constant, or read later."""
        return name not in self._makers or name in self._constants or self._last[name] > number

    def made(self) -> list[Name]:
        """The results of loops that are in VMEM."""
        return [self._events[n].makes[each] for n, found in self._replaced.items() for each in found]

    def note(self, reads: Mapping[int, Collection[Name]], made: Collection[Name]) -> set[Name]:
        """Notes what needs no memory, as it is in VMEM; returns the results that are written to HBM.

        reads: by the number of an event what it reads there. made: what fusions make there.
        """
        sizes, results = self._block.sizes, self._block.results
        for number, loop in self.of.items():
            for name in (*made, *reads.get(number, ())):
                loop.note(loop.read.get(name, ()))
            for position in self._replaced[number]:
                loop.note(loop.replaced[position])
        sizes |= {name: 0 for name in self.made() if name not in results}
        return {name for name in self.made() if name in results}

    def started(self, number: int, moved: Mapping[Name, Name]) -> list[Event]:
        """A loop after the copies with which it starts. moved: the names of what is fetched for it."""
        event, sizes = self._events[number], self._block.sizes
        found, over = list[Event](), [moved.get(name, name) for name in event.over]
        for position in self._replaced[number]:
            name = event.over[position]
            if sizes.get(name, 0):
                over[position] = copy = fetched(name, number, position)
                sizes[copy] = 0
                found.append(Event(None, (name,), (copy,)))
        starts = {copy for each in found for copy in each.makes}
        replaced = {event.over[position] for position in self._replaced[number]}
        reads = [moved.get(name, name) for name in event.reads if name not in replaced or name in moved]
        return [*found, event._replace(reads=(*reads, *starts), over=tuple(over))]


def loop_of(block: StoredBlock, event: Event) -> Loop | None:
    """Returns the values of a loop that may be in VMEM; None for another event."""
    step = event.step
    if step is None or event.sent is not None or TABLE[step.record.name].control is not Control.LOOP:
        return None
    inner, events = block.regions_in_order(step)[-1]
    read: dict[Name, list[Name]] = {}
    given, copies = frozenset(event.reads), block.in_order.get(id(step), {})
    for name in inner.block.captured:
        stored = block.stored_name(name)
        rounded = ("rounded", stored)
        read.setdefault(rounded if rounded in given else copies.get(stored, stored), []).append(name)
    replaced: dict[int, tuple[Name, Name]] = {}
    if len(event.over) != len(event.makes) or len(event.makes) < 2:
        return Loop(inner, events, read, replaced)
    in_place = {name for each in events for i, name in enumerate(each.makes) if each.updates(i)}
    condition = step.blocks[0]
    asked = (
        {name for each in condition.steps for name in each.operands} if len(step.blocks) > 1 else set[Name]()
    )
    for position, (value, made) in enumerate(zip(inner.block.arguments, inner.results, strict=False)):
        if made == value.name:
            read.setdefault(event.over[position], []).append(made)
        elif (
            block.setting.any_in_vmem or (made in inner.in_vmem.returned and made not in in_place)
        ) and asked.isdisjoint([block.arguments[position].name for block in step.blocks[:-1]]):
            replaced[position] = value.name, made
    return Loop(inner, events, read, replaced)
