"""Places buffers in memory: those of results first, then each where it fits, as XLA's heap simulator does.

Source: openxla/xla, `GlobalDecreasingSizeBestFitHeap` in xla/service/heap_simulator. Not here: which values
have buffers (`estimate.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shardy_py.spmd.program import Step

_MOST_PLACED = 2_000
"""Buffers of larger programs are summed up instead of given places, which would take quadratic time."""


class Buffer(NamedTuple):
    """Memory that is needed from one event to another, for a step; inside: of a loop, what it holds."""

    size: int
    start: int
    end: int
    step: Step | None = None
    inside: tuple[Buffer, ...] = ()


@dataclass
class Holder:
    """Memory for values, from a step to another; root: the result that is in it in the end, -1 for none."""

    size: int
    start: int
    end: int
    root: int = -1
    step: Step | None = None


@dataclass
class Slot:
    """The memory of a result and the periods in which it is taken."""

    size: int
    busy: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def take(self, start: int, end: int) -> bool:
        """Takes it for a period, if it is free."""
        if any(start <= until and since <= end for since, until in self.busy):
            return False
        self.busy.append((start, end))
        return True


def packed(buffers: Sequence[Buffer], slots: Sequence[Slot]) -> tuple[int, tuple[Buffer, ...]]:
    """The bytes of buffers that do not fit into the memory of results, and those alive when most are."""
    by_size = sorted(slots, key=lambda slot: -slot.size)
    left: list[Buffer] = []
    for each in sorted(buffers, key=lambda each: -each.size):
        fitting = (slot for slot in by_size if slot.size >= each.size)
        if each.size and not any(slot.take(each.start, each.end) for slot in fitting):
            left.append(each)
    peak, moment = _most_alive(left)
    alive = tuple(each for each in left if each.start <= moment <= each.end)
    return (_best_fit(left) if len(left) <= _MOST_PLACED else peak), alive


def _best_fit(buffers: Sequence[Buffer]) -> int:
    """The end of the memory in which each buffer has a place, as XLA gives them places: the largest first.

    Each is where the least is left free beside those that are alive at the same time.
    """
    placed: list[tuple[int, Buffer]] = []
    total = 0
    for each in sorted(buffers, key=lambda b: (-b.size, b.start - b.end, b.start)):
        busy = sorted((at, at + b.size) for at, b in placed if b.start <= each.end and each.start <= b.end)
        at, best, gap = 0, -1, 0
        for low, high in busy:
            if low - at >= each.size and (best < 0 or low - at < gap):
                best, gap = at, low - at
            at = max(at, high)
        at = at if best < 0 else best
        placed.append((at, each))
        total = max(total, at + each.size)
    return total


def _most_alive(buffers: Sequence[Buffer]) -> tuple[int, int]:
    """The bytes of the buffers that are alive at the same time, at most, and the event at which they are."""
    changes: dict[int, int] = defaultdict(int)
    for each in buffers:
        changes[each.start] += each.size
        changes[each.end + 1] -= each.size
    held = peak = at = 0
    for moment in sorted(changes):
        held += changes[moment]
        if held > peak:
            peak, at = held, moment
    return peak, at
