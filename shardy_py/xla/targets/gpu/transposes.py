"""Transposes that a kernel of XLA:GPU computes in tiles, by shared memory; others are read where they are.

    hero = tiled_hero(graph, kernel)

Source: openxla/xla, xla/service/gpu/ir_emission_utils.cc.
"""

from __future__ import annotations

from math import prod

from shardy_py.base.records import dataclass
from shardy_py.xla.targets.gpu.graph import TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.parts import bits

_SIDE, _SHORT_SIDE = 16, 8
"""The least elements of both sides of a tile, and of those of which many are in a row of both."""
_MANY = 64 * 128
"""The product of both sides from which on the shorter ones are tiled."""
_WORD = 64
"""The most bits of the elements that are side by side before and after a transpose, which move together."""
_LEAST_BITS = 512
"""The bits of the elements of which a tile has at least so many, if these move together."""
_MOST_OPERANDS = 3


@dataclass(frozen=True, slots=True)
class TiledTranspose:
    """A transpose as those that one kernel may compute have it: the result's shape, and the permutation."""

    shape: tuple[int, ...]
    order: tuple[int, ...]


def tiled_hero(graph: GpuGraph, kernel: Kernel) -> TiledTranspose | None:
    """Returns the one tiled transpose that a kernel ends with, before elementwise ops; None without one.

    Those of unknown order have no tiles here.
    """
    found: list[TiledTranspose] = []
    left, seen = [kernel.root], {kernel.root}
    while left:
        number = left.pop()
        if graph.kinds[number] == TRANSPOSE:
            tiled = _tiled(graph, number)
            found += [] if tiled is None else [tiled]
        elif graph.is_elementwise(number) and len(graph.reads[number]) <= _MOST_OPERANDS:
            own = dict.fromkeys(graph.reads[number])
            inner = [each for each in own if each in kernel.members and each not in seen]
            left += inner
            seen.update(inner)
    return found[0] if len(found) == 1 else None


def is_path(graph: GpuGraph, kernel: Kernel, value: int) -> bool:
    """Returns whether from a value that a kernel reads one path of elementwise ops leads to its result."""
    while value != kernel.root:
        users = [each for each in kernel.members if value in graph.reads[each]]
        if len(users) != 1:
            return False
        (value,) = users
        if not graph.is_elementwise(value) or len(graph.reads[value]) > _MOST_OPERANDS:
            return False
    return True


def is_of_unknown_order(graph: GpuGraph, number: int) -> bool:
    """Returns whether an op is a transpose of which it is not known how it moves dimensions."""
    type_ = graph.types[number]
    return graph.kinds[number] == TRANSPOSE and (type_ is None or len(graph.order_of(number)) != type_.rank)


def _tiled(graph: GpuGraph, number: int) -> TiledTranspose | None:
    """The transpose in its fewest dimensions, if it is computed in tiles."""
    type_, order = graph.types[number], graph.order_of(number)
    if type_ is None or len(order) != type_.rank:
        return None
    shape, order = grouped(tuple([size or 0 for size in type_.shape]), order)
    if len(order) < 2:
        return None
    given = [shape[order.index(dimension)] for dimension in range(len(order))]
    if order[-1] == len(order) - 1:
        word = bits(type_) * shape[-1]
        sides = min(given[-2], shape[-2])
        return TiledTranspose(shape, order) if word <= _WORD and word * sides >= _LEAST_BITS else None
    sides = given[-1], shape[-1]
    is_large = min(sides) >= _SHORT_SIDE and prod(sides) >= _MANY
    return TiledTranspose(shape, order) if min(sides) >= _SIDE or is_large else None


def grouped(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the shape of a result and a permutation without dimensions of one element, neighbours as one.

    >>> grouped((3, 1, 4, 5), (1, 0, 2, 3))
    ((60,), (0,))
    >>> grouped((4, 5, 2, 3), (2, 3, 0, 1))
    ((20, 6), (1, 0))
    """
    sizes, starts, last = list[int](), list[int](), -2
    kept = sorted(dimension for dimension, size in zip(order, shape, strict=True) if size != 1)
    for dimension, size in zip(order, shape, strict=True):
        if size == 1:
            continue
        place = kept.index(dimension)
        if place == last + 1 and sizes:
            sizes[-1] *= size
        else:
            sizes.append(size)
            starts.append(place)
        last = place
    ranks = {start: rank for rank, start in enumerate(sorted(starts))}
    return tuple(sizes), tuple([ranks[start] for start in starts])
