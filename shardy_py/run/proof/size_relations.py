"""Relations between the sizes of dimensions: products, sums, slices, windows.

Each says whether new sizes satisfy it, and how one of its variables can be changed so that they do.

>>> half = SlicedSize(operand=0, result=1, start=32, limit=64)
>>> old, new = (64, 32), (10, 32)
>>> half.holds(old.__getitem__, new.__getitem__), list(half.repairs(old.__getitem__, new.__getitem__))
(False, [(1, 5), (0, 64), (0, 64)])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from math import prod
from typing import Any, Protocol, Self, cast

from shardy_py.base.records import dataclass

SizeOf = Callable[[int], int]
"""From a variable to its size."""


def position(place: int, old: int, new: int) -> int | None:
    """Returns a position after the size changed: in proportion, or as far from an end.

    >>> position(32, 64, 8), position(1, 64, 10), position(63, 64, 10), position(30, 64, 10)
    (4, 1, 9, None)
    """
    if place * new % old == 0:
        return place * new // old
    if place <= old - place:
        return place if place < new else None
    return new - (old - place) if old - place < new else None


class SizeRelation(Protocol):
    """A relation between variables; `old` and `new` are their sizes before and after."""

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables of the relation."""
        ...

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the new sizes satisfy the relation."""
        ...

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields variables with sizes, each of which alone makes it hold."""
        ...

    def renamed(self, names: SizeOf) -> Self:
        """Returns the relation between other variables."""
        ...


class _OfFields:
    """A relation whose fields `_named` are variables, or tuples of them."""

    _named: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[int, ...]:
        """The variables of the relation."""
        found: list[int] = []
        for name in self._named:
            found += _listed(getattr(self, name))
        return tuple(found)

    def renamed(self, names: SizeOf) -> Self:
        """Returns the relation between other variables."""
        assert {field.name for field in fields(cast(Any, self))} >= set(self._named)
        new: dict[str, int | tuple[int, ...] | None] = {}
        for name in self._named:
            value: int | tuple[int, ...] | None = getattr(self, name)
            renamed = tuple(map(names, _listed(value)))
            new[name] = renamed if isinstance(value, tuple) else next(iter(renamed), None)
        return cast(Self, replace(cast(Any, self), **new))


