"""The elements that a part of a `select_and_scatter` reads: those of all windows that touch it.

    tensor<10> in parts of 5, windows of 3 with stride 2: 012 234 456 678 89-
    part 1, elements 5 to 9, is touched by windows 2 to 4, and reads elements 4 to 9 and their source elements

A part starts with the first window that may touch it, `floor((part * c + low - overlap) / stride)`, and takes
as many windows as any part needs. Windows that do not exist, or touch other parts only, scatter elsewhere or
must have sources that change nothing.

Not here: the op (`localize/permutation_selects.py`).

>>> plan = selected_parts(parts=2, size=10, count=5, window=Window(3, 2, low=0, high=1))
>>> plan.windows, plan.operand.size, [tuple(piece) for piece in plan.operand.pieces]
(4, 9, [(-1, 4, 5), (0, 0, 5), (1, 0, 2)])
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.halo import Integers
from shardy_py.localize.arithmetic.windows import (
    Rounded,
    Start,
    WindowExchange,
    WindowReads,
    pieces_between,
    range_read,
)
from shardy_py.ops.dimensions import Window
from shardy_py.sharding.slices import listed


@dataclass(frozen=True, slots=True)
class SelectedParts:
    """How a part gets what its windows select from, and what it scatters.

    windows: of a part. operand, source: their exchanges, of `(windows - 1) * stride + size` and of `windows`
    elements. from_whole: of a source that is not sharded, the elements of padding before and behind it, and
    where the part starts. own: where the elements of the part are among those of `operand`.
    """

    windows: int
    operand: WindowExchange
    source: WindowExchange
    from_whole: tuple[int, int, Start]
    own: Start


def selected_parts(parts: int, size: int, count: int, window: Window) -> SelectedParts:
    """The plan for a dimension of `size` elements in parts, under `count` windows without dilation."""
    stride, low = window.stride, window.low
    part, own = listed(parts), -(-size // parts)
    overlap = max(window.size - stride, 0)
    windows = (overlap + own + stride - 2) // stride + 1 + (window.size < stride)
    length = (windows - 1) * stride + window.size
    shift = low - overlap

    def start(slope: int, base: int, scale: int) -> Start:
        return Start.of(slope, base, Rounded(own, shift, stride, scale))

    begin, end = part * own, np.minimum((part + 1) * own, size)
    first = np.maximum(-(-(begin + low - window.size + 1) // stride), 0)
    last = np.minimum((end - 1 + low) // stride, count - 1)
    is_used = (begin < end) & (first <= last)
    touching = np.stack([first, last], axis=1)
    read = np.stack(
        [np.maximum(first * stride - low, 0), np.minimum(last * stride - low + window.size, size) - 1], axis=1
    )
    touching[~is_used] = read[~is_used] = (0, -1)

    lowest, highest = range_read(read, begin)
    begins = start(-own, -shift - overlap, stride)
    pads, begins = _fitted(begins, part, (lowest, highest), length)
    operand = WindowExchange(
        WindowReads(parts, size, count, window),
        pieces_between(lowest, highest, own),
        read,
        bool(window.low or window.high),
        pads,
        begins,
        length,
        Window(window.size, stride),
    )
    own_sources = -(-count // parts)
    at = part * own_sources
    lowest, highest = range_read(touching, at)
    pads, begins = _fitted(start(-own_sources, 0, 1), part, (lowest, highest), windows)
    source = WindowExchange(
        WindowReads(parts, count, size),
        pieces_between(lowest, highest, own_sources),
        touching,
        True,
        pads,
        begins,
        windows,
        Window(1),
    )
    pads, begins = _fitted(start(0, 0, 1), part, (0, count - 1), windows)
    from_whole = pads[0], pads[1], begins
    return SelectedParts(windows, operand, source, from_whole, start(own, shift + overlap, -stride))


def _fitted(
    begins: Start, part: Integers, buffer: tuple[int, int], size: int
) -> tuple[tuple[int, int, int], Start]:
    """The padding of a buffer so that all parts find `size` elements in it, and where they start there.

    begins, buffer: the first element of each part, the first and last one of the buffer, of one origin.
    """
    positions = begins.at(part)
    before = max(buffer[0] - int(positions.min()), 0)
    behind = max(int(positions.max()) + size - 1 - buffer[1], 0)
    return (before, behind, 0), replace(begins, base=begins.base - buffer[0] + before)
