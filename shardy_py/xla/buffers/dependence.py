"""Dependences between ops of a list: for many producers at once, a bit for each in one pass; what is needed.

Not here: why it matters (`host_fusion.py`, `stored.py`).

>>> needs = Dependence(reads=[(), (0,), (1,), ()], makers=[0, 1, 2], producers=[0, 1], end=4)
>>> needs.of(2, 0), needs.of(0, 1), needs.of(3, 0)
(True, False, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from shardy_py.xla.spmd.program import Name

AT_ONCE = 1024
"""Producers of one pass: its integers have so many bits."""


class Dependence:
    """For each op up to one, which of some producers it needs; an op needs itself.

    reads: of each op, the values. makers: the op that makes a value, before those that read it; -1 for none.
    producers: the numbers of ops. end: the number of the first op that is not asked about.
    """

    def __init__(
        self, reads: Sequence[Sequence[int]], makers: Sequence[int], producers: Sequence[int], end: int
    ) -> None:
        self._places = {number: place for place, number in enumerate(producers)}
        self._first = first = min(producers)
        found: list[int] = []
        for number in range(first, end):
            bits = 1 << self._places[number] if number in self._places else 0
            for value in reads[number]:
                maker = makers[value]
                if maker >= first:
                    bits |= found[maker - first]
            found.append(bits)
        self._bits = found

    def of(self, number: int, producer: int) -> bool:
        """Returns whether an op needs what a producer makes; one before it never does."""
        return number >= producer and bool(self._bits[number - self._first] >> self._places[producer] & 1)


def needed(
    wanted: set[Name], makes: Sequence[Sequence[Name]], reads: Sequence[Sequence[Name]]
) -> tuple[set[Name], list[int] | None]:
    """Returns the values that are needed, and the numbers of the steps that make them or have effects.

    wanted: by what is around the steps. makes, reads: of each step. None where all steps are needed.
    """
    live = wanted.union(chain.from_iterable(reads))
    if not any(map(live.isdisjoint, filter(None, makes))):
        return live, None
    live, kept = {*wanted}, list[int]()
    for number in range(len(makes) - 1, -1, -1):
        if not makes[number] or not live.isdisjoint(makes[number]):
            live.update(reads[number])
            kept.append(number)
    kept.reverse()
    return live, kept
