"""Exchanges between neighbours along a sharded dimension: what each part reads of the parts beside it.

A dimension of n elements in p parts of c = ceil(n / p) goes into a dimension in parts of its own. Each part
reads a range of elements, at most `size` long. An `Exchange` gathers them in a buffer, pads it, and cuts out
`size` elements at an offset that is linear in the number of the part.

Here are the exchanges that Shardy makes, of whole parts; `windows.py` has those of the elements needed. Not
here: the ops (`localize/halo_exchange.py`).

>>> pad = shardy_exchange(DimensionReads(parts=2, size_in=4, size_out=7, low=3)).exchange
>>> [piece.hop for piece in pad.pieces], pad.slope, pad.base, pad.size
([-1, 0], 2, 3, 4)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.reshard.device_groups import device_ids
from shardy_py.sharding import Mesh
from shardy_py.sharding.axis_lists import Axes, total_size
from shardy_py.sharding.slices import axis_index, listed, positions_along

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers: TypeAlias = "NDArray[np.int64]"


class Piece(NamedTuple):
    """Elements `start` to `stop` of the part `hop` behind one's own; negative: before it."""

    hop: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """How every part of a dimension gets the elements that it reads.

    pieces: of the buffer, in order. edge: elements of padding on both sides of the buffer, after `interior`
    elements of padding between its elements. slope, base: the offset in it, `max(part * slope + base, 0)`.
    offsets: by part instead; empty: linear. size: the number of elements that a part reads.
    """

    pieces: tuple[Piece, ...]
    edge: int
    interior: int
    slope: int
    base: int
    size: int
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitDimension:
    """A dimension of an operand and that of the result, both in `parts` parts."""

    parts: int
    size_in: int
    size_out: int

    @property
    def part_in(self) -> int:
        """The elements of a part of the operand."""
        return -(-self.size_in // self.parts)

    @property
    def part_out(self) -> int:
        """The elements of a part of the result."""
        return -(-self.size_out // self.parts)


@dataclass(frozen=True, slots=True)
class DimensionReads(SplitDimension):
    """Element j of a result reads operand element `(j - low) / dilation` where that is whole, else padding.

    low: negative if the result starts behind the first elements.
    stride: of a slice, of which Shardy's exchanges know only that there is one.
    """

    low: int
    dilation: int = 1
    stride: int = 1

    @property
    def is_in_place(self) -> bool:
        """True if element j of each part of the result is that of the same part of the operand."""
        return self.part_in == self.part_out and not self.low and self.dilation == self.stride == 1


class ShardyExchange(NamedTuple):
    """The exchange that Shardy makes, and whether a part reads elements of others, or none of the operand."""

    exchange: Exchange
    is_needed: bool


def shardy_exchange(reads: DimensionReads) -> ShardyExchange:
    """The exchange that Shardy makes along one dimension.

    Offsets are rounded as in C++, towards zero. `is_wide` tells whether Shardy replicates instead.
    """
    part = listed(reads.parts)
    own, size = reads.part_in, reads.part_out
    positions = part * size - reads.low
    start = np.abs(positions) // reads.dilation * np.sign(positions)
    first, last = np.maximum(start, 0), np.minimum(start + size - 1, reads.size_in - 1)
    reads_any = first <= last
    source, end = first // own, last // own
    is_needed = bool(np.any(~reads_any | (source != part) | (end != part)))
    left = max(0, int(np.max(np.where(reads_any, part - source, 0))))
    right = max(0, int(np.max(np.where(reads_any, end - part, 0))))
    dilated = own * reads.dilation
    base = (left * own + size) * reads.dilation - reads.low
    exchange = Exchange(
        _whole_parts(left, right, own), size * reads.dilation, reads.dilation - 1, size - dilated, base, size
    )
    return ShardyExchange(exchange, is_needed)


def reshape_exchange(starts: Integers, size: int, part_in: int) -> Exchange | None:
    """The exchange for a reshape that splits a dimension of `size` in parts of `part_in`; None: no need.

    starts: [parts], the element of the operand at which each part of the result starts.
    """
    part = np.arange(len(starts))
    source = np.where(starts < size, starts // part_in, -1)
    last = starts + part_in - 1
    end = np.where(last < size, last // part_in, -1)
    differs = ((source >= 0) & (source != part)) | ((end >= 0) & (end != part))
    if not differs.any():
        return None
    left = max(0, int(np.max(np.where(source >= 0, part - source, 0))))
    right = max(0, int(np.max(np.where(end >= 0, end - part, 0))))
    within = np.where(source >= 0, starts - source * part_in, 0)
    offsets = part_in + (left + np.where(source >= 0, source, part) - part) * part_in + within
    pieces = _whole_parts(left, right, part_in)
    return Exchange(pieces, part_in, 0, 0, 0, part_in, tuple(offsets.tolist()))


def _whole_parts(left: int, right: int, size: int) -> tuple[Piece, ...]:
    return tuple(Piece(hop, 0, size) for hop in range(-left, right + 1))


def is_wide(exchange: Exchange, parts: int) -> bool:
    """True if a part gathers all parts of the dimension over more than one hop."""
    hops = [piece.hop for piece in exchange.pieces]
    return len(hops) >= parts and max(map(abs, hops)) > 1


def is_far(exchange: Exchange) -> bool:
    """True if a part needs more than its neighbours."""
    return any(abs(piece.hop) > 1 for piece in exchange.pieces)


def shifted_pairs(mesh: Mesh, axes: Axes, shift: int) -> Integers:
    """[pairs, 2]: the devices that hold parts i and i + shift of a dimension sharded along `axes`.

    Pairs are in the order of the source in the mesh; parts beyond the ends have none.
    """
    return device_pairs(mesh, axes, np.arange(total_size(axes, mesh)) + shift)


def device_pairs(mesh: Mesh, axes: Axes, targets: Integers) -> Integers:
    """[pairs, 2]: the devices that hold part i, and `targets[i]` beside them, if it exists; read-only."""
    return _device_pairs(mesh, axes, targets.astype(np.int64).tobytes())


@lru_cache(maxsize=8)
def _device_pairs(mesh: Mesh, axes: Axes, target_bytes: bytes) -> Integers:
    targets = np.frombuffer(target_bytes, np.int64)
    positions = listed(mesh.device_count)
    part = np.zeros_like(positions)
    for axis in axes:
        part = part * axis.size(mesh) + axis_index(mesh, axis, positions)
    offsets = positions_along(mesh, axes)
    target = targets[part]
    exists = (target >= 0) & (target < len(offsets))
    ids = device_ids(mesh)
    found = positions[exists] - offsets[part[exists]] + offsets[target[exists]]
    pairs = np.stack([ids[positions[exists]], ids[found]], axis=1)
    pairs.flags.writeable = False
    return pairs
