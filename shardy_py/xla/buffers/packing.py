"""Places buffers in memory: those of results first, then each where it fits, as XLA's heap simulator does.

Source: openxla/xla, `GlobalDecreasingSizeBestFitHeap` in xla/service/heap_simulator. Not here: which values
have buffers (`estimate.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shardy_py.xla.spmd.program import PlannedOp

_MOST_PLACED = 2_000
"""Buffers of larger programs are summed up instead of given places, which would take quadratic time."""


class Buffer(NamedTuple):
    """Memory that is needed from one event to another, for a step; inside: of a loop, what it holds."""

    size: int
    start: int
    end: int
    step: PlannedOp | None = None
    inside: tuple[Buffer, ...] = ()


@dataclass
class HeldMemory:
    """Memory for values, from a step to another; root: the result that is in it in the end, -1 for none."""

    size: int
    start: int
    end: int
    root: int = -1
    step: PlannedOp | None = None


@dataclass
class MemorySlot:
    """The memory of a result and the periods in which it is taken."""

    size: int
    busy: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def take(self, start: int, end: int) -> bool:
        """Takes it for a period, if it is free."""
        if any(start <= until and since <= end for since, until in self.busy):
            return False
        self.busy.append((start, end))
        return True


def packed(buffers: Sequence[Buffer], slots: Sequence[MemorySlot]) -> tuple[int, tuple[Buffer, ...]]:
    """The bytes of buffers that do not fit into the memory of results, and those alive when most are."""
    if len(buffers) > _MOST_PLACED:
        return _summed(buffers, slots)
    by_size = sorted(slots, key=lambda slot: slot.size)
    sizes = [slot.size for slot in by_size]
    left: list[Buffer] = []
    for each in sorted(buffers, key=lambda each: -each.size):
        fitting = reversed(by_size[bisect_left(sizes, each.size) :])
        if each.size and not any(slot.take(each.start, each.end) for slot in fitting):
            left.append(each)
    moment = _most_alive(left)
    return _best_fit(left), tuple(each for each in left if each.start <= moment <= each.end)


def _summed(buffers: Sequence[Buffer], slots: Sequence[MemorySlot]) -> tuple[int, tuple[Buffer, ...]]:
    """As `packed`, with what is alive at the same time summed up instead of given places.

    Buffers of at most the size of the largest slot fill all slots that are free.
    """
    largest = max((slot.size for slot in slots), default=0)
    small = _held([(each.start, each.end, each.size) for each in buffers if each.size <= largest])
    large = _held([(each.start, each.end, each.size) for each in buffers if each.size > largest])
    taken = _held([(start, end, slot.size) for slot in slots for start, end in slot.busy])
    total = sum(slot.size for slot in slots)
    held, held_large, busy = 0, 0, 0
    peak = at = 0
    for moment in sorted({*small, *large, *taken}):
        held += small.get(moment, 0)
        held_large += large.get(moment, 0)
        busy += taken.get(moment, 0)
        needed = held_large + max(0, held - (total - busy))
        if needed > peak:
            peak, at = needed, moment
    return peak, tuple(each for each in buffers if each.size and each.start <= at <= each.end)


def _best_fit(buffers: Sequence[Buffer]) -> int:
    """The end of the memory in which each buffer has a place, as XLA gives them places.

    XLA takes the better of two orders: the largest first, and those that are needed longest first.
    """
    by_size = sorted(buffers, key=lambda b: (-b.size, b.start - b.end, b.start))
    by_time = sorted(buffers, key=lambda b: (b.start - b.end, -b.size, b.start))
    return min(_placed(by_size), _placed(by_time))


def _placed(ordered: Sequence[Buffer]) -> int:
    """The end of the memory for buffers that get places in this order.

    Each is where the least is left free beside those that are alive at the same time.
    """
    sizes, starts, ends = (np.array([b[i] for b in ordered], np.int64) for i in range(3))
    places = np.zeros(len(ordered), np.int64)
    total = 0
    for i, each in enumerate(ordered):
        busy = np.flatnonzero((starts[:i] <= each.end) & (ends[:i] >= each.start))
        if busy.size:
            busy = busy[np.argsort(places[busy], kind="stable")]
            low, high = places[busy], np.maximum.accumulate(places[busy] + sizes[busy])
            free = np.concatenate(([0], high[:-1]))
            gaps = low - free
            fitting = np.flatnonzero(gaps >= each.size)
            places[i] = free[fitting[np.argmin(gaps[fitting])]] if fitting.size else high[-1]
        total = max(total, int(places[i]) + each.size)
    return total


def _most_alive(buffers: Sequence[Buffer]) -> int:
    """The event at which the buffers that are alive at the same time have the most bytes."""
    changes = _held([(each.start, each.end, each.size) for each in buffers])
    held = peak = at = 0
    for moment in sorted(changes):
        held += changes[moment]
        if held > peak:
            peak, at = held, moment
    return at


def _held(periods: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """By event, by how much what is held grows: of periods from an event to another, with bytes."""
    changes: dict[int, int] = defaultdict(int)
    for start, end, size in periods:
        changes[start] += size
        changes[end + 1] -= size
    return changes
