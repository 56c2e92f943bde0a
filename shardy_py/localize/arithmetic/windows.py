"""Exchanges of the elements that windows read along a sharded dimension, and no others.

    tensor<8> in parts of 2, window 3, padding 1 on both sides: part t reads elements 2t - 1 to 2t + 2
    buffer: the last element of the left neighbour, one's own, the first of the right neighbour

Positions count from the start of a part. The elements that some part reads are the buffer, a range of them
the same for all parts. What a part reads starts at a position linear in its number, so it is cut out of the
buffer at such an offset. Where parts read only some of that range, it has only that (`_without_gaps`); where
each part reads another part of it, other ranges are sent (`slots.py`).
Not here: the exchanges of whole parts that Shardy makes (`halo.py`).

>>> conv = window_exchange(WindowReads(parts=4, size_in=8, size_out=8, window=Window(3, low=1, high=1)))
>>> [tuple(piece) for piece in conv.pieces], conv.permutes, conv.is_cut
([(-1, 1, 2), (0, 0, 2), (1, 0, 1)], 2, False)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.halo import Integers, Piece, SplitDimension, device_pairs
from shardy_py.localize.arithmetic.slots import BufferSlot, elements_sent, slots_of
from shardy_py.ops.dimensions import Window
from shardy_py.sharding import Mesh
from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.slices import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

ELEMENT = Window(1)
"""A window of one element, in its place."""
MOST_PERMUTES = 8
"""More are not exchanged if replication is possible: each takes its time."""


@dataclass(frozen=True, slots=True)
class WindowReads(SplitDimension):
    """A dimension of `size_out` windows over one of `size_in` elements.

    is_mirrored: window i is counted from the end, and so are the parts: part t reads what is near part
    `parts - 1 - t`.
    is_ring: the elements beyond an end are those at the other one; parts are even, windows have one element.
    limits: the first element that is read, and the one behind the last; None: all are.
    """

    window: Window = ELEMENT
    is_mirrored: bool = False
    is_ring: bool = False
    limits: tuple[int, int] | None = None

    @property
    def is_elementwise(self) -> bool:
        """True if window i is element i."""
        return self.window == ELEMENT and self.size_in == self.size_out and not self.is_mirrored


@dataclass(frozen=True, slots=True)
class Rounded:
    """`(part * step + shift) // divisor * scale`, where `shift` is not negative."""

    step: int
    shift: int
    divisor: int
    scale: int


@dataclass(frozen=True, slots=True)
class Start:
    """A position: `part * slope + base`, plus `rounded`; or the one in a table, by part.

    >>> Start.of(0, 5, Rounded(step=6, shift=1, divisor=2, scale=4))
    Start(slope=12, base=5, rounded=None, table=())
    """

    slope: int
    base: int
    rounded: Rounded | None = None
    table: tuple[int, ...] = ()

    @staticmethod
    def by_part(positions: Integers) -> Start:
        """The positions of parts; the table if they are not linear.

        >>> Start.by_part(np.array([3, 1])), Start.by_part(np.array([3, 1, 1])).table
        (Start(slope=-2, base=3, rounded=None, table=()), (3, 1, 1))
        """
        slope, base = int(positions[1] - positions[0]) if len(positions) > 1 else 0, int(positions[0])
        is_linear = np.array_equal(positions, base + slope * np.arange(len(positions)))
        return Start(slope, base) if is_linear else Start(0, 0, None, tuple(positions.tolist()))

    @property
    def is_constant(self) -> bool:
        """True if it is the same in all parts."""
        return not (self.slope or self.rounded is not None or self.table)

    @staticmethod
    def of(slope: int, base: int, rounded: Rounded) -> Start:
        """The sum; the rounded part is linear, too, if the divisor divides its step."""
        step, shift, divisor, scale = rounded.step, rounded.shift, rounded.divisor, rounded.scale
        if step % divisor == 0:
            return Start(slope + step // divisor * scale, base + shift // divisor * scale)
        turns = max(0, -(shift // divisor))
        return Start(slope, base - turns * scale, Rounded(step, shift + turns * divisor, divisor, scale))

    def at(self, part: Integers) -> Integers:
        """The positions for an array of parts."""
        if self.table:
            return np.array(self.table)[part]
        linear = part * self.slope + self.base
        if self.rounded is None:
            return linear
        by = self.rounded
        return linear + (part * by.step + by.shift) // by.divisor * by.scale


@dataclass(frozen=True, slots=True)
class WindowExchange:
    """How each part gets the elements that its windows read.

    pieces: of the buffer. reads: [parts, 2], the first and the last element that a part reads; none if the
    first is larger. is_masked: elements of the buffer beyond the ends of the operand are read: some are 0.

    pads: elements of padding before and behind the buffer, and between its elements. A part takes `size`
    elements from `start` on. window: of the part, with its own padding and dilation.
    """

    source: WindowReads
    pieces: tuple[Piece | BufferSlot, ...]
    reads: Integers
    is_masked: bool
    pads: tuple[int, int, int]
    start: Start
    size: int
    window: Window

    @property
    def first(self) -> int:
        """The position of the first element of the buffer."""
        piece = self.pieces[0]
        assert isinstance(piece, Piece)
        return piece.hop * self.source.part_in + piece.start

    @property
    def length(self) -> int:
        """The number of elements of the buffer."""
        return sum(map(size_of, self.pieces))

    @property
    def is_cut(self) -> bool:
        """True if a part reads less than the padded buffer."""
        low, high, interior = self.pads
        return self.size < low + (self.length - 1) * (interior + 1) + 1 + high

    @property
    def permutes(self) -> int:
        """The number of pieces that come from other parts."""
        return sum(not self.is_still(piece) for piece in self.pieces)

    @property
    def received(self) -> int:
        """The largest number of elements that a part gets from others."""
        got = [self._receives(piece) * size_of(piece) for piece in self.pieces]
        return int(np.sum(got, axis=0).max())

    @property
    def is_worthwhile(self) -> bool:
        """True if gathering the dimension takes more bytes, and the exchange not many more steps."""
        whole = (self.source.parts - 1) * self.source.part_in
        permutes = self.permutes
        return permutes <= 2 or (permutes <= MOST_PERMUTES and self.received < whole)

    def is_own(self, piece: Piece | BufferSlot) -> bool:
        """True if every part has the piece itself."""
        if isinstance(piece, BufferSlot):
            return self.is_still(piece)
        hop = piece.hop % self.source.parts if self.source.is_ring else piece.hop
        return hop == 0 and not self.source.is_mirrored

    def is_still(self, piece: Piece | BufferSlot) -> bool:
        """True if no part sends the piece to another."""
        return not self._receives(piece).any()

    def pairs(self, piece: Piece | BufferSlot, mesh: Mesh, axes: Axes) -> Integers:
        """[pairs, 2]: the devices between which a piece moves, from and to."""
        source, reads = self._sources(piece)
        targets = np.full(self.source.parts, -1)
        targets[source[reads]] = np.flatnonzero(reads)
        return device_pairs(mesh, axes, targets)

    def _sources(self, piece: Piece | BufferSlot) -> tuple[Integers, NDArray[np.bool_]]:
        """[parts] each: the part that a piece comes from, and whether elements of it are read."""
        if isinstance(piece, BufferSlot):
            sources = np.array(piece.sources)
            return sources, sources >= 0
        part = listed(self.source.parts)
        source = (part[::-1] if self.source.is_mirrored else part) + piece.hop
        first, last = self.reads[:, 0], self.reads[:, 1]
        start = source * self.source.part_in
        reads = (first <= last) & (first < start + piece.stop) & (last >= start + piece.start)
        return source % len(part) if self.source.is_ring else source, reads

    def _receives(self, piece: Piece | BufferSlot) -> NDArray[np.bool_]:
        source, reads = self._sources(piece)
        return reads & (source != np.arange(len(source)))


def window_exchange(source: WindowReads) -> WindowExchange:
    """The exchange for a dimension."""
    window, count, own = source.window, source.part_out, source.part_in
    base, low = window.base_dilation, window.low
    part = listed(source.parts)
    start = part * count * window.stride - low
    windows = np.clip(source.size_out - part * count, 0, count)
    spread = (window.size - 1) * window.dilation
    end = start + (windows - 1) * window.stride + spread
    first, last = -(-start // base), end // base
    is_used = windows > 0
    least, behind_last = source.limits or (0, source.size_in)
    reads = np.stack([np.maximum(first, least), np.minimum(last, behind_last - 1)], axis=1)
    if source.is_ring:
        reads = np.stack([first, last], axis=1)
    reads[~is_used] = (0, -1)
    lowest, highest = range_read(reads, part * own)
    span = (count - 1) * window.stride + spread + 1
    slope, offset, size, step, local = _local_window(source, span)
    positions = (part * slope + offset)[is_used] if is_used.any() else np.zeros(1, np.int64)
    before = lowest * step - int(positions.min())
    behind = int(positions.max()) + size - (highest * step + 1)
    at = part * own
    beyond = (np.maximum(first, at + lowest) < 0) | (np.minimum(last, at + highest) >= source.size_in)
    if source.is_mirrored:
        reads = reads[::-1]
    made = WindowExchange(
        source,
        pieces_between(lowest, highest, own),
        reads,
        bool(np.any(beyond & is_used)) and not (source.is_mirrored or source.is_ring),
        (before, behind, step - 1),
        Start(slope, offset - lowest * step + before),
        size,
        local,
    )
    if step > 1 or source.is_mirrored or source.is_ring:
        return made
    is_complete = np.array_equal(reads[is_used], np.stack([first, last], axis=1)[is_used])
    if not is_complete and source.limits is None:
        return made
    given = part * (own + slope) + offset
    pieces, begins = _without_gaps(reads, given, own)
    if sum(map(size_of, pieces)) < made.length:
        made = _cut_out(made, pieces, begins)
    return _in_slots(made, given)


def _in_slots(exchange: WindowExchange, given: Integers) -> WindowExchange:
    """The exchange, or one in slots if less is sent by it.

    given: [parts], the element that each part begins with.
    """
    reads, own = exchange.reads, exchange.source.part_in
    first, last = reads[:, 0], reads[:, 1]
    start = listed(exchange.source.parts) * own
    has = np.maximum(np.minimum(last, start + own - 1) - np.maximum(first, start) + 1, 0)
    sent = sum(size_of(piece) for piece in exchange.pieces if not exchange.is_still(piece))
    if sent <= int((last - first + 1 - has).max()):  # what a part lacks
        return exchange
    found = slots_of(reads, own)
    if found is None or elements_sent(found[0]) >= sent:
        return exchange
    slots, at = found
    return _cut_out(exchange, slots, np.where(first <= last, at - (first - given), 0))


def _without_gaps(reads: Integers, begins: Integers, own: int) -> tuple[tuple[Piece, ...], Integers]:
    """The pieces that parts read, and where in them each part begins; [parts], 0 where one reads none.

    reads: [parts, 2]. begins: [parts], the element that each part begins with. Between two pieces nothing is
    left out that one part reads, so that what it reads is one range of the buffer.
    """
    part = np.arange(len(reads))
    is_reading = reads[:, 0] <= reads[:, 1]
    hops = (reads // own - part[:, None])[is_reading]
    pieces: list[Piece] = []
    length, found = 0, np.zeros(len(reads), np.int64)
    for hop in range(int(hops.min()), int(hops.max()) + 1) if len(hops) else ():
        start = (part + hop) * own
        first = np.maximum(reads[:, 0], start) - start
        last = np.minimum(reads[:, 1], start + own - 1) - start
        inside = is_reading & (first <= last)
        if not inside.any():
            continue
        piece = Piece(hop, int(first[inside].min()), int(last[inside].max()) + 1)
        starts_here = inside & (reads[:, 0] >= start)
        at = length - piece.start + reads[:, 0] - start
        found[starts_here] = (at - (reads[:, 0] - begins))[starts_here]
        pieces.append(piece)
        length += piece.stop - piece.start
    return tuple(pieces) or (Piece(0, 0, 1),), found


def size_of(piece: Piece | BufferSlot) -> int:
    """The elements of a piece."""
    return piece.size if isinstance(piece, BufferSlot) else piece.stop - piece.start


def _cut_out(
    exchange: WindowExchange, pieces: tuple[Piece | BufferSlot, ...], begins: Integers
) -> WindowExchange:
    """The exchange with other pieces: each part begins where its elements are."""
    size, length = exchange.size, sum(map(size_of, pieces))
    before, behind = max(0, -int(begins.min())), max(0, int(begins.max()) + size - length)
    start, pads = Start.by_part(begins + before), (before, behind, 0)
    return replace(exchange, pieces=pieces, is_masked=False, pads=pads, start=start)


def range_read(reads: Integers, at: Integers) -> tuple[int, int]:
    """The first and last position that a part reads; those of the first element if none reads any."""
    reading = reads[:, 0] <= reads[:, 1]
    if not reading.any():
        return 0, 0
    return int((reads[:, 0] - at)[reading].min()), int((reads[:, 1] - at)[reading].max())


def _local_window(source: WindowReads, span: int) -> tuple[int, int, int, int, Window]:
    """The first element that a part reads, as slope and offset, their number, their step, and its own window.

    Parts that start at different places between the elements of a dilated operand read it dilated: the step
    is then the dilation. Else the op dilates the elements of the part itself.
    """
    window, count, own = source.window, source.part_out, source.part_in
    base = window.base_dilation
    gap = window.low % base
    size = (span - 1 - gap) // base + 1
    if (count * window.stride) % base or size < 1:
        local = Window(window.size, window.stride, dilation=window.dilation, is_reversed=window.is_reversed)
        return count * window.stride - own * base, -window.low, span, base, local
    high = span - gap - (size - 1) * base - 1
    local = Window(window.size, window.stride, gap, high, base, window.dilation, window.is_reversed)
    return count * window.stride // base - own, (gap - window.low) // base, size, 1, local


def pieces_between(lowest: int, highest: int, own: int) -> tuple[Piece, ...]:
    """The range of positions from `lowest` to `highest` by the parts they are in."""
    hops = range(lowest // own, highest // own + 1)
    return tuple(Piece(hop, max(lowest - hop * own, 0), min(highest + 1 - hop * own, own)) for hop in hops)
