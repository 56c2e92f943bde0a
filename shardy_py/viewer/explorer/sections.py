"""Sections of a sequence of ops without scopes: the ops between waists, where only one value is passed on.

A residual block is such a section: its input is the only value before it, its sum the only one after it.

>>> sections([3, 2, 3, 7, 5, 6, 7, 8], least=3)  # op 3 adds to the result of op 0, op 7 to that of op 3
[(1, 4), (4, 8)]

Where no such values are, a long sequence is cut where the fewest values are passed on (`stretches`).
Not here: which uses count (`scopes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise


def sections(last_uses: Sequence[int], *, least: int) -> list[tuple[int, int]]:
    """Returns the stretches between neighbouring waists of at least so many ops: first, and behind the last.

    None if there is only one, or one has most of the ops: folding it would hide the sequence.

    last_uses: by position of an op, that of the last op that uses its values, the number of ops if one does
        afterwards, or its own if none does or its values do not count.
    """
    crossing = _crossing(last_uses)
    waists = [0, *(at for at in range(1, len(last_uses)) if crossing[at] <= 1), len(last_uses)]
    found = [(start, end) for start, end in pairwise(waists) if end - start >= least]
    longest = max((end - start for start, end in found), default=0)
    return found if len(found) > 1 and 2 * longest <= len(last_uses) else []


def stretches(last_uses: Sequence[int], *, least: int, most: int) -> list[tuple[int, int]]:
    """Returns a sequence in pieces of `least` to `most` ops: first, and behind the last.

    Each is cut where the fewest values are passed on, of equal places at the last one.
    last_uses: as for `sections`.

    >>> stretches([1, 2, 4, 4, 5, 6, 6], least=2, most=4)
    [(0, 3), (3, 7)]
    """
    crossing, count = _crossing(last_uses), len(last_uses)
    found: list[tuple[int, int]] = []
    start = 0
    while count - start > most:
        ends = range(start + least, min(start + most, count - least) + 1)
        end = min(ends, key=lambda at: (crossing[at], -at))
        found.append((start, end))
        start = end
    return [*found, (start, count)]


def _crossing(last_uses: Sequence[int]) -> list[int]:
    """Before each op, the ops whose values are used from there on."""
    change = [0] * (len(last_uses) + 2)
    for at, last in enumerate(last_uses):
        change[at + 1] += 1
        change[last + 1] -= 1
    return [*accumulate(change)]
