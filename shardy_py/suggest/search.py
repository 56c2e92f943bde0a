"""Improves a choice by single changes, while there is time: the first change that helps is kept.

The order of changes, and so the answer, depends only on the seed and the number of tries, unless the time
limit ends the search. Not here: what may change (`schemes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from time import monotonic

from shardy_py.suggest.roles import Roles
from shardy_py.suggest.schemes import Choice, moved


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a step on each device: seconds with perfect overlap and without, peak bytes, bytes received."""

    overlapped: float
    serial: float
    peak_bytes: int
    received_bytes: int

    def rank(self, memory_limit: int | None) -> tuple[int, float, float, int]:
        """Returns a key: least above the limit of memory, then fastest, then smallest."""
        excess = 0 if memory_limit is None else max(0, self.peak_bytes - memory_limit)
        return excess, self.serial, self.overlapped, self.peak_bytes


@dataclass
class Budget:
    """How long to search: seconds, and choices that are scored; is_spent: whether it ended the search."""

    seconds: float
    tries: int
    is_spent: bool = field(default=False, init=False)
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        """Starts the clock."""
        self._end = monotonic() + self.seconds

    def take(self) -> bool:
        """Returns whether one more choice may be scored, and counts it."""
        self.tries -= 1
        self.is_spent = self.is_spent or self.tries < 0 or monotonic() >= self._end
        return not self.is_spent


Score = Callable[[Choice], Cost | None]
"""What a choice costs; None if it is invalid."""


def search(
    start: Choice,
    moves: Sequence[tuple[tuple[int, ...], str, int | None]],
    score: Score,
    budget: Budget,
    *,
    roles: Roles,
    sizes: dict[str, int],
    memory_limit: int | None = None,
    seed: int = 0,
) -> Choice:
    """Returns a choice that no single change improves, or the best when the budget ends."""
    first = score(start)
    if first is None:
        return start
    best, rank = start, first.rank(memory_limit)
    known = {start}
    order = list(moves)
    if seed:
        Random(seed).shuffle(order)
    since = 0
    while since < len(order):
        move = order.pop(0)
        order.append(move)
        since += 1
        changed = moved(best, *move)
        if changed in known or not _divides(changed, move[0], roles, sizes):
            continue
        if not budget.take():
            break
        known.add(changed)
        cost = score(changed)
        if cost is not None and cost.rank(memory_limit) < rank:
            best, rank, since = changed, cost.rank(memory_limit), 0
    return best


def _divides(choice: Choice, group: Sequence[int], roles: Roles, sizes: dict[str, int]) -> bool:
    shape = roles.tensors[group[0]].shape
    return all(n % prod(sizes[a] for a in axes) == 0 for n, axes in zip(shape, choice[group[0]], strict=True))
