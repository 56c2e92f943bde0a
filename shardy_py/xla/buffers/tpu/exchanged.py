"""The orders of dimensions around an exchange (all-to-all) on TPUs, each with the copies that make it.

A device sends pieces, which are one behind the other, and puts together those that it receives:

    f32[512,32] exchanged from dimension 0 to 1 by 8 devices
    split [8,64,32] -> pieces [8,32,64] -> flat -> all-to-all -> flat -> pieces -> [64,256]

What has the sizes of the next one in the same order is that one. Pieces with much padding are sent flat, of
elements of 32 bits once more flat. Source: 55 programs with exchanges that XLA:TPU compiled for v5p.

>>> [kind for kind, _ in sent_as(TensorType((512, 32), "f32"), ExchangeInPieces(0, 1, 8))]
[<OrderChange.RESHAPE: 1>, <OrderChange.TRANSPOSE: 2>, <OrderChange.TRANSPOSE: 2>, <OrderChange.RESHAPE: 1>]
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from math import prod
from typing import NamedTuple

from shardy_py.indexing.layout import element_type
from shardy_py.indexing.layout.formats import LANES, WORD_BITS
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.local_sizes import least_padded, measured

_PADDING = 1.5
"""How much larger pieces may be in tiles than their elements, so that they are sent in tiles."""


class OrderChange(Enum):
    """How a value becomes another: in memory of its own, or where it is read, if that is an op."""

    RESHAPE = auto()
    TRANSPOSE = auto()
    COPY = auto()
    JOIN = auto()


class ExchangeInPieces(NamedTuple):
    """An exchange: the dimension that is split into a piece for each device, and the one that is gathered."""

    cut: int
    grown: int
    pieces: int


def exchange_of(held: tuple[int, ...], made: tuple[int, ...]) -> ExchangeInPieces | None:
    """Returns the exchange between two shapes; None if it is of other dimensions than two."""
    pairs = [*enumerate(zip(held, made, strict=False))]
    cut = [d for d, (old, new) in pairs if old > new]
    grown = [d for d, (old, new) in pairs if old < new]
    if len(held) != len(made) or len(cut) != 1 or len(grown) != 1 or not made[cut[0]]:
        return None
    return ExchangeInPieces(cut[0], grown[0], held[cut[0]] // made[cut[0]])


def sent_as(type_: TensorType, exchange: ExchangeInPieces) -> Iterator[tuple[OrderChange, TensorType]]:
    """Yields how a value is changed before it is exchanged, and what is made of it each time."""
    pieces = _Pieces(type_, exchange)
    if pieces.minor == exchange.cut:
        if pieces.shape[exchange.cut] % LANES:
            yield OrderChange.RESHAPE, pieces.split
        yield OrderChange.TRANSPOSE, pieces.type
        yield OrderChange.TRANSPOSE, pieces.type
    elif any(size != 1 for size in type_.shape[: exchange.cut]):
        yield OrderChange.TRANSPOSE, pieces.type
    if pieces.are_flat:
        yield OrderChange.RESHAPE, pieces.flat


def received_as(
    type_: TensorType, made: TensorType, exchange: ExchangeInPieces
) -> Iterator[tuple[OrderChange, TensorType]]:
    """Yields how what is received becomes the result, and what is made of it each time.

    type_: of the value that is exchanged, made: of the result.
    """
    pieces = _Pieces(type_, exchange)
    if pieces.are_flat:
        if element_type(type_.element).bits == WORD_BITS:
            yield OrderChange.COPY, pieces.flat
        yield OrderChange.RESHAPE, pieces.type
    grown, minor = exchange.grown, least_padded(made)[-1]
    if pieces.minor == grown and minor == grown:
        shape = pieces.shape
        joined = (*shape[:grown], exchange.pieces, *shape[grown:])
        yield OrderChange.TRANSPOSE, TensorType(joined, type_.element)
        yield OrderChange.JOIN, made
    elif minor == grown or any(size != 1 for size in pieces.shape[:grown]):
        yield OrderChange.TRANSPOSE, made


class _Pieces:
    """The pieces that devices exchange. shape: of one. minor: the dimension in lanes."""

    def __init__(self, type_: TensorType, exchange: ExchangeInPieces) -> None:
        sizes = [size or 0 for size in type_.shape]
        cut, count = exchange.cut, exchange.pieces
        self.shape = (*sizes[:cut], sizes[cut] // count, *sizes[cut + 1 :])
        self.minor = least_padded(TensorType(self.shape, type_.element))[-1] if self.shape else 0
        self.split = TensorType((*sizes[:cut], count, *self.shape[cut:]), type_.element)
        self.type = TensorType((count, *self.shape), type_.element)
        self.flat = TensorType((count * prod(self.shape),), type_.element)
        is_long = prod(self.shape) >= LANES
        self.are_flat = is_long and measured(self.type, "tpu") >= _PADDING * measured(self.flat, "tpu")
