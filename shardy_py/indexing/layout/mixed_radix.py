"""Pairs of views of a logical array and its buffer with the same elements, between which numpy copies.

Tiling splits each physical dimension into digits of a mixed-radix number (8 rows in tiles of 4 and 2: row 5
is 1, 0, 1) and reorders the digits. A range of a dimension is a few boxes of digits, so a whole array is
copied in a few assignments, without an intermediate array of padded size. Layouts whose later tiles join
dimensions or exceed the tiles before have no digits; `pack.py` runs steps for these.

>>> boxes(5, (2, 2, 2))
(Box(start=0, ranges=((0, 1), (0, 2), (0, 2))), Box(start=4, ranges=((1, 2), (0, 1), (0, 1))))
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.placement import BufferPlacement

if TYPE_CHECKING:
    from shardy_py.base.arrays import AnyArray

Pair: TypeAlias = "tuple[AnyArray, AnyArray]"
"""Elements of an array and their places in its buffer: views of one shape."""

_FEW = 16
"""The most values of a digit for which each value is copied by itself."""
_SLAB_BYTES = 1 << 20
"""The bytes copied at once: they stay in a core's cache between reading and writing."""


class RadixDigit(NamedTuple):
    """One digit: its joined dimension, the weight of 1 in it, and the number of its values (2 or more)."""

    dimension: int
    weight: int
    size: int


class Box(NamedTuple):
    """Consecutive indices from `start` on, as the range of each digit's values, major first."""

    start: int
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DigitOrder:
    """The order of the digits of all dimensions in the buffer.

    joined: the sizes of the physical dimensions, after joins of the first tile.
    order: the digits in the order of the buffer, major to minor.
    """

    joined: tuple[int, ...]
    order: tuple[RadixDigit, ...]

    def digits(self, dimension: int) -> tuple[RadixDigit, ...]:
        """The digits of one joined dimension, the major one first."""
        own = (digit for digit in self.order if digit.dimension == dimension)
        return tuple(sorted(own, key=lambda digit: -digit.weight))


@SESSION.cache(4096)
def digit_order(placement: BufferPlacement) -> DigitOrder | None:
    """The digits of a layout; None if a later tile joins dimensions or pads, or if there are no elements."""
    if not prod(placement.dimensions):
        return None
    joined = placement.levels[0].joined if placement.levels else placement.physical_dimensions
    order = [RadixDigit(i, 1, size) for i, size in enumerate(joined)]
    for number, level in enumerate(placement.levels):
        if number and (any(len(group) > 1 for group in level.groups) or len(level.joined) != len(order)):
            return None
        split = list(zip(order[level.kept :], level.counts, level.tile, strict=True))
        if number and any(digit.size % tile for digit, _, tile in split):
            return None
        outer = (RadixDigit(digit.dimension, digit.weight * tile, count) for digit, count, tile in split)
        inner = (RadixDigit(digit.dimension, digit.weight, tile) for digit, _, tile in split)
        order = [*order[: level.kept], *outer, *inner]
    return DigitOrder(joined, tuple(digit for digit in order if digit.size > 1))


def element_views(digits: DigitOrder, array: AnyArray, tiled: AnyArray) -> Iterator[Pair]:
    """Pairs of views of one shape, of the array and of the buffer, with the same elements.

    Together they cover the array once. Their dimensions have the order of the buffer.

    array: [*digits.joined]. tiled: the buffer, [sizes of digits.order].
    """
    by_dimension = [digits.digits(i) for i in range(len(digits.joined))]
    position = {digit: at for at, digit in enumerate(digit for own in by_dimension for digit in own)}
    order = [position[digit] for digit in digits.order]
    radices = [tuple(digit.size for digit in own) for own in by_dimension]
    for chosen in product(*map(boxes, digits.joined, radices)):
        ranges = [pair for _, inner in chosen for pair in inner]
        # The ellipsis makes the index of an array without dimensions a view.
        part = (..., *(slice(start, start + prod(b - a for a, b in inner)) for start, inner in chosen))
        split = array[part].reshape([stop - start for start, stop in ranges]).transpose(order)
        yield split, tiled[(..., *(slice(*ranges[at]) for at in order))]


def padding_views(digits: DigitOrder, tiled: AnyArray) -> Iterator[AnyArray]:
    """Views of the buffer that cover its padding, some of it twice. tiled: as in `element_views`."""
    for dimension, size in enumerate(digits.joined):
        own = digits.digits(dimension)
        for ranges in _boxes_above(size, tuple(digit.size for digit in own)):
            chosen = dict(zip(own, ranges, strict=True))
            yield tiled[tuple(slice(*chosen[d]) if d in chosen else slice(None) for d in digits.order)]


def boxes(size: int, radices: tuple[int, ...]) -> tuple[Box, ...]:
    """The numbers below `size` as boxes. radices: of the digits, major first, of product `size` or more."""
    if size == prod(radices):
        return (Box(0, tuple((0, radix) for radix in radices)),)
    unit = prod(radices[1:])
    whole, rest = divmod(size, unit)
    full = (Box(0, ((0, whole), *((0, radix) for radix in radices[1:]))),) if whole else ()
    partly = boxes(rest, radices[1:]) if rest else ()
    return full + tuple(Box(whole * unit + start, ((whole, whole + 1), *inner)) for start, inner in partly)


def _boxes_above(size: int, radices: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    """Ranges of digits that cover the numbers that are at least `size`."""
    if size == prod(radices):
        return []
    whole, rest = divmod(size, prod(radices[1:]))
    partly = _boxes_above(rest, radices[1:]) if rest else []
    above = [((whole, whole + 1), *ranges) for ranges in partly]
    first = whole + (rest > 0)
    if first < radices[0]:
        above.append(((first, radices[0]), *((0, radix) for radix in radices[1:])))
    return above


def slabs(pair: Pair) -> Iterator[Pair]:
    """A pair in parts of about `_SLAB_BYTES`, split along the major digits."""
    elements, places = pair
    if places.nbytes <= _SLAB_BYTES or (elements.flags.c_contiguous and places.flags.c_contiguous):
        yield pair
        return
    count = _SLAB_BYTES * len(places) // places.nbytes
    for start in range(0, len(places), max(count, 1)):
        if count:
            yield elements[start : start + count], places[start : start + count]
        else:
            yield from slabs((elements[start], places[start]))


def by_value(pair: Pair) -> Iterator[Pair]:
    """A pair split by the values of the last digit if they are few.

    numpy's innermost loop runs along the last digit of the buffer and is slow if that is short.
    """
    elements, places = pair
    if places.ndim < 2 or not places.shape[-1] <= _FEW <= places.shape[-2]:
        yield pair
        return
    for value in range(places.shape[-1]):
        yield elements[..., value], places[..., value]
