"""Improves a choice by single changes, while there is time: the first change that helps is kept.

The order of changes, and so the answer, depends only on the seed and the number of tries, unless the time
limit ends the search. Not here: what may change (`moves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import chain, islice
from random import Random
from time import monotonic

from shardy_py.base.records import dataclass
from shardy_py.search.study import StepCost
from shardy_py.search.suggest.moves import AnnotationMove
from shardy_py.search.suggest.schemes import Choice

Rank = tuple[int, float, float, int]


def rank(cost: StepCost, memory_limit: int | None) -> Rank:
    """Returns a key: least above the limit of memory, then fastest, then smallest."""
    excess = 0 if memory_limit is None else max(0, cost.memory_bytes - memory_limit)
    return excess, cost.serial, cost.overlapped, cost.memory_bytes


@dataclass
class Budget:
    """The limits of a search: seconds, and candidates to evaluate."""

    seconds: float
    tries: int
    _end: float = field(init=False)
    _is_late: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Starts the clock."""
        self._end = monotonic() + self.seconds

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - monotonic())

    @property
    def spent(self) -> str:
        """The limit that ended the search, as an option of `sdy-suggest`; "" while none has."""
        return "--tries" if self.tries < 0 else "--time-limit" if self._is_late else ""

    def take(self) -> bool:
        """Returns whether one more choice may be scored, and counts it."""
        self.tries -= 1
        self._is_late = self._is_late or monotonic() >= self._end
        return not self.spent


def first_changes(
    start: Choice, moves: Sequence[AnnotationMove], is_valid: Callable[[Choice], bool], seed: int = 0
) -> Iterator[Choice]:
    """Returns the choices that `search` scores first from a start."""
    changed = (move.applied(start) for move in _ordered(moves, seed))
    return (each for each in dict.fromkeys(changed) if each != start and is_valid(each))


def most_seconds(cost: StepCost, memory_limit: int | None) -> float:
    """Returns the most seconds that a step may take to be better than one with a cost."""
    return _most_seconds(rank(cost, memory_limit))


def _most_seconds(held: Rank) -> float:
    return held[1] if held[0] == 0 else float("inf")


def _ordered(moves: Sequence[AnnotationMove], seed: int) -> list[AnnotationMove]:
    order = list(moves)
    if seed:
        Random(seed).shuffle(order)
    return order


Ahead = Callable[[Iterator[Choice], float], None]
"""Called with the choices to be scored if none of them is better, and the seconds they may take."""
Score = Callable[[Choice, float], StepCost | None]
"""The cost of a choice; None if it is invalid, or a step takes longer than the given seconds."""


def search(
    start: Choice,
    cost: StepCost,
    moves: Sequence[AnnotationMove],
    score: Score,
    budget: Budget,
    *,
    is_valid: Callable[[Choice], bool],
    memory_limit: int | None = None,
    seed: int = 0,
    ahead: Ahead | None = None,
) -> Choice:
    """Returns a choice that no single change improves, or the best when the budget ends.

    cost: of the start. ahead: lets others begin to score; it changes no answer.
    """
    best, held = start, rank(cost, memory_limit)
    known = {start}
    order = _ordered(moves, seed)
    since = 0
    while since < len(order):
        move = order.pop(0)
        order.append(move)
        since += 1
        changed = move.applied(best)
        if changed in known or not is_valid(changed):
            continue
        if not budget.take():
            break
        at_most = _most_seconds(held)
        if ahead is not None:
            left = order[: len(order) - since]  # those after it have been tried since the last that helped
            following = (each for move in left if is_valid(each := move.applied(best)) and each not in known)
            ahead(islice(chain((changed,), following), max(0, budget.tries) + 1), at_most)
        known.add(changed)
        found = score(changed, at_most)
        if found is not None and rank(found, memory_limit) < held:
            best, held, since = changed, rank(found, memory_limit), 0
    return best
