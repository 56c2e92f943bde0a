"""The buffers of a computation whose ops are in order: which values share memory, and how long they need it.

An op may write over an operand that dies. A buffer that is not needed at the same time as a result may be in
the memory of that result. Not here: orders (`schedule.py`), places (`packing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from shardy_py.xla.buffers.packing import Buffer, HeldMemory, MemorySlot, packed
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name


@dataclass
class Assignment:
    """Assigns memory to the values that events make.

    events: in their order. sizes: bytes of values. results: the values that are returned; memory: the bytes
    of the memory for each. carried: for each the argument that is in it at first; None for none. alias: the
    values that are others under another name. inner: the temporaries of the regions of an event, and those
    alive when most are; None if it has none. until: the event up to which what a collective receives is
    needed, at least. together: for what is received by one op with others, that op.
    """

    events: Sequence[Event]
    sizes: Mapping[Name, int]
    results: Sequence[Name]
    memory: Sequence[int]
    carried: Sequence[Name | None]
    alias: Mapping[Name, Name]
    inner: Callable[[Event], tuple[int, tuple[Buffer, ...]] | None]
    until: Callable[[PlannedCollective, int], int] = lambda sent, moment: moment
    together: Callable[[Event], Hashable] = lambda event: None
    _holders: dict[Name, HeldMemory] = field(default_factory=dict[Name, HeldMemory], init=False)

    def temporaries(self) -> tuple[int, tuple[Buffer, ...]]:
        """The bytes of values beyond arguments and results, and what is alive when most is."""
        moments = moments_of(self.events)
        timed = dict(zip(moments, self.events, strict=False))
        last = {name: moment for moment, event in timed.items() for name in event.reads}
        slots = self._slots(timed, last)
        roots: dict[Name, int] = {}
        for position, name in enumerate(self.results):
            roots.setdefault(name, position)
        first: dict[Hashable, int] = {}
        for moment, event in timed.items():
            op = self.together(event)
            if op is not None:
                first.setdefault(op, moment)
        buffers: list[Buffer] = []
        for moment, event in timed.items():
            op = self.together(event)
            # What one op sends is received at once.
            since = moment if op is None else first[op]
            inside = self.inner(event)
            if inside is not None:
                buffers.append(Buffer(inside[0], moment, moment, event.step, inside[1]))
            self._hold(event, moment, since, last, roots, moments[-1])
        distinct = {id(holder): holder for holder in self._holders.values()}
        for holder in distinct.values():
            slot = slots[holder.root] if 0 <= holder.root < len(slots) else None
            if slot is None or not slot.take(holder.start, holder.end):
                buffers.append(Buffer(holder.size, holder.start, holder.end, holder.step))
        return packed(buffers, slots)

    def _slots(self, timed: Mapping[int, Event], last: Mapping[Name, int]) -> list[MemorySlot]:
        """The memory for results, taken by the arguments that are in it until their last use."""
        slots = [MemorySlot(size) for size in self.memory]
        for slot, name, made in zip(slots, self.carried, self.results, strict=False):
            if name is not None:
                until = last.get(name, -1)
                over = until >= 0 and name != made and self._becomes(name, made, timed, last)
                slot.busy.append((-1, until - over))
        return slots

    def _becomes(self, name: Name, made: Name, timed: Mapping[int, Event], last: Mapping[Name, int]) -> bool:
        """True if the last op that reads an argument makes the result, or what is written over to make it."""
        event = timed[last[name]]
        while made not in event.makes:
            same = [each for each in event.makes if self.sizes[each] == self.sizes[name]]
            if name not in event.over or not same or same[0] not in last:
                return False
            name = same[0]
            event = timed[last[name]]
        return True

    def _hold(
        self,
        event: Event,
        moment: int,
        since: int,
        last: Mapping[Name, int],
        roots: Mapping[Name, int],
        end: int,
    ) -> None:
        """Gives memory to what an event makes: that of an operand that dies, or new."""
        holders, sizes = self._holders, self.sizes
        dying = [name for name in dict.fromkeys(event.reads) if last[name] == moment and name in holders]
        for made in event.makes:
            if made in self.alias:
                continue
            finish = end if made in roots else last.get(made, moment)
            if event.sent is not None:
                finish = self.until(event.sent, finish)
            size = sizes[made]
            fitting = (name for name in dying if holders[name].size == size and name in event.over)
            reused = next(fitting, None)
            if reused is not None and event.sent is None:
                dying.remove(reused)
                holder = holders.pop(reused)
                holder.end = finish
            else:
                holder = HeldMemory(size, since, finish, step=event.step)
            holders[made] = holder
            holder.root = roots.get(made, holder.root)


def moments_of(events: Sequence[Event]) -> list[int]:
    """When each event runs, and the end: after one that makes several values, XLA takes them one by one."""
    counts = (1 + (len(event.makes) if len(event.makes) > 1 else 0) for event in events)
    return [0, *accumulate(counts)]
