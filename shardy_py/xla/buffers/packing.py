"""Places buffers in memory, each where it fits, as XLA's heap simulator does.

On TPUs, buffers get places in the order of the program, as memory space assignment goes through it; elsewhere
the largest first. Source: openxla/xla, `GlobalDecreasingSizeBestFitHeap` in xla/service/heap_simulator; TPUs:
the places in the buffer assignments of XLA:TPU for 418 programs. Not here: which values have buffers
(`assignment.py`), and what is in the memory of results (`held.py`).
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.deferred import np
from shardy_py.xla.buffers.held import HeldMemory
from shardy_py.xla.spmd.program import PlannedOp

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_PLACED = 2_000
"""Buffers of larger programs are summed up instead of given places, which would take quadratic time."""
_FEW_PLACED = 64
"""Buffers of smaller programs get places one by one, without numpy."""
_LAST_PLACE = 1 << 62


class Buffer(NamedTuple):
    """Memory at the peak, for a step."""

    size: int
    step: PlannedOp | None = None


class NeededBytes(NamedTuple):
    """The bytes of memory beside that of results, at least and at most; and what is alive when most is."""

    least: int
    most: int
    alive: tuple[Buffer, ...]


def have_places(held: Sequence[HeldMemory]) -> bool:
    """Returns whether buffers are few enough, and small enough for a memory that can be addressed."""
    return len(held) <= _MOST_PLACED and sum(each.size for each in held) < _LAST_PLACE


def packed(held: Sequence[HeldMemory], unit: int = 1) -> tuple[int, tuple[Buffer, ...]]:
    """The bytes of memory beside that of results, and what is alive when most is.

    XLA takes the better of two orders: the largest first, and those that are needed longest first.
    """
    needed = [each for each in held if each.size]
    moment, _ = _most_alive([(p.start, p.end, each.size) for each in needed for p in each.periods])
    alive = [each for each in needed if any(p.start <= moment <= p.end for p in each.periods)]
    lengths = _lengths(needed)

    def by_size(each: HeldMemory) -> tuple[int, int, int]:
        return -each.size, -lengths[id(each.periods[0])], each.order

    def by_time(each: HeldMemory) -> tuple[int, int, int]:
        return -lengths[id(each)], -each.size, each.order

    total = min(_placed(sorted(needed, key=key), unit) for key in (by_size, by_time))
    return total, tuple(Buffer(each.size, each.step) for each in alive)


def packed_in_order(held: Sequence[HeldMemory], unit: int) -> tuple[int, tuple[Buffer, ...]]:
    """The bytes of memory beside that of results on a TPU, and what is alive when most is.

    XLA:TPU counts beside the whole what is free in it when most is alive, and there the values that loops and
    updates in place start with, but not those that they make in the same memory.
    """
    needed = [each for each in held if each.size]
    moment, _ = _most_alive([(p.start, p.end, each.size) for each in needed for p in each.periods])
    alive = [each for each in needed if any(p.start <= moment <= p.end for p in each.periods)]
    total = _placed(sorted(needed, key=_first), unit)
    _, most = _most_alive([(*span, each.size) for each in needed for span in _spans(each)])
    return total + max(0, total - most), tuple(Buffer(each.size, each.step) for each in alive)


def _first(held: HeldMemory) -> tuple[int, int]:
    """When memory is needed first, and until when then."""
    return min((period.start, period.end) for period in held.periods)


def _spans(held: HeldMemory) -> list[tuple[int, int]]:
    """From when until when memory is needed without a break, but for what is made in place.

    A value written over another is in its memory at the moment at which that is read last.
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted((p.start, p.end) for p in held.periods if not p.in_place):
        if found and start <= found[-1][1]:
            start, last = found.pop()
            end = max(end, last)
        found.append((start, end))
    return found


def summed(held: Sequence[HeldMemory], slots: Sequence[HeldMemory]) -> tuple[int, tuple[Buffer, ...]]:
    """As `packed`, with what is alive at the same time summed up instead of given places.

    Values of at most the size of the largest slot fill all slots that are free.
    """
    largest = max((slot.size for slot in slots), default=0)
    small = _changes(
        [(p.start, p.end, each.size) for each in held if each.size <= largest for p in each.periods]
    )
    large = _changes(
        [(p.start, p.end, each.size) for each in held if each.size > largest for p in each.periods]
    )
    taken = _changes([(p.start, p.end, slot.size) for slot in slots for p in slot.periods])
    total = sum(slot.size for slot in slots)
    held_small = held_large = busy = peak = at = 0
    for moment in sorted({*small, *large, *taken}):
        held_small += small.get(moment, 0)
        held_large += large.get(moment, 0)
        busy += taken.get(moment, 0)
        needed = held_large + max(0, held_small - (total - busy))
        if needed > peak:
            peak, at = needed, moment
    alive = (each for each in held if each.size and any(p.start <= at <= p.end for p in each.periods))
    return peak, tuple(Buffer(each.size, each.step) for each in alive)


