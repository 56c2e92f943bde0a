"""Memory that values hold, and when: values of one memory follow each other, or are written over each other.

Not here: which values have memory (`assignment.py`), places (`packing.py`). Source: openxla/xla,
xla/service/buffer_assignment.cc (LiveRangeInterferes, AssignSingleHloBuffer).

>>> slot = HeldMemory(8, [Period(4, 9, "result", ("sum",))])
>>> slot.interferes(Period(2, 4, "sum")), slot.interferes(Period(2, 4, "other"))
(False, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name, PlannedOp


class Period(NamedTuple):
    """The time of a value in memory, from an event to another.

    name: of the value. over: the values that it may be written over, of those needed up to its start.
    value: its name in its computation. in_place: whether a loop carries it, or returns it
    at its end, or it is another value with a part written over.
    """

    start: int
    end: int
    name: Name = None
    over: tuple[Name, ...] = ()
    value: Name = None
    in_place: bool = False


@dataclass(eq=False)
class HeldMemory:
    """Memory for values.

    order: the place of the first of them in the program. event: what makes them. is_shared: whether its
    values are in one memory in any case, as those that a loop carries. is_part: whether an op makes it with
    others, or a bitcast of it is read: then XLA's heap puts nothing over it. is_apart: whether it is never
    that of a result, and nothing is written over it.
    """

    size: int
    periods: list[Period]
    order: int = 0
    event: Event | None = None
    is_shared: bool = False
    is_part: bool = False
    is_apart: bool = False

    @property
    def step(self) -> PlannedOp | None:
        """The step that it is for."""
        return None if self.event is None else self.event.step

    def move_to(self, other: HeldMemory) -> None:
        """Puts the values into other memory."""
        other.periods += self.periods
        other.is_shared = other.is_shared or self.is_shared
        self.periods = []

    def interferes(self, period: Period) -> bool:
        """True if some value in it cannot be in one memory with another one."""
        return any(_interfere(own, period) for own in self.periods)


def _interfere(one: Period, other: Period) -> bool:
    """True if values are needed at the same time; where one ends the other may be written over it."""
    if one.start > other.end or other.start > one.end:
        return False
    if one.end == other.start:
        return one.name not in other.over
    return other.end != one.start or other.name not in one.over


_LARGEST = 1 << 62
"""Bytes from which on sizes count alike: no memory is as large, and numpy has no larger integers."""


class ResultMemory:
    """The memory of results; while it is free other values are in the smallest that is large enough."""

    def __init__(self, slots: Sequence[HeldMemory]) -> None:
        """Memory for each result, with when that is taken."""
        self._slots = sorted(slots, key=lambda slot: (slot.size, -slot.order))
        self._sizes = np.array([min(slot.size, _LARGEST) for slot in self._slots], np.int64)
        self._numbers = {id(slot): number for number, slot in enumerate(self._slots)}
        self._periods = np.zeros((3, 64), np.int64)  # of each period the slot, start and end
        self._count = 0
        for number, slot in enumerate(self._slots):
            self._note(number, slot.periods)

    def take(self, held: HeldMemory, preferred: Iterable[HeldMemory]) -> HeldMemory | None:
        """Puts values into the memory of a result, and returns it; None if none is free.

        preferred: what is tried first.
        """
        first = int(np.searchsorted(self._sizes, min(held.size, _LARGEST)))
        if first == len(self._slots):
            return None
        busy = np.zeros(len(self._slots), bool)
        slots, starts, ends = self._periods[:, : self._count]
        for period in held.periods:
            # Where values only meet, one may be written over the other: that is asked below.
            busy[slots[(starts < period.end) & (ends > period.start)]] = True
        wanted = [number for slot in preferred if (number := self._numbers[id(slot)]) >= first]
        for number in (*wanted, *(first + np.flatnonzero(~busy[first:])).tolist()):
            slot = self._slots[number]
            if not busy[number] and not any(map(slot.interferes, held.periods)):
                self._note(number, held.periods)
                slot.periods += held.periods
                return slot
        return None

    def _note(self, number: int, periods: Sequence[Period]) -> None:
        for period in periods:
            if self._count == self._periods.shape[1]:
                self._periods = np.concatenate((self._periods, np.zeros_like(self._periods)), axis=1)
            self._periods[:, self._count] = number, period.start, period.end
            self._count += 1
