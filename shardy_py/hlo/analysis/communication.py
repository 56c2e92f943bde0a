"""The elements that a device needs from other devices.

Result and operand are sharded over a mesh in equal parts. A device lacks the elements of the operand that its
part of the result reads and that it does not hold; if no device lacks any, the op needs no communication.

>>> from shardy_py.indexing import parse_map
>>> from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding
>>> rows = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)),))
>>> window = parse_map("(d0)[s0] -> (d0 + s0 - 1), domain: d0 in [0, 15], s0 in [0, 2], d0 + s0 in [1, 16]")
>>> found = communication([window], Mesh((MeshAxis("x", 4),)), result=rows, operand=rows, sizes=(16,))
>>> found.is_local, found.halo, found.most_elements, found.is_neighbourly
(False, ((1, 1),), 2, True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hlo.analysis.image import Image, image_of
from shardy_py.hlo.analysis.strided import Progression, StridedBox, between, merged
from shardy_py.indexing import Expr, IndexMap, Interval, constant, dim, extent, range_var
from shardy_py.sharding import AxisRef, FactorType, Mesh, ShardingRule, TensorSharding

MOST_DEVICES = 4096
_MOST_MARKED = 1 << 22
Shard = tuple[int, ...]


@dataclass(frozen=True)
class Communication:
    """The elements of an operand that the devices of a mesh need and do not hold.

    halo: for each dimension the largest distance below and above its own part that a device reads.
    most_elements: the greatest number of elements that one device lacks.
    partners: (a, b): a device that holds shard a needs elements of shard b; by shard index in each dimension.
    is_exact: False if `most_elements` and the partners are upper bounds.
    """

    halo: tuple[tuple[int, int], ...]
    most_elements: int
    partners: frozenset[tuple[Shard, Shard]]
    is_exact: bool = True

    @property
    def is_local(self) -> bool:
        """Returns whether no device needs elements of another; True is a proof."""
        return not self.most_elements

    @property
    def is_permutation(self) -> bool:
        """Returns whether each shard needs and is needed by at most one other: a collective permute."""
        sources = [source for _, source in self.partners]
        takers = [taker for taker, _ in self.partners]
        return len(set(sources)) == len(sources) and len(set(takers)) == len(takers)

    @property
    def is_neighbourly(self) -> bool:
        """Returns whether only adjacent shards are needed: a halo exchange."""
        return all(max(abs(a - b) for a, b in zip(*pair, strict=True)) <= 1 for pair in self.partners)


def communication(
    maps: Sequence[IndexMap],
    mesh: Mesh,
    *,
    result: TensorSharding,
    operand: TensorSharding,
    sizes: Sequence[int],
) -> Communication:
    """The communication for an operand of `sizes` by the maps to it; its sharding must divide it evenly.

    Runtime variables may have any value, so all elements they may reach are needed.
    """
    if mesh.device_count > MOST_DEVICES:
        raise ShardyError.unsupported(f"a mesh of {mesh.device_count} devices, more than {MOST_DEVICES},")
    maps = tuple(dict.fromkeys(maps))
    if any(len(m.results) != len(sizes) or len(m.dims) != result.rank for m in maps):
        raise ShardyError("maps, shardings and sizes have different ranks")
    result_sizes = [max((m.dims[d].high + 1 for m in maps), default=1) for d in range(result.rank)]
    taking = _Shards(result, mesh, result_sizes, rounds_up=True)
    holding = _Shards(operand, mesh, sizes)
    halo = [(0, 0)] * len(sizes)
    most, partners, is_exact = 0, set[tuple[Shard, Shard]](), True
    needed: dict[Shard, list[Image]] = {}
    seen: set[tuple[Shard, Shard]] = set()
    for device in product(*(range(axis.size) for axis in mesh.axes)):
        wanted, held = taking.shard(device), holding.shard(device)
        if (wanted, held) in seen:
            continue
        seen.add((wanted, held))
        if wanted not in needed:
            images = (image_of(m.restricted(taking.intervals(wanted))) for m in maps)
            needed[wanted] = [image for image in images if image.count]
        own = holding.box(held)
        lacking = _Lacking(needed[wanted], own, holding)
        halo = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(halo, lacking.halo, strict=True)]
        most, is_exact = max(most, lacking.count), is_exact and lacking.is_exact
        partners.update((held, source) for source in lacking.sources if source != held)
    return Communication(tuple(halo), most, frozenset(partners), is_exact)


class _Shards:
    """The parts of a tensor sharded over a mesh; rounds_up: the last parts may be smaller."""

    def __init__(
        self, sharding: TensorSharding, mesh: Mesh, sizes: Sequence[int], *, rounds_up: bool = False
    ) -> None:
        self.axes = [dimension.axes for dimension in sharding.dimensions]
        self.mesh = mesh
        self.counts = [prod(axis.size(mesh) for axis in axes) for axes in self.axes]
        if len(sizes) != len(self.axes):
            raise ShardyError.unexpected("sharding", expected=f"rank {len(sizes)}", got=f"{len(self.axes)}")
        for d, (size, count) in enumerate(zip(sizes, self.counts, strict=True)):
            if size % count and not rounds_up:
                raise ShardyError.unsupported(f"dimension {d} of size {size} in {count} uneven parts")
        self.parts = [-(-size // count) for size, count in zip(sizes, self.counts, strict=True)]

    def shard(self, device: tuple[int, ...]) -> Shard:
        """The index of a device's part in each dimension."""
        return tuple(self._index(axes, device) for axes in self.axes)

    def _index(self, axes: Sequence[AxisRef], device: tuple[int, ...]) -> int:
        index = 0
        for axis in axes:
            full, size = self.mesh.sizes[axis.name], axis.size(self.mesh)
            place = device[self.mesh.order[axis.name]]
            index = index * size + place // (full // (axis.pre_size * size)) % size
        return index

    def intervals(self, shard: Shard) -> tuple[Interval, ...]:
        return tuple(Interval(i * n, (i + 1) * n - 1) for i, n in zip(shard, self.parts, strict=True))

    def box(self, shard: Shard) -> StridedBox:
        return StridedBox(tuple(between(i.low, 1, i.high) for i in self.intervals(shard)))