def _listed(value: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else value


@dataclass(frozen=True)
class ProductOfSizes(_OfFields):
    """`whole` is the product of the factors and a constant."""

    whole: int
    factors: tuple[int, ...]
    constant: int = 1
    _named = ("whole", "factors")

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the product is right."""
        return new(self.whole) == self.constant * prod(map(new, self.factors))

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields the product, or a factor."""
        yield self.whole, self.constant * prod(map(new, self.factors))
        for index, factor in enumerate(self.factors):
            others = self.constant * prod(map(new, self.factors[:index] + self.factors[index + 1 :]))
            if new(self.whole) % others == 0:
                yield factor, new(self.whole) // others


@dataclass(frozen=True)
class SumOfSizes(_OfFields):
    """`whole` is the sum of the parts."""

    whole: int
    parts: tuple[int, ...]
    _named = ("whole", "parts")

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the sum is right."""
        return new(self.whole) == sum(map(new, self.parts))

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields the sum, or a part, which may occur several times."""
        yield self.whole, sum(map(new, self.parts))
        for part in dict.fromkeys(self.parts):
            left = new(self.whole) - sum(new(other) for other in self.parts if other != part)
            if left % self.parts.count(part) == 0:
                yield part, left // self.parts.count(part)


@dataclass(frozen=True)
class AtMost(_OfFields):
    """`part` is the size of a slice at any offset of `whole`; one that leaves no choice stays such."""

    part: int
    whole: int
    _named = ("part", "whole")

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the slice fits, at several offsets if it did."""
        rooms = [sizes(self.whole) - sizes(self.part) for sizes in (old, new)]
        return rooms[1] >= 0 and (rooms[0] == 0) == (rooms[1] == 0)

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields slices in proportion, and the largest one."""
        yield self.part, max(1, new(self.whole) * old(self.part) // old(self.whole))
        yield self.part, new(self.whole) - (old(self.part) < old(self.whole))


@dataclass(frozen=True)
class SlicedSize(_OfFields):
    """`result` has the elements from `start` to `limit` of `operand`, each `stride`-th."""

    operand: int
    result: int
    start: int
    limit: int
    stride: int = 1
    _named = ("operand", "result")

    def bounds(self, old: int, new: int) -> tuple[int, int] | None:
        """Returns the start and the limit for another size of the operand."""
        start, limit = (position(place, old, new) for place in (self.start, self.limit))
        return None if start is None or limit is None else (start, limit)

    def _size(self, old: int, new: int) -> int:
        bounds = self.bounds(old, new)
        return 0 if bounds is None else -((bounds[0] - bounds[1]) // self.stride)

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the slice has that size."""
        return new(self.result) == self._size(old(self.operand), new(self.operand))

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields the result, or an operand of which it is the slice."""
        yield self.result, self._size(old(self.operand), new(self.operand))
        before, after, size = old(self.result), new(self.result), old(self.operand)
        for operand in (size * after // max(before, 1), size - (before - after) * self.stride):
            if operand > 0 and self._size(size, operand) == after:
                yield self.operand, operand


@dataclass(frozen=True)
class PaddedSize(_OfFields):
    """`result` is `operand` with padding: `low`, `high`, and `interior` between two elements."""

    operand: int
    result: int
    low: int
    high: int
    interior: int = 0
    _named = ("operand", "result")

    def edges(self, old: int, new: int) -> tuple[int, int] | None:
        """Returns the padding of a result of another size; without interior padding, edges move with it."""
        if self.interior or self.low < 0 or self.high < 0:
            return self.low, self.high
        low, end = position(self.low, old, new), position(old - self.high, old, new)
        return None if low is None or end is None else (low, new - end)

    def _operand(self, old: int, new: int) -> int | None:
        edges = self.edges(old, new)
        if edges is None:
            return None
        size, remainder = divmod(new - sum(edges) + self.interior, 1 + self.interior)
        return None if remainder else size

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether the operand and its padding fill the result."""
        return new(self.operand) == self._operand(old(self.result), new(self.result))

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields the operand, or a result."""
        operand = self._operand(old(self.result), new(self.result))
        if operand is not None:
            yield self.operand, operand
        size, before, after = old(self.result), old(self.operand), new(self.operand)
        for result in (size * after // max(before, 1), size - (before - after) * (1 + self.interior)):
            if result > 0 and self._operand(size, result) == after:
                yield self.result, result


@dataclass(frozen=True)
class Windows(_OfFields):
    """`result` is the number of windows over `operand`; `window` None: of `size` elements."""

    operand: int
    window: int | None
    result: int
    size: int
    stride: int
    padding: int
    base_dilation: int
    dilation: int
    _named = ("operand", "window", "result")

    def _room(self, sizes: SizeOf) -> int:
        """The last position at which a window may start."""
        window = self.size if self.window is None else sizes(self.window)
        covered = (window - 1) * self.dilation + 1
        return (sizes(self.operand) - 1) * self.base_dilation + 1 + self.padding - covered

    def holds(self, old: SizeOf, new: SizeOf) -> bool:
        """Returns whether that many windows fit."""
        room = self._room(new)
        return room >= 0 and new(self.result) == room // self.stride + 1

    def repairs(self, old: SizeOf, new: SizeOf) -> Iterator[tuple[int, int]]:
        """Yields the result, or an operand or window that leaves the same remainder."""
        yield self.result, self._room(new) // self.stride + 1
        wanted = (new(self.result) - 1) * self.stride + self._room(old) % self.stride
        missing = wanted - self._room(new)
        if missing % self.base_dilation == 0:
            yield self.operand, new(self.operand) + missing // self.base_dilation
        if self.window is not None and missing % self.dilation == 0:
            yield self.window, new(self.window) - missing // self.dilation
