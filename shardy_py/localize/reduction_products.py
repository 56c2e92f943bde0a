"""Reductions whose combiner sdy has no all-reduce for: products, and any other with an identity.

%a: [{"x"}]
before  %0 = stablehlo.reduce(%a init: %b) applies stablehlo.multiply across dimensions = [0]
        %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, []>
after   %1 = sdy.manual_computation(%a) manual_axes={"x"} {
          %2 = stablehlo.reduce(%arg0 init: 1) applies stablehlo.multiply across dimensions = [0]
          %3 = "stablehlo.all_reduce"(%2) { stablehlo.multiply }
        }
        %4 = stablehlo.multiply %1, %b
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, Region

from shardy_py.base.records import dataclass
from shardy_py.localize.halo_exchange import DeviceNumbers, LocalBuilder, Manual, manual_computation
from shardy_py.localize.identities import identity_data, is_constant_of
from shardy_py.localize.localizer import LARGE_MESH, groups_by_axes
from shardy_py.localize.resolution import cut_to, padded_high
from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects.encoding import table
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiners_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.sharding import Axes, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge
from shardy_py.sharding.meshes import Meshes, mesh_of


def identities_of(op: Operation) -> tuple[bytes, ...] | None:
    """The identity of each combiner; None if one has none, or if the op changes element types."""
    count, values = len(op.results), operands_of(op)
    found: list[bytes] = []
    for name, value, initial, result in zip(
        combiners_of(op), values[:count], values[count:], op.results, strict=True
    ):
        element = element_of(value)
        data = None if name is None else identity_data(name, element)
        if data is None or not element == element_of(initial) == element_of(result):
            return None
        found.append(data)
    return tuple(found)


def all_reduced(
    op: Operation,
    all_reduces: Sequence[Operation],
    identities: Sequence[bytes],
    reader: ShardingReader,
    meshes: Meshes,
    devices: DeviceNumbers,
) -> bool:
    """Replaces the all-reduces of a reduction by its own; returns False if they are along other axes."""
    source, target = reader.of(operands_of(op)[0]), reader.of(all_reduces[0].results[0])
    if source is None or target is None:
        return False
    mesh = mesh_of(source, meshes)
    dimensions: tuple[int, ...] = plain(op.properties["dimensions"])
    axes = tuple(axis for d in sorted(dimensions) for axis in source.dimensions[d].axes)
    along: list[Axes] = [plain(one.properties["reduction_axes"]) for one in all_reduces]
    if any(sort_and_merge(list(each), mesh) != sort_and_merge(list(axes), mesh) for each in along):
        return False
    reduction = _Reduction(op, identities, source, target, Manual.of(mesh, axes, (source, target)), devices)
    for all_reduce, value in zip(all_reduces, reduction.values(mesh, axes), strict=True):
        replace_by_values(all_reduce, (value,))
    ir.erase(op)
    return True


@dataclass(frozen=True, slots=True, eq=False)
class _Reduction:
    """A reduction along sharded dimensions: on each device of its part, then of the results of all devices.

    identities: of its combiners; padding, and the initial values of the parts, are made of them.
    source, target: the shardings of its operands and of its results.
    """

    op: Operation
    identities: Sequence[bytes]
    source: TensorSharding
    target: TensorSharding
    manual: Manual
    devices: DeviceNumbers

    @property
    def combiners(self) -> list[str]:
        """The ops that combine, as StableHLO names them."""
        return [str(name).removeprefix("stablehlo.") for name in combiners_of(self.op)]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each result."""
        return shape_of(self.op.results[0])

    def values(self, mesh: Mesh, axes: Axes) -> Iterator[Value]:
        """The results, combined with the initial values of the op where these are not neutral."""
        op, manual, target = self.op, self.manual, self.target
        count = len(op.results)
        parts, initial = operands_of(op)[:count], operands_of(op)[count:]
        operands = self._padded(parts)
        results = [(resized(each, manual.even_shape(target, self.shape)), target) for each in op.results]

        def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
            return self._all_reduced(inner, self._reduced(inner, arguments), mesh, axes)

        made = manual_computation(op, manual, self.devices, operands, results, body)
        after = StablehloBuilder(op, target)
        for value, result, start, data, combiner in zip(
            made, op.results, initial, self.identities, self.combiners, strict=True
        ):
            whole = cut_to(after, value, result.type)
            if is_constant_of(start, data):
                yield whole
            else:
                yield after.binary(combiner, whole, after.broadcast(start, self.shape))

    def _padded(self, values: Sequence[Value]) -> list[tuple[Value, TensorSharding]]:
        """The operands with neutral elements up to equal parts."""
        build = StablehloBuilder(self.op)
        starts = [
            build.dense(ranked_tensor((), element_of(value)), data)
            for value, data in zip(values, self.identities, strict=True)
        ]
        even = self.manual.even_shape(self.source, shape_of(values[0]))
        padding = StablehloBuilder(self.op, self.source)
        return [
            (padded_high(padding, value, even, start), self.source)
            for value, start in zip(values, starts, strict=True)
        ]

    def _reduced(self, inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        """The reductions of a device's parts."""
        op = self.op
        dimensions: tuple[int, ...] = plain(op.properties["dimensions"])
        types = [resized(each, self.manual.local_shape(self.target, self.shape)) for each in op.results]
        firsts = [
            inner.plain.dense(ranked_tensor((), element_of(part)), data)
            for part, data in zip(arguments, self.identities, strict=True)
        ]
        region = Region()
        clone_region_into(op.regions[0], region, {})
        local = inner.build_for(self.target)
        return local.insert("reduce", (*arguments, *firsts), types, (region,), dimensions=dimensions).results

    def _all_reduced(
        self, inner: LocalBuilder, parts: Sequence[Value], mesh: Mesh, axes: Axes
    ) -> list[Value]:
        """The results of all devices along the axes, combined."""
        is_large = mesh.device_count > LARGE_MESH
        groups = groups_by_axes(self.target.mesh, axes) if is_large else table(replica_groups(mesh, axes))
        return [
            inner.build_for(self.target)
            .insert(
                "all_reduce",
                (part,),
                (part.type,),
                (inner.plain.combining_region(name, element_of(part)),),
                replica_groups=groups,
                channel_handle={"handle": next(self.devices.channels), "type": 1},
                use_global_device_ids=True,
            )
            .results[0]
            for name, part in zip(self.combiners, parts, strict=True)
        ]
