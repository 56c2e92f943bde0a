"""Exchanges in which a permute moves another range of each part, as where parts of two sizes do not line up.

    tensor<16> in parts of 4, of which the first 8 elements become parts of 2: 1 reads the end of 0, and 2
    and 3 read 1
    slots: what part 0 has itself; the end of 0 for 1, and the start of 1 for 2; the end of 1 for 3

A slot is a piece of the buffer that each part gets from one part at most. What a part reads within one part
is in one slot; what it reads across an end of a part is the end of that one and the start of the next, in two
slots beside each other. Not here: pieces that are the same range of all parts (`windows.py`).

>>> [(slot.sources, slot.size) for slot in slots_of(np.array([[0, 1], [2, 3], [4, 5], [6, 7]]), 4)[0]]
[((0, -1, -1, -1), 2), ((-1, 0, 1, -1), 2), ((-1, -1, -1, 1), 2)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.halo import Integers

MOST_PARTS = 1 << 10
"""More parts are not looked at one by one."""


@dataclass(frozen=True, slots=True)
class BufferSlot:
    """A piece of the buffer.

    sources: for each part, the part that its elements come from; -1: it reads none of them. starts: for each
    part, the first of its elements that it sends.
    """

    sources: tuple[int, ...]
    starts: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class _Move:
    """Elements of part `source` that part `target` reads: `size` from `start` on."""

    target: int
    source: int
    start: int
    size: int


def slots_of(reads: Integers, own: int) -> tuple[tuple[BufferSlot, ...], Integers] | None:
    """Returns the slots, and where in the buffer each part finds the first element that it reads.

    reads: [parts, 2], the first and the last element that a part reads; none if the first is larger. own: the
    elements of a part. None: a part reads elements of three parts, or there are too many parts.
    """
    if len(reads) > MOST_PARTS:
        return None
    rows = [_moves(target, first, last, own) for target, (first, last) in enumerate(reads.tolist())]
    if max(map(len, rows)) > 2:
        return None
    buffer = _Buffer(len(reads), own)
    single, double = ([row for row in rows if len(row) == count] for count in (1, 2))
    for is_own in (True, False):
        for group in _matchings([row for row in single if (row[0].source == row[0].target) == is_own]):
            buffer.add_single([move for (move,) in group])
    for group in _matchings(double):
        buffer.add_double([row[0] for row in group], [row[1] for row in group])
    return tuple(buffer.slots), np.array(buffer.found)


def _moves(target: int, first: int, last: int, own: int) -> tuple[_Move, ...]:
    """The elements that a part reads, by the parts that they are in."""
    moves: list[_Move] = []
    for source in range(first // own, last // own + 1):
        start, stop = max(first - source * own, 0), min(last + 1 - source * own, own)
        moves.append(_Move(target, source, start, stop - start))
    return tuple(moves)


class _Buffer:
    """The slots so far, and where each part finds what it reads."""

    def __init__(self, parts: int, own: int) -> None:
        self.slots: list[BufferSlot] = []
        self.found = [0] * parts
        self._own, self._length = own, 0

    def add_single(self, moves: Sequence[_Move]) -> None:
        """Adds a slot of elements that are read within one part: they are sent from where they begin."""
        size = max(move.size for move in moves)
        starts = {move.source: min(move.start, self._own - size) for move in moves}
        for move in moves:
            self.found[move.target] = self._length + move.start - starts[move.source]
        self._add(moves, _starts(len(self.found), starts), size)

    def add_double(self, left: Sequence[_Move], right: Sequence[_Move]) -> None:
        """Adds two slots, of elements that are read across the end of a part."""
        size = max(move.size for move in left)
        for move in left:
            self.found[move.target] = self._length + size - move.size
        self._add(left, (self._own - size,) * len(self.found), size)
        self._add(right, (0,) * len(self.found), max(move.size for move in right))

    def _add(self, moves: Iterable[_Move], starts: tuple[int, ...], size: int) -> None:
        sources = [-1] * len(self.found)
        for move in moves:
            sources[move.target] = move.source
        self.slots.append(BufferSlot(tuple(sources), starts, size))
        self._length += size


def elements_sent(slots: Iterable[BufferSlot]) -> int:
    """Returns the elements of all permutes together."""
    return sum(slot.size for slot in slots if any(s not in (-1, t) for t, s in enumerate(slot.sources)))


def _matchings(items: Sequence[tuple[_Move, ...]]) -> list[list[tuple[_Move, ...]]]:
    """Groups in which no part sends twice at one place, the largest moves together."""
    groups: list[tuple[set[tuple[int, int]], list[tuple[_Move, ...]]]] = []
    for item in sorted(items, key=lambda item: -sum(move.size for move in item)):
        sending = {(side, move.source) for side, move in enumerate(item)}
        for taken, group in groups:
            if not taken & sending:
                taken |= sending
                group.append(item)
                break
        else:
            groups.append((sending, [item]))
    return [group for _, group in groups]


def _starts(count: int, known: dict[int, int]) -> tuple[int, ...]:
    """The starts of all parts: those of others are on a line with the first two, so that tables are rare."""
    (first, start), *others = sorted(known.items())
    rise, run = (others[0][1] - start, others[0][0] - first) if others else (0, 1)
    return tuple(known.get(part, start + (part - first) * rise // run) for part in range(count))
