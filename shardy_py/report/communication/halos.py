"""Halos: the elements beyond its shard that a device needs of dimensions along which an op moves data.

A window over a sharded dimension, a shift, a reversal, a concatenation: such dimensions are permutation
factors of the op's rule. They stay sharded without any reshard, and the partitioner exchanges the missing
elements. Counted by the op's indexing maps, over-approximated by boxes: strided reads count with the gaps.

    [halo] = Halos(meshes, ShardingReader()).of(convolution)
    halo.operand, halo.axes, halo.bytes          0, (("x", 4),), 4096

Not here: collectives (`collect.py`), strides counted exactly (`hlo/analysis/communication.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from xdsl.ir import Operation

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import AxisSize
from shardy_py.indexing import IndexMap, Interval, bounds_of, extent
from shardy_py.indexing.layout import layout_bytes
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import record_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import OpRecord, indexing_maps
from shardy_py.propagation.rules import derive_rule
from shardy_py.sharding import DeviceSlices, FactorType, Mesh, ShardingRule, TensorSharding, device_slices
from shardy_py.sharding.meshes import resolve
from shardy_py.sharding.slices import MOST_LISTED

KIND = "halo_exchange"
_MOST_PARTS = 4096
Shardings = tuple[TensorSharding | None, ...]
_Part = tuple[tuple[Interval, ...], tuple[Interval, ...]]


@dataclass(frozen=True, slots=True)
class Halo:
    """The halo of an operand: its axes, and the bytes for the device that needs most."""

    operand: int
    axes: tuple[AxisSize, ...]
    bytes: int


class Halos:
    """The halos of the ops of a module, computed once for similar ops."""

    def __init__(self, meshes: Mapping[str, Mesh], reader: ShardingReader) -> None:
        self._meshes = meshes
        self._reader = reader
        self._rules: dict[int, tuple[ShardingRule | None, OpRecord]] = {}
        self._found: dict[tuple[object, ...], tuple[Halo, ...]] = {}

    def of(self, op: Operation) -> tuple[Halo, ...]:
        """Returns the halos of an op; none if its tensors are not sharded along dimensions that it moves."""
        if not op.results or not operands_of(op):
            return ()
        target = self._reader.of(op.results[0])
        if target is None or target.is_fully_replicated:
            return ()
        record = record_of(op)
        rule = self._moving_rule(record)
        if rule is None:
            return ()
        sources = tuple(map(self._reader.of, operands_of(op)))
        key = (id(record), target, *sources)
        if key not in self._found:
            mesh = resolve(target.mesh, self._meshes)
            self._found[key] = tuple(_halos(record, rule, sources, target, mesh))
        return self._found[key]

    def _moving_rule(self, record: OpRecord) -> ShardingRule | None:
        """Returns the rule of an op if it moves elements along a factor."""
        if id(record) not in self._rules:
            rule = derive_rule(record)
            moves = rule is not None and any(f.type is FactorType.PERMUTATION for f in rule.factors)
            self._rules[id(record)] = (rule if moves else None, record)
        return self._rules[id(record)][0]


def _halos(
    record: OpRecord, rule: ShardingRule, sources: Shardings, target: TensorSharding, mesh: Mesh
) -> Iterator[Halo]:
    maps = indexing_maps(record)
    result = record.results[0]
    if maps is None or result is None or mesh.device_count > MOST_LISTED:
        return
    for number, (index_map, type_) in enumerate(zip(maps[0], record.operands, strict=False)):
        if index_map is None or type_ is None:
            continue
        source = sources[number] or TensorSharding.fully_closed(target.mesh, type_.rank)
        moved = [
            any(rule.factors[f].type is FactorType.PERMUTATION for f in fs) for fs in rule.operands[number]
        ]
        names = {a.name for d, m in zip(source.dimensions, moved, strict=True) if m for a in d.axes}
        axes = tuple((axis.name, axis.size) for axis in mesh.axes if axis.name in names and axis.size > 1)
        if not axes:
            continue
        before, after = device_slices(source, mesh, type_.shape), device_slices(target, mesh, result.shape)
        lacking = _most_lacking(index_map, before, after, axes)
        if lacking:
            yield Halo(number, axes, layout_bytes(type_.element, (lacking,), "linear").unpadded)


def _most_lacking(
    index_map: IndexMap, before: DeviceSlices, after: DeviceSlices, axes: tuple[AxisSize, ...]
) -> int:
    """Returns the missing elements of the device with most; positions along other axes do not matter."""
    most = 0
    for held, computed in _parts(before, after, {name for name, _ in axes}):
        part = index_map.restricted(computed)
        if any(interval.size == 0 for interval in part.bounds.values()):
            continue
        whole = map(extent, before.shape)
        reached = (bounds_of(result, part.bounds) for result in part.results)
        needed = [a.intersect(b) for a, b in zip(reached, whole, strict=True)]
        kept = (a.intersect(b) for a, b in zip(needed, held, strict=True))
        most = max(most, prod(i.size for i in needed) - prod(i.size for i in kept))
    return most


def _parts(before: DeviceSlices, after: DeviceSlices, axes: set[str]) -> Iterator[_Part]:
    """Returns what devices hold before and compute, each pair once; at most so many, evenly spaced."""
    wide = [axis.name for axis in before.mesh.axes if axis.size > 1]
    chosen = tuple(slice(None) if name in axes else 0 for name in wide)
    sides = ((slices, dimension) for slices in (before, after) for dimension in range(len(slices.shape)))
    columns = [column[chosen].ravel() for slices, at in sides for column in slices.along(at)]
    rows = np.unique(np.stack(columns), axis=1).T
    rank = len(before.shape)
    for row in rows[:: -(-len(rows) // _MOST_PARTS)].tolist():
        parts = [Interval(start, start + size - 1) for start, size in zip(row[::2], row[1::2], strict=True)]
        yield tuple(parts[:rank]), tuple(parts[rank:])
