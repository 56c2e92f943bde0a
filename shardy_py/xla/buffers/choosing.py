"""Which values are in VMEM where any op may make its values there: those that ops gain most from come first.

What does not fit for as long as it is needed is copied there for the ops for which it fits, as what is in HBM
from the start. What a loop replaces, and what it starts with, is one value. Source: openxla/xla, the order in
which xla/service/memory_space_assignment/ goes through values. Not here: what ops gain (`gains.py`), when
there is time for copies (`copying.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.xla.buffers.copying import Copying
from shardy_py.xla.buffers.gains import gains
from shardy_py.xla.buffers.loops_there import LoopsThere
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.vmem import VectorMemory
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


class Chosen(NamedTuple):
    """The values in VMEM.

    made: what is made there. reads, before: by number of an event what it reads, and is copied before it.
    """

    made: set[Name]
    reads: Mapping[int, list[Name]]
    before: Mapping[int, list[Name]]


class Choosing(Copying):
    """The values of a block that are in VMEM, by what ops gain."""

    def __init__(
        self,
        block: StoredBlock,
        events: Sequence[Event],
        memory: VectorMemory,
        candidates: Collection[Name],
        carried: Mapping[Name | None, Name],
        loops: LoopsThere,
    ) -> None:
        """candidates: what may be made in VMEM, beside what loops replace. carried: see `Copying`."""
        super().__init__(block, events, memory, (), carried, loops)
        self._candidates, self._places = candidates, loops.places()
        self._made_at: dict[Name, list[int]] = {}
        """By value the events that make and read it."""
        for number, event in enumerate(events):
            for name in event.reads:
                if name in self._made_at:
                    self._made_at[name].append(number)
            self._made_at |= {name: [number] for name in event.makes}

    def chosen(self, *, copies: bool = True) -> Chosen:
        """Takes room for values, the one that ops gain most from first. copies: whether also for copies."""
        early = [*self._take_early()] if copies else []
        made, known = set[Name](), dict.fromkeys(self._at_once, 0)
        reads: dict[int, list[Name]] = defaultdict(list)
        before: dict[int, list[Name]] = defaultdict(list)
        found = gains(self._block, self._events)

        def start_of(name: Name, number: int) -> int | None:
            return self._start(name, number, known)

        queue = [(self._score(each, found), each) for each in self._in_one_place()]
        for _, names in sorted(queue, key=lambda each: (each[1][0] not in early, -each[0])):
            there = self._made_of(names)
            made.update(there)
            for name in names if copies else ():
                if name not in there:
                    self._copy(name, start_of, reads, before)
        return Chosen(made.difference(self._places), reads, before)

    def _in_one_place(self) -> Iterable[list[Name]]:
        """The values in the order of the program, together if they are made over each other in any case."""
        found: dict[Name, list[Name]] = {name: [name] for name in self._uses if name not in self._made_at}
        for number, event in enumerate(self._events):
            for position, name in enumerate(event.makes):
                before = self._before(number, event, position)
                own = found[before] if before in found else list[Name]()
                found[name] = own
                own.append(name)
        return [own for name, own in found.items() if name == own[0]]

    def _before(self, number: int, event: Event, position: int) -> Name | None:
        """The value that is made, and in whose memory an event makes another in any case."""
        over = event.over_at(position) if event.updates(position) and not event.sums else ()
        for name in over:
            own = self._made_at.get(name)
            if own and own[-1] == number and self._sizes.get(name) == self._sizes.get(event.makes[position]):
                return name
        return None

    def _score(self, names: Sequence[Name], found: Mapping[Name, float]) -> float:
        """The gain from values of one place over the root of its size, as XLA's `GetMemoryBoundedness`."""
        own = [found[name] for name in names if name in found]
        gained = sum(gain for gain in own if gain > 0) or max(own, default=0.0)
        return gained / sqrt(max(1, self._sizes.get(names[0], 0)))

    def _made_of(self, names: Sequence[Name]) -> Collection[Name]:
        """The values of one place that are made in VMEM, and stay: all, or what loops make by themselves."""
        if not all(self._may_be_there(name) for name in names):
            return ()
        uses = sorted({number for name in names for number in self._made_at[name]})
        size = self._sizes[names[0]]
        loops = [name for name in names if name in self._places]
        if self._memory.take(uses[0], uses[-1] + 1, size, uses):
            for name in loops:
                self._loops.replace(*self._places[name])
            return names
        return [name for name in loops if self._takes_loop(name, size)]

    def _may_be_there(self, name: Name) -> bool:
        if name in self._places:
            return self._loops.may_be_there(*self._places[name])
        return name in self._candidates

    def _takes_loop(self, name: Name, size: int) -> bool:
        """Takes room for what a loop makes from when it starts, to which what it starts with is copied."""
        uses = self._made_at[name]
        if not self._memory.take(uses[0], uses[-1] + 1, size, uses):
            return False
        self._loops.replace(*self._places[name])
        return True
