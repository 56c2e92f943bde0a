"""Memory that values hold, and when: values of one memory follow each other, or are written over each other.

Not here: which values have memory (`assignment.py`), places (`packing.py`). Source: openxla/xla,
xla/service/buffer_assignment.cc (LiveRangeInterferes, AssignSingleHloBuffer).

>>> result = Period(4, 9, "result", ("sum",))
>>> _interfere(result, Period(2, 4, "sum")), _interfere(result, Period(2, 4, "other"))
(False, True)
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name, PlannedOp

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"


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


def _interfere(one: Period, other: Period) -> bool:
    """True if values are needed at the same time; where one ends the other may be written over it."""
    if one.start > other.end or other.start > one.end:
        return False
    if one.end == other.start:
        return one.name not in other.over
    return other.end != one.start or other.name not in one.over


def _contains(numbers: Sequence[int], number: int) -> bool:
    """True if a number is among some in order."""
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


_FEW_PERIODS = 64
"""Periods that are compared one by one, without numpy."""


class ResultMemory:
    """The memory of results; while it is free other values are in the smallest that is large enough."""

    def __init__(self, slots: Sequence[HeldMemory]) -> None:
        """Memory for each result, with when that is taken."""
        self._slots = sorted(slots, key=lambda slot: (slot.size, -slot.order))
        self._sizes = [slot.size for slot in self._slots]
        self._numbers = {id(slot): number for number, slot in enumerate(self._slots)}
        self._noted: list[tuple[int, int, int]] = []  # of each period the slot, start and end
        self._columns: Integers | None = None  # the same [3, periods], of which some are copied so far
        self._copied = 0
        self._ends: dict[tuple[int, int], list[Period]] = defaultdict(list)
        """By slot and time the periods that start or end then."""
        self._named: dict[Name, set[int]] = defaultdict(set)
        """By value the slots that hold it, or another that may be written over it."""
        for number, slot in enumerate(self._slots):
            self._note(number, slot.periods)

    def take(self, held: HeldMemory, preferred: Iterable[HeldMemory]) -> HeldMemory | None:
        """Puts values into the memory of a result, and returns it; None if none is free.

        preferred: what is tried first.
        """
        first = bisect_left(self._sizes, held.size)
        if first == len(self._slots):
            return None
        # Where values only meet, one may be written over the other: that is asked below.
        free = self._free(held.periods, first)
        wanted = [number for slot in preferred if _contains(free, number := self._numbers[id(slot)])]
        for number in (*wanted, *free):
            slot = self._slots[number]
            if not self._meets(number, held.periods):
                self._note(number, held.periods)
                slot.periods += held.periods
                return slot
        return None

    def _note(self, number: int, periods: Sequence[Period]) -> None:
        self._noted += [(number, period.start, period.end) for period in periods]
        for period in periods:
            for time in {period.start, period.end}:
                self._ends[number, time].append(period)
            for name in (period.name, *period.over):
                self._named[name].add(number)

    def _meets(self, number: int, periods: Sequence[Period]) -> bool:
        """True if some of the periods cannot come right after or before one of a slot that is free then."""
        return any(
            _interfere(own, period)
            for period in periods
            for time in (period.start, period.end)
            for own in self._ends.get((number, time), ())
        )

    def _free(self, periods: Sequence[Period], first: int) -> list[int]:
        """The slots from a first one on that are taken in none of the periods; some meet these."""
        count = len(self._slots)
        if len(self._noted) <= _FEW_PERIODS:
            noted = [(slot, start, end, period) for slot, start, end in self._noted for period in periods]
            busy = {slot for slot, start, end, each in noted if start < each.end and end > each.start}
            return [number for number in range(first, count) if number not in busy]
        slots, starts, ends = self._arrays()
        busy, meeting = np.zeros(count, bool), np.zeros(count, bool)
        for each in periods:
            busy[slots[(starts < each.end) & (ends > each.start)]] = True
            meeting[slots[(starts <= each.end) & (ends >= each.start)]] = True
        # Those that meet these are free by name only: not to ask each of the many that a program ends with.
        names = {name for each in periods for name in (each.name, *each.over)}
        meeting[[slot for name in names for slot in self._named.get(name, ())]] = False
        found: list[int] = (np.flatnonzero(~(busy | meeting)[first:]) + first).tolist()
        return found

    def _arrays(self) -> Integers:
        """[3, periods]: what is noted."""
        copied, count = self._copied, len(self._noted)
        columns = self._columns
        if columns is None or count > columns.shape[1]:
            columns = self._columns = np.zeros((3, 2 * count), np.int64)
            copied = 0
        if copied < count:
            columns[:, copied:count] = np.transpose(self._noted[copied:])
            self._copied = count
        return columns[:, :count]
