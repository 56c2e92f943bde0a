"""Dimensions as numbers from either end, as numpy counts them.

>>> dimension(-1, 3), dimensions((0, -1), 3), dimensions(None, 2)
(2, (0, 2), (0, 1))
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

from shardy_py.errors import ShardyError

Dimensions = int | Iterable[int] | None
"""One dimension, several, or (None) all."""


def dimension(number: int, rank: int) -> int:
    """The number from the front. Raises `ShardyError` for one that a tensor of `rank` dimensions lacks."""
    try:
        position = index(number)
    except TypeError:
        raise ShardyError.unexpected("", expected="the number of a dimension", got=f"{number!r}") from None
    if not -rank <= position < rank:
        raise ShardyError(f"a tensor of rank {rank} has no dimension {position}")
    return position + rank if position < 0 else position


def dimensions(numbers: Dimensions, rank: int) -> tuple[int, ...]:
    """The numbers from the front, in the order given."""
    if numbers is None:
        return tuple(range(rank))
    if isinstance(numbers, int):
        return (dimension(numbers, rank),)
    return tuple(dimension(number, rank) for number in numbers)