class _Lacking:
    """The elements that one device needs and does not hold."""

    def __init__(self, needed: Sequence[Image], own: StridedBox, shards: _Shards) -> None:
        self.halo = [(0, 0)] * len(own.dimensions)
        self.count = 0
        self.sources: set[Shard] = set()
        self.is_exact = True
        beyond = [image for image in needed if not own.covers(image.box)]
        if not beyond:
            return
        around = merged([image.box for image in beyond])
        pairs = list(zip(own.dimensions, around.dimensions, strict=True))
        self.halo = [(max(0, a.start - b.start), max(0, b.last - a.last)) for a, b in pairs]
        self.is_exact = not any(image.is_bound for image in beyond)
        if prod(p.last - p.start + 1 for p in around.dimensions) <= _MOST_MARKED:
            self._mark(beyond, own, around, shards)
        else:
            self._bound(beyond, own, shards)

    def _mark(self, beyond: Sequence[Image], own: StridedBox, around: StridedBox, shards: _Shards) -> None:
        window = tuple(p.last - p.start + 1 for p in around.dimensions)
        mask: NDArray[np.bool_] = np.zeros(window, dtype=np.bool_)
        for image in beyond:
            _moved(image, around.offsets).mark(mask)
        inside = tuple(
            slice(max(0, a.start - o), max(0, a.last + 1 - o))
            for a, o in zip(own.dimensions, around.offsets, strict=True)
        )
        mask[inside] = False
        places = np.argwhere(mask) + np.array(around.offsets, dtype=np.int64)
        self.count = len(places)
        sources = np.unique(places // np.array(shards.parts, dtype=np.int64), axis=0)
        self.sources = {tuple(map(int, shard)) for shard in sources}

    def _bound(self, beyond: Sequence[Image], own: StridedBox, shards: _Shards) -> None:
        boxes = [image.box for image in beyond]
        self.count = sum(box.count - box.intersect(own).count for box in boxes)
        self.is_exact &= len(boxes) == 1 and beyond[0].is_box
        for box in boxes:
            rows = [
                range(p.start // part, p.last // part + 1)
                for p, part in zip(box.dimensions, shards.parts, strict=True)
            ]
            self.sources.update(s for s in product(*rows) if shards.box(s).intersect(box).count)


def _moved(image: Image, offsets: Sequence[int]) -> Image:
    """The image with `offsets` subtracted from its indices."""
    lines = (
        Progression(p.start - o, p.step, p.count) for p, o in zip(image.box.dimensions, offsets, strict=True)
    )
    clouds = tuple(
        (dims, points - np.array([offsets[d] for d in dims], dtype=np.int64)) for dims, points in image.clouds
    )
    return Image(StridedBox(tuple(lines)), clouds, image.is_bound)


def rule_maps(rule: ShardingRule, operand: int, result: int = 0) -> IndexMap:
    """The map from a result to an operand that a sharding rule implies.

    Factors of the result are coordinates; the others are ranges, as are factors that must be replicated or
    along which elements move.

    >>> print(rule_maps(ShardingRule.identity((4, 8)), 0))
    (d0, d1) -> (d0, d1),
    domain:
    d0 in [0, 3],
    d1 in [0, 7]
    """
    sizes = rule.factor_sizes
    at: dict[int, Expr] = {}
    dims: list[Interval] = []
    for d, factors in enumerate(rule.results[result]):
        rest = prod(sizes[f] for f in factors)
        dims.append(extent(rest))
        for number, factor in enumerate(factors):
            rest //= sizes[factor]
            digit = dim(d) // rest
            at[factor] = digit % sizes[factor] if number else digit
    moved = {FactorType.NEED_REPLICATION, FactorType.PERMUTATION}
    ranges: list[Interval] = []
    results: list[Expr] = []
    for factors in rule.operands[operand]:
        index = constant(0)
        for factor in factors:
            if factor not in at or rule.factors[factor].type in moved:
                at = {**at, factor: range_var(len(ranges))}
                ranges.append(extent(sizes[factor]))
            index = index * sizes[factor] + at[factor]
        results.append(index)
    return IndexMap(tuple(results), tuple(dims), tuple(ranges)).tidied


def rule_communication(
    rule: ShardingRule, mesh: Mesh, shardings: Mapping[str, Sequence[TensorSharding]]
) -> tuple[Communication, ...]:
    """The communication for each operand; shardings: of "operands" and "results"."""
    communications: list[Communication] = []
    for number, sharding in enumerate(shardings["operands"]):
        sizes = [prod(rule.factor_sizes[f] for f in factors) for factors in rule.operands[number]]
        each = [
            communication([rule_maps(rule, number, r)], mesh, result=of, operand=sharding, sizes=sizes)
            for r, of in enumerate(shardings["results"])
        ]
        communications.append(max(each, key=lambda c: c.most_elements))
    return tuple(communications)
