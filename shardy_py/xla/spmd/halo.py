"""Halos: what neighbours along a sharded dimension send each other, a permute a part.

Shard i of n elements needs `left(i)` elements before its own and `right(i)` behind them; negative: its own
that it does not need. Source: openxla/xla, `ExchangeHalo`, `ExchangeHaloCompact` and
`ExchangeHaloAndGetValidData` in xla/service/spmd/spmd_partitioner_util.cc. Not here: which elements a window
needs (`windowed.py`).

>>> parts = exchanged(Dimension(shards=4, size=4, total=16), lambda i: 1, lambda i: 2)
>>> [part.size for part in parts], parts[0].pairs
([1, 2], ((0, 1), (1, 2), (2, 3)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from shardy_py.base.records import dataclass

Offset = Callable[[int], int]
"""A number of elements by the position of a shard."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of `total` elements in `shards` of `size`; the last ones may be padded."""

    shards: int
    size: int
    total: int


@dataclass(frozen=True, slots=True)
class HaloPart:
    """A permute. size: of what a shard sends. pairs: the shards that send, each with its receiver.

    start: of what a shard sends, among its own elements; -1: shards differ.
    """

    size: int
    pairs: tuple[tuple[int, int], ...]
    start: int = field(default=-1, compare=False)

    @staticmethod
    def by_distance(size: int, distance: int, shards: int, start: int) -> HaloPart:
        """A part that each shard gets from the one so many places before it; negative: behind it."""
        pairs = ((i - distance, i) for i in range(shards))
        return HaloPart(size, tuple(pair for pair in pairs if 0 <= pair[0] < shards), start)


def divided(multiplier: int, offset: int, divisor: int = 1) -> Offset:
    """`(i * multiplier + offset) / divisor`, rounded towards zero."""

    def value(i: int) -> int:
        numerator = i * multiplier + offset
        return numerator // divisor if numerator >= 0 else -(-numerator // divisor)

    return value


def largest(offset: Offset, start: int, stop: int) -> int:
    """The largest value of an offset from `start` to before `stop`; at `start` if there is none."""
    return max(offset(i) for i in range(start, max(stop, start + 1)))


def exchanged(dimension: Dimension, left: Offset, right: Offset) -> tuple[HaloPart, ...] | None:
    """The permuted parts, one for each distance; None if they are too far away."""
    size, shards = dimension.size, dimension.shards
    most_left, most_right = largest(left, 1, shards), largest(right, 0, shards - 1)
    if most_left + most_right + size >= size * shards and max(most_left, most_right) > size:
        return None
    low = -largest(left, 0, shards)
    high = size + largest(right, 0, shards)
    if low >= high:
        return None
    parts: list[HaloPart] = []
    for hop in range(min(_parts(most_left, size), shards - 1) - 1, -1, -1):
        if (-hop - 1) * size >= high:
            break
        whole = min(most_left - size * hop, size)
        part = whole - max(-hop * size - high, 0)
        parts.append(HaloPart.by_distance(part, hop + 1, shards, size - whole))
    skipped = min(max(low - size, 0), max(most_right, 0)) // size
    for hop in range(skipped, min(_parts(most_right, size), shards - 1)):
        start = max(low - (hop + 1) * size, 0)
        part = min(most_right - size * hop, size) - start
        parts.append(HaloPart.by_distance(part, -hop - 1, shards, start))
    return tuple(parts)


def valid_data(
    dimension: Dimension, left: Offset, right: Offset, *, padding: int, needed: int
) -> tuple[HaloPart, ...] | None:
    """The permuted parts where each shard needs `needed` elements, the first `padding` early.

    Far halos of small shards are sent compactly. None: replicating is as cheap.
    """
    shards, size = dimension.shards, dimension.size
    if padding == left(0):
        most_halo = max(largest(left, 0, shards), largest(right, 0, shards))
        most = size + largest(lambda i: left(i) + right(i), 0, shards)
        if most == needed and most_halo > 2 * needed:
            if most * 2 >= shards * size:
                return None
            return compactly_exchanged(dimension, left, right)
    return exchanged(dimension, left, right)


@dataclass(slots=True)
class _Piece:
    """Elements `start` to `stop` of the shard `source` that the shard `shard` gets; None: padding."""

    shard: int
    source: int | None
    start: int
    stop: int
    offset: int


def compactly_exchanged(dimension: Dimension, left: Offset, right: Offset) -> tuple[HaloPart, ...]:
    """The permuted parts where each shard gets just the pieces that it needs.

    A permute sends at most one piece from and to each shard; its size is that of all its pieces together.
    """
    rows = _bounded([_pieces(dimension, left, right, i) for i in range(dimension.shards)], dimension.size)
    queues = [_Queue() for _ in range(dimension.shards)]
    for column in range(max(map(len, rows), default=0)):
        for row in rows:
            piece = row[column] if column < len(row) else None
            if piece is not None and piece.source is not None and piece.source != piece.shard:
                queues[piece.source].pieces.append(piece)
    for queue in queues:
        queue.pieces.sort(key=lambda piece: piece.offset)
    parts: list[HaloPart] = []
    while any(queue.pieces for queue in queues):
        parts.append(_next_permute(queues, dimension.size))
    return tuple(parts)


@dataclass(slots=True)
class _Queue:
    """The pieces that a shard still has to send."""

    pieces: list[_Piece] = field(default_factory=list[_Piece])


def _next_permute(queues: list[_Queue], size: int) -> HaloPart:
    """Takes the first piece of each queue where it fits, and returns the permute."""
    seen: set[int] = set()
    pairs: list[tuple[int, int]] = []
    start, stop = size, 0
    for source, queue in enumerate(queues):
        if not queue.pieces:
            continue
        piece = queue.pieces[0]
        joins_ends = (start > piece.stop and stop == size and piece.start == 0) or (
            stop < piece.start and start == 0 and piece.stop == size
        )
        if seen and (piece.shard in seen or joins_ends):
            continue
        queue.pieces.pop(0)
        seen.add(piece.shard)
        pairs.append((source, piece.shard))
        start, stop = min(start, piece.start), max(stop, piece.stop)
    return HaloPart(stop - start, tuple(pairs), start)


def _pieces(dimension: Dimension, left: Offset, right: Offset, shard: int) -> list[_Piece]:
    """The pieces that a shard needs, in order."""
    size = dimension.size
    first, limit = shard * size - left(shard), (shard + 1) * size + right(shard)
    found: list[_Piece] = []
    at = first
    while at < limit:
        start, left_over = at % size, limit - at
        if at < 0 or at >= dimension.total:
            source, taken = None, min(left_over, -at) if at < 0 else left_over
        else:
            source, taken = at // size, min(size - start, left_over)
        found.append(_Piece(shard, source, start, start + taken, at - first))
        at += taken
    return found


def _bounded(rows: list[list[_Piece]], size: int) -> list[list[_Piece]]:
    """The pieces with long padding split, unless all shards have padding at the same place."""
    found: list[list[_Piece]] = [[] for _ in rows]
    queues = [[replace(piece) for piece in row] for row in rows]
    while any(queues):
        only_padding = all(row[0].source is None for row in queues if row)
        for row, to in zip(queues, found, strict=True):
            if not row:
                continue
            piece = row[0]
            if not only_padding and piece.source is None and piece.stop > size:
                to.append(replace(piece, stop=size))
                piece.start, piece.stop = 0, piece.stop - size
            else:
                to.append(row.pop(0))
    return found


def _parts(size: int, part: int) -> int:
    return -(-size // part) if size > 0 else 0
