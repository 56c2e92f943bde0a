"""Reductions of many elements that XLA:GPU does in two steps, because one block cannot reduce them.

    reduce([262144])  ->  reduce(reduce([512, 512]) of [512])

The first step reduces parts, the second what is left. Elements are padded to whole parts. Source:
openxla/xla, xla/backends/gpu/transforms/tree_reduction_rewriter.cc, xla/service/gpu/reduction_utils.cc. Not
here: which reductions are of rows in a kernel (`diamonds.py`).

>>> in_steps((8, 64, 512), (0, 1, 2))
Steps(padded=262144, shape=(512,), keeps_last=(False, False))
>>> in_steps((1024, 4096), (1,)) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isqrt, prod
from typing import NamedTuple

_MOST_OF_ROW = 1024 * 16
"""The elements of a row that a block reduces: of its threads each that many."""
_MOST_OF_COLUMN = 32 * 128
WARP = 32
"""The threads that run together."""
_LEAST_COLUMNS = (8, 3), (4, 8), (2, WARP)
"""The warps of elements of a column that blocks reduce at least, where fewer elements than these are last."""
_MOST_OUTER = 8
"""The outer elements that a block reduces beside those of a row."""


class Steps(NamedTuple):
    """Two steps. padded: the elements of one dimension, with padding; shape: of what the first step makes.

    keeps_last: for each step whether it keeps the last dimension.
    """

    padded: int
    shape: tuple[int, ...]
    keeps_last: tuple[bool, bool] = (False, False)


def in_steps(shape: Sequence[int], dimensions: Collection[int]) -> Steps | None:
    """The steps of a reduction of dimensions; None if it is done in one."""
    groups = _groups(shape, dimensions)
    reduced = [is_reduced for _, is_reduced in groups]
    sizes = [size for size, _ in groups]
    kept = tuple(size for size, is_reduced in groups if not is_reduced)
    if reduced == [True, False, True] and sizes[0] > _MOST_OUTER:
        return Steps(sizes[-1], (sizes[0], *kept), (False, True))
    if reduced in ([True], [False, True], [True, False, True]) and sizes[-1] > _MOST_OF_ROW:
        outer, inner = _parts(sizes[-1], _MOST_OF_ROW, is_row=True)
        return Steps(outer * inner, (*kept, outer))
    if reduced in ([True, False], [False, True, False]) and sizes[-2] > _MOST_OF_COLUMN:
        outer, inner = _parts(sizes[-2], _MOST_OF_COLUMN, is_row=False)
        return Steps(outer * inner, (*kept[:-1], outer, kept[-1]), (True, True))
    return None


def is_in_blocks(shape: Sequence[int], dimensions: Collection[int]) -> bool:
    """Returns whether blocks of threads reduce dimensions, not each thread all elements of one result.

    >>> is_in_blocks((64, 2, 64), (1,)), is_in_blocks((64, 64), (1,)), is_in_blocks((64, 8), (1,))
    (False, True, True)
    """
    groups = _groups(shape, dimensions)
    reduced = [is_reduced for _, is_reduced in groups]
    if reduced in ([True], [False, True], [True, False, True]):
        row = groups[-1][0]
        return row >= WARP or WARP % row == 0
    if reduced not in ([True, False], [False, True, False]):
        return False
    column, last = groups[-2][0], groups[-1][0]
    return column >= next((factor * WARP for factor, least in _LEAST_COLUMNS if last < least), WARP)


def _groups(shape: Sequence[int], dimensions: Collection[int]) -> list[tuple[int, bool]]:
    """The elements of neighbours that are all reduced, or all kept, and which; without dimensions of 1."""
    found: list[tuple[int, bool]] = []
    for dimension, size in enumerate(shape):
        if size == 1:
            continue
        is_reduced = dimension in dimensions
        if found and found[-1][1] == is_reduced:
            found[-1] = prod((found[-1][0], size)), is_reduced
        else:
            found.append((size, is_reduced))
    return found


def _parts(size: int, most: int, *, is_row: bool) -> tuple[int, int]:
    """Into how many parts elements are split, and the elements of each.

    The parts have between half the root and the root of the elements, such that little is padded.

    >>> _parts(131072, 16384, is_row=True)
    (256, 512)
    """
    inner = min(isqrt(size), most)
    padding, outer = -size % inner, -(-size // inner)
    for each in range(inner - 1, inner // 2, -1):
        own = -size % each
        if own < padding or (own == padding and each & (each - 1) == 0):
            padding, outer = own, (size + own) // each
    inner = (size + padding) // outer
    return (inner, outer) if _is_swapped(outer, inner, size, most, is_row=is_row) else (outer, inner)


def _is_swapped(outer: int, inner: int, size: int, most: int, *, is_row: bool) -> bool:
    """True if fewer parts of more elements are faster."""
    if outer > most:
        return False
    if not is_row:
        return True
    if inner % 2 == 0 and size % 2 == 0:
        return inner * 2 < outer or outer % 2 == 0
    return size % 2 == 0 or outer % 2 != 0