def _lengths(held: Sequence[HeldMemory]) -> dict[int, int]:
    """For how long each memory is needed, and the first value of each, by the clock of XLA's heap.

    The clock counts what is taken and freed: at each event first what that makes, then what it reads last.
    """
    periods = [(period, each) for each in held for period in each.periods]
    ticks = [(p.start, 0, p.end, each.order, n, True) for n, (p, each) in enumerate(periods)]
    ticks += [(p.end, 1, p.start, each.order, n, False) for n, (p, each) in enumerate(periods)]
    starts, ends = [0] * len(periods), [0] * len(periods)
    for tick, (*_, number, is_start) in enumerate(sorted(ticks)):
        (starts if is_start else ends)[number] = tick
    found: dict[int, int] = {}
    number = 0
    for each in held:
        numbers = range(number, number := number + len(each.periods))
        found[id(each)] = max(ends[n] for n in numbers) - min(starts[n] for n in numbers)
        found[id(each.periods[0])] = ends[numbers[0]] - starts[numbers[0]]
    return found


def _placed(ordered: Sequence[HeldMemory], unit: int) -> int:
    """The end of the memory for buffers that get places in this order.

    Each is where the least is left free beside those that are alive at the same time.
    """
    if len(ordered) <= _FEW_PLACED:
        return _placed_one_by_one(ordered, unit)
    owners = np.array([n for n, each in enumerate(ordered) for _ in each.periods], np.int64)
    starts = np.array([p.start for each in ordered for p in each.periods], np.int64)
    ends = np.array([p.end for each in ordered for p in each.periods], np.int64)
    sizes = [-(-each.size // unit) * unit for each in ordered]
    lows, highs = np.zeros(len(ordered), np.int64), np.zeros(len(ordered), np.int64)
    has_several = len(owners) > len(ordered)
    total = count = 0
    for i, (each, size) in enumerate(zip(ordered, sizes, strict=True)):
        since, until, alive = starts[:count], ends[:count], None
        for period in each.periods:
            own = (since <= period.end) & (until >= period.start)
            alive = own if alive is None else alive | own
        count += len(each.periods)
        busy = owners[: len(since)][alive] if alive is not None else owners[:0]  # in order
        if has_several and busy.size > 1:
            busy = busy[np.append(True, busy[1:] != busy[:-1])]
        place = _place(lows[busy], highs[busy], size) if busy.size else 0
        lows[i], highs[i] = place, place + size
        total = max(total, place + size)
    return total


def _place(low: NDArray[np.int64], high: NDArray[np.int64], size: int) -> int:
    """The place for a buffer where the least is left free beside others, each from `low` to `high`."""
    order = low.argsort(kind="stable")
    low, high = low[order], np.maximum.accumulate(high[order])
    gaps = low.copy()  # the free memory before each
    gaps[1:] -= high[:-1]
    gaps[gaps < size] = _LAST_PLACE
    best = int(gaps.argmin())
    if gaps[best] == _LAST_PLACE:
        return int(high[-1])
    return int(high[best - 1]) if best else 0


def _placed_one_by_one(ordered: Sequence[HeldMemory], unit: int) -> int:
    placed: list[tuple[int, int, HeldMemory]] = []
    for each in ordered:
        size = -(-each.size // unit) * unit
        free = 0
        best: tuple[int, int] | None = None
        for start, end, other in placed:
            if not _is_alive_with(each, other):
                continue
            if start - free >= size and (best is None or start - free < best[0]):
                best = start - free, free
            free = max(free, end)
        place = free if best is None else best[1]
        insort(placed, (place, place + size, each), key=itemgetter(0))
    return max((end for _, end, _ in placed), default=0)


def _is_alive_with(one: HeldMemory, other: HeldMemory) -> bool:
    """True if both are needed at some event."""
    return any(p.start <= q.end and p.end >= q.start for p in one.periods for q in other.periods)


def _most_alive(periods: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """The event at which the buffers that are alive at the same time have the most bytes, and these."""
    changes = _changes(periods)
    held = peak = at = 0
    for moment in sorted(changes):
        held += changes[moment]
        if held > peak:
            peak, at = held, moment
    return at, peak


def _changes(periods: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """By event, by how much what is held grows: of periods from an event to another, with bytes."""
    changes: dict[int, int] = defaultdict(int)
    for start, end, size in periods:
        changes[start] += size
        changes[end + 1] -= size
    return changes
