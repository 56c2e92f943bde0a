"""The paths of arguments and results in their trees, and those that end alike: `['up']` and `[*]['up']`.

Not here: the path of a value (`program.family_tail`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardy_py.mlir.value_table import ValueEntry


def named_alike(first: str, second: str) -> bool:
    """Returns whether paths of `family_tail` end alike: `['up']` and `[*]['up']`."""
    return bool(first and second) and (first.endswith(second) or second.endswith(first))


class Tails:
    """Values by their paths, which are found from the end: not by a look at each value of a large model."""

    def __init__(self, named: Iterable[tuple[str, ValueEntry]]) -> None:
        """Values with their paths, in program order."""
        self._places: dict[str, list[tuple[int, ValueEntry]]] = {}
        for place, (tail, entry) in enumerate(named):
            self._places.setdefault(tail[::-1], []).append((place, entry))
        self._ordered = sorted(self._places)

    def alike(self, tail: str) -> list[ValueEntry]:
        """Returns the values whose paths end alike, `named_alike`, in program order."""
        if not tail:
            return []
        own = tail[::-1]
        shorter = (own[:size] for size in range(1, len(own)) if own[:size] in self._places)
        longer = map(self._ordered.__getitem__, range(bisect_left(self._ordered, own), len(self._ordered)))
        found = [*shorter, *takewhile(lambda each: each.startswith(own), longer)]
        placed = sorted((pair for name in found for pair in self._places[name]), key=_place)
        return [entry for _, entry in placed]


def _place(placed: tuple[int, ValueEntry]) -> int:
    return placed[0]
