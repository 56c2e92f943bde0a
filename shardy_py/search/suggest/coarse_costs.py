"""The strategies of the groups of a coarse model, and what they and reshards between them cost.

Not here: how groups are read (`coarse_groups.py`), the model (`coarse.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass
from shardy_py.search.suggest.coarse_groups import Ends, Positions, ValueGroup
from shardy_py.search.suggest.schemes import Spec

_STORED = 0.25
"""The part of the results of other ops than products that is read from and written to memory: the rest is
fused."""
_MOST_ENUMERATED = 5_000
"""Strategies of a group, beyond which those that shard fewest positions are taken."""
_MOST_PAIRS = 12_000_000
"""Pairs of strategies of all edges: as many costs are in memory."""
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Prices:
    """Bytes per second along axes of the mesh and of memory, operations per second, bytes of an element."""

    links: Mapping[str, float]
    memory: float
    flops: float
    element_bytes: float


@dataclass(frozen=True)
class Enumerated:
    """The strategies of each group; left_out: the groups of which there are more."""

    strategies: tuple[tuple[Positions, ...], ...]
    left_out: int


def enumerated(
    groups: Sequence[ValueGroup], edges: Mapping[Ends, int], coster: Coster, fixed: Mapping[int, Spec]
) -> Enumerated:
    """Returns all strategies of each group, unless their pairs are too many.

    Then those that shard fewest positions are taken, and of these the ones that take least time themselves.
    """
    found: list[list[Positions]] = []
    is_complete: list[bool] = []
    for group in groups:
        own = next((fixed[index] for index in group.members if index in fixed), None)
        listed, is_all = ([_fixed(own, coster.axes)], True) if own is not None else _all(group, coster)
        found.append(listed)
        is_complete.append(is_all)
    joined = {(one, other) for one, other, *_ in edges}
    most = max(map(len, found), default=1)
    while (
        most > 1 and sum(min(most, len(found[i])) * min(most, len(found[j])) for i, j in joined) > _MOST_PAIRS
    ):
        most = most * 3 // 4
    for n, (group, own) in enumerate(zip(groups, found, strict=True)):
        if len(own) > most:
            order = sorted(own, key=lambda each: (_positions(each), coster.seconds(group, each)))
            kept = {*order[:most]}
            found[n], is_complete[n] = [each for each in own if each in kept], False
    return Enumerated(tuple(map(tuple, found)), is_complete.count(False))


def _fixed(own: Spec, axes: Sequence[str]) -> Positions:
    return tuple(next((d for d, each in enumerate(own) if axis in each), None) for axis in axes)


def _all(group: ValueGroup, coster: Coster) -> tuple[list[Positions], bool]:
    """The positions of the axes that divide the sizes, and whether these are all."""
    useful = [p for p, size in enumerate(group.sizes) if any(size % n == 0 for n in coster.sizes)]
    axes = len(coster.sizes)
    if (len(useful) + 1) ** axes <= _MOST_ENUMERATED:
        return [s for s in product((None, *useful), repeat=axes) if _divides(group, s, coster.sizes)], True
    found: dict[Positions, None] = {}
    for each in _simplest_first(useful, axes):
        if each not in found and _divides(group, each, coster.sizes):
            if len(found) == _MOST_ENUMERATED:
                return [*found], False
            found[each] = None
    return [*found], True


def _simplest_first(positions: Sequence[int], axes: int) -> Iterator[Positions]:
    """All strategies, those that shard fewer positions first; some come again."""
    for count in range(min(axes, len(positions)) + 1):
        for chosen in combinations(positions, count):
            yield from product((None, *chosen), repeat=axes)


def _divides(group: ValueGroup, strategy: Positions, sizes: Sequence[int]) -> bool:
    used: dict[int, int] = {}
    for size, position in zip(sizes, strategy, strict=True):
        if position is not None:
            used[position] = used.get(position, 1) * size
    return all(group.sizes[position] % parts == 0 for position, parts in used.items())


def _positions(strategy: Positions) -> int:
    return len({*strategy} - {None})


class Coster:
    """The costs of strategies on a mesh; sizes: of its axes."""

    def __init__(self, prices: Prices, sizes: Mapping[str, int]) -> None:
        self.prices = prices
        self.axes = tuple(sizes)
        self.links = tuple(prices.links[axis] for axis in self.axes)
        self.sizes = tuple(sizes.values())

    def seconds(self, group: ValueGroup, strategy: Positions) -> float:
        """Returns the time of one product of a group, or of what reads an argument."""
        prices = self.prices
        made = self._local(group.elements, {*group.made}, strategy)
        parts = prod(n for n, p in zip(self.sizes, strategy, strict=True) if p is not None)
        seconds = max(group.flops / parts / prices.flops, made / prices.memory if group.flops else 0.0)
        for link, size, position in zip(self.links, self.sizes, strategy, strict=True):
            if position in group.summed:
                seconds += 2 * made * (size - 1) / size / link
        moved = sum(self._local(n, {*held}, strategy) for held, n in group.read.items())
        return seconds + _STORED * 2 * moved / prices.memory / max(1, group.count)

    def held(self, group: ValueGroup, strategy: Positions) -> int:
        """Returns the bytes on each device of what a group makes."""
        return int(group.count * self._local(group.elements, {*group.made}, strategy))

    def _local(self, elements: float, held: set[int | None], strategy: Positions) -> float:
        """The bytes on each device of a tensor with these positions."""
        parts = prod(n for n, p in zip(self.sizes, strategy, strict=True) if p is not None and p in held)
        return elements * self.prices.element_bytes / parts

    def reshards(
        self, ends: Ends, first: Sequence[Positions], second: Sequence[Positions]
    ) -> NDArray[np.float64]:
        """Returns the time of a reshard from each strategy of the first group to each of the second."""
        _, _, shape, positions, wanted = ends
        size = prod(shape) * self.prices.element_bytes
        one, held = np.unique(_places(positions, first), axis=0, return_inverse=True)
        other, targets = np.unique(_places(wanted, second), axis=0, return_inverse=True)
        return self._reshards(size, one, other)[np.ix_(held.ravel(), targets.ravel())]

    def _reshards(
        self, size: float, places: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The seconds of all-gathers and all-to-alls; slices take none."""
        parts = np.where(places == _NOWHERE, 1, np.array(self.sizes, np.int64)).prod(axis=1)
        local = np.repeat((size / parts)[:, None], len(targets), axis=1)
        seconds = np.zeros_like(local)
        for n, (link, of_axis) in enumerate(zip(self.links, self.sizes, strict=True)):
            held, wanted = places[:, n][:, None], targets[:, n][None, :]
            gathers = (held != _NOWHERE) & (wanted == _NOWHERE)
            exchanges = (held != _NOWHERE) & (wanted != _NOWHERE) & (held != wanted)
            seconds += np.where(gathers, local * (of_axis - 1) / link, 0.0)
            seconds += np.where(exchanges, local * (of_axis - 1) / of_axis / link, 0.0)
            local = np.where(gathers, local * of_axis, local)
            local = np.where((held == _NOWHERE) & (wanted != _NOWHERE), local / of_axis, local)
        return seconds


def _places(positions: Positions, strategies: Sequence[Positions]) -> NDArray[np.int64]:
    """By strategy, the dimension of a tensor that each axis shards; those that have positions of a group."""
    known = {position: n for n, position in enumerate(positions) if position is not None}
    rows = [[_NOWHERE if p is None else known.get(p, _NOWHERE) for p in each] for each in strategies]
    return np.array(rows, np.int64)
