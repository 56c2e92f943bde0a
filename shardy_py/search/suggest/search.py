"""Improves a choice by single changes, while there is time: the first change that helps is kept.

The order of changes, and so the answer, depends only on the seed and the number of tries, unless the time
limit ends the search. Not here: what may change (`moves.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import field
from functools import partial
from itertools import islice, tee
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
    return (changed for _, changed in _changes(start, _ordered(moves, seed), {start}, is_valid))


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


Helps = Callable[[StepCost], bool]
"""Says whether a choice with a cost is better than the best one so far."""
Ahead = Callable[[Iterator[Choice], float, Helps], None]
"""Called with the choices to be scored until one of them helps, and the seconds they may take."""
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
    changes = _buffered(best, order, known, is_valid)
    while True:
        following = copy(changes)  # with the one that is next
        number, changed = next(changes, (0, None))
        if changed is None or not budget.take():
            return best
        at_most = _most_seconds(held)
        if ahead is not None:
            left = islice(following, max(0, budget.tries) + 1)
            helps = partial(_is_better, held=held, memory_limit=memory_limit)
            ahead((each for _, each in left), at_most, helps)
        known.add(changed)
        found = score(changed, at_most)
        if found is not None and _is_better(found, held, memory_limit):
            best, held = changed, rank(found, memory_limit)
            order = order[number + 1 :] + order[: number + 1]
            changes = _buffered(best, order, known, is_valid)


def _is_better(cost: StepCost, held: Rank, memory_limit: int | None) -> bool:
    return rank(cost, memory_limit) < held


_Changes = Iterator[tuple[int, Choice]]


def _buffered(
    best: Choice, order: Sequence[AnnotationMove], known: set[Choice], is_valid: Callable[[Choice], bool]
) -> _Changes:
    """The same as `_changes`; a copy yields the same choices, which are made once."""
    return tee(_changes(best, order, known, is_valid), 1)[0]


def _changes(
    best: Choice, order: Sequence[AnnotationMove], known: set[Choice], is_valid: Callable[[Choice], bool]
) -> _Changes:
    """The valid choices that one move makes, but those that are known, each with the number of its move."""
    made = set[Choice]()
    for number, move in enumerate(order):
        changed = move.applied(best)
        if changed not in known and changed not in made and is_valid(changed):
            made.add(changed)
            yield number, changed
