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

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import permutations
from math import prod
from typing import NamedTuple

from shardy_py.indexing.layout import element_type
from shardy_py.indexing.layout.formats import LANES, SUBLANES, WORD_BITS
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.local_sizes import least_padded, measured, tiled_bytes

_PADDING = 1.5
"""How much larger pieces may be in tiles than their elements, so that they are sent in tiles."""


class OrderChange(Enum):
    """How a value becomes another: in memory of its own, or where it is read, if that is an op."""

    RESHAPE = auto()
    TRANSPOSE = auto()
    COPY = auto()
    JOIN = auto()


class ExchangeInPieces(NamedTuple):
    """An exchange: the dimension that is split into a piece for each device, and the one that is gathered.

    is_own: whether XLA makes the dimension the most major one, which it does with exchanges of the program
    itself, of more than two dimensions.
    """

    cut: int
    grown: int
    pieces: int
    is_own: bool = False


def exchange_of(
    held: tuple[int, ...], made: tuple[int, ...], group_size: int = 0, dimension: int = 0
) -> ExchangeInPieces | None:
    """Returns the exchange between two shapes; None if it is of other dimensions than two, or of one.

    group_size, dimension: of an exchange of the program itself, the devices, and what they split.
    """
    is_own = group_size > 0
    if held == made and is_own and held and held[dimension] % group_size == 0:
        return ExchangeInPieces(dimension, dimension, group_size, is_own)
    pairs = [*enumerate(zip(held, made, strict=False))]
    cut = [d for d, (old, new) in pairs if old > new]
    grown = [d for d, (old, new) in pairs if old < new]
    if len(held) != len(made) or len(cut) != 1 or len(grown) != 1 or not made[cut[0]]:
        return None
    is_own = is_own and cut[0] > 0 and len(held) > 2
    return ExchangeInPieces(cut[0], grown[0], held[cut[0]] // made[cut[0]], is_own)


def sent_as(
    type_: TensorType, exchange: ExchangeInPieces, *, is_fixed: bool = True
) -> Iterator[tuple[OrderChange, TensorType]]:
    """Yields how a value is changed before it is exchanged, and what is made of it each time.

    is_fixed: whether its dimensions have the order with the least padding, as those of an argument.
    """
    pieces = _Pieces(type_, exchange)
    if exchange.is_own:
        if is_fixed and pieces.are_elsewhere:
            yield OrderChange.COPY, pieces.type
    elif pieces.minor == exchange.cut:
        if pieces.shape[exchange.cut] % LANES:
            yield OrderChange.RESHAPE, pieces.split
        yield OrderChange.TRANSPOSE, pieces.type
        yield OrderChange.TRANSPOSE, pieces.type
    else:
        if pieces.splits_tiles or (is_fixed and pieces.minor != least_padded(type_)[-1]):
            yield OrderChange.COPY, pieces.split
        if pieces.are_behind:
            # A copy of other dimensions in one that is read flat is a fusion, whose result is in VMEM.
            yield from ((OrderChange.TRANSPOSE, pieces.type) for _ in range(1 + pieces.are_flat))
    if pieces.are_flat:
        yield OrderChange.RESHAPE, pieces.flat


def received_as(
    type_: TensorType, made: TensorType, exchange: ExchangeInPieces, *, is_read_elementwise: bool = False
) -> Iterator[tuple[OrderChange, TensorType]]:
    """Yields how what is received becomes the result, and what is made of it each time.

    type_: of the value that is exchanged, made: of the result. is_read_elementwise: whether only an
    elementwise op of it alone reads the result, which XLA computes before pieces are put together.
    """
    pieces = _Pieces(type_, exchange)
    if pieces.are_flat:
        if element_type(type_.element).bits == WORD_BITS:
            yield OrderChange.COPY, pieces.flat
        yield OrderChange.RESHAPE, pieces.type
    grown, minor = exchange.grown, least_padded(made)[-1]
    if pieces.minor == grown and minor == grown:
        shape = pieces.shape
        is_tiled = not exchange.is_own and shape[grown] > LANES and shape[grown] % LANES == 0
        apart = TensorType((*shape[:grown], exchange.pieces, *shape[grown:]), type_.element)
        joined = made if is_tiled else apart
        yield OrderChange.TRANSPOSE, joined
        if is_read_elementwise or (pieces.are_flat and pieces.are_transposed):
            yield OrderChange.TRANSPOSE, joined
            yield OrderChange.COPY, joined
        if not is_tiled:
            yield OrderChange.JOIN, made
    elif minor == grown or any(size != 1 for size in pieces.shape[:grown]):
        if minor == grown and pieces.are_apart and not is_read_elementwise:
            yield OrderChange.COPY, pieces.type
        yield OrderChange.TRANSPOSE, made


def _bytes(type_: TensorType, order: Sequence[int]) -> int:
    """The bytes of a value with its dimensions in an order, major to minor."""
    return tiled_bytes(type_.element, tuple([type_.shape[d] or 0 for d in order]))


class _Pieces:
    """The pieces that devices exchange.

    shape: of one. minor: the dimension in lanes. splits_tiles: whether tiles have elements of several pieces.
    are_behind: whether other dimensions are more major than that which is split. are_transposed: whether the
    results of all devices are transposed twice. are_elsewhere: whether dimensions have another order.
    are_apart: whether another dimension is between that of the devices and the one that is gathered.
    """

    def __init__(self, type_: TensorType, exchange: ExchangeInPieces) -> None:
        sizes = [size or 0 for size in type_.shape]
        cut, count = exchange.cut, exchange.pieces
        self.shape = (*sizes[:cut], sizes[cut] // count, *sizes[cut + 1 :])
        self.are_transposed = cut > 0 and not exchange.is_own
        self.minor = least_padded(TensorType(self.shape, type_.element))[-1] if self.shape else 0
        self.split = TensorType((*sizes[:cut], count, *self.shape[cut:]), type_.element)
        self.type = TensorType((count, *self.shape), type_.element)
        self.flat = TensorType((count * prod(self.shape),), type_.element)
        self.are_elsewhere = self.are_apart = False
        second = least_padded(type_)[-2:-1] or (-1,)
        self.splits_tiles = second[0] == cut and self.shape[cut] != 1 and self.shape[cut] % SUBLANES > 0
        if exchange.is_own:
            others = [d for d in range(len(sizes)) if d != cut and sizes[d] != 1]
            kept = min(permutations(others), key=lambda order: _bytes(type_, (cut, *order)))
            self.are_elsewhere = _bytes(type_, (cut, *kept)) > measured(type_, "tpu")
            kept = others if self.are_elsewhere else kept
            self.are_apart = self.shape[cut] != 1 or kept[0] != exchange.grown
            self.type = TensorType((count, self.shape[cut], *(sizes[d] for d in kept)), type_.element)
            self.minor = kept[-1] if kept else cut
        self.are_behind = any(sizes[d] != 1 for d in range(cut) if d != self.minor)
        is_long = prod(self.shape) >= LANES
        self.are_flat = is_long and measured(self.type, "tpu") >= _PADDING * measured(self.flat, "tpu")
