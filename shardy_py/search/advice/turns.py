"""Several sequences as one, an element of each in turn: how a small number of tries reaches all of them.

>>> "".join(in_turn(["abc", "", "de"]))
'adbec'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

_Element = TypeVar("_Element")


def in_turn(sequences: Iterable[Iterable[_Element]]) -> Iterator[_Element]:
    """Returns the first elements of all sequences, then the second ones, ...; read as needed."""
    left = [iter(each) for each in sequences]
    while left:
        ended: list[Iterator[_Element]] = []
        for each in left:
            try:
                yield next(each)
            except StopIteration:
                ended.append(each)
        left = [each for each in left if each not in ended]
