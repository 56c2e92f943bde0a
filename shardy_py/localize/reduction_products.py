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

from collections.abc import Sequence

from xdsl.ir import Operation

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
from shardy_py.sharding import Axes
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
    count = len(op.results)
    values, initial = operands_of(op)[:count], operands_of(op)[count:]
    source, target = reader.of(values[0]), reader.of(all_reduces[0].results[0])
    if source is None or target is None:
        return False
    mesh = mesh_of(source, meshes)
    dimensions: tuple[int, ...] = plain(op.properties["dimensions"])
    axes = tuple(axis for d in sorted(dimensions) for axis in source.dimensions[d].axes)
    along: list[Axes] = [plain(one.properties["reduction_axes"]) for one in all_reduces]
    if any(sort_and_merge(list(each), mesh) != sort_and_merge(list(axes), mesh) for each in along):
        return False
    manual = Manual.of(mesh, axes, (source, target))
    build = StablehloBuilder(op)
    starts = [
        build.dense(ranked_tensor((), element_of(value)), data)
        for value, data in zip(values, identities, strict=True)
    ]
    even = manual.even_shape(source, shape_of(values[0]))
    padding = StablehloBuilder(op, source)
    operands = [
        (padded_high(padding, value, even, start), source)
        for value, start in zip(values, starts, strict=True)
    ]
    shape = shape_of(op.results[0])
    results = [(resized(result, manual.even_shape(target, shape)), target) for result in op.results]
    combiners = [str(name).removeprefix("stablehlo.") for name in combiners_of(op)]

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        local = inner.build_for(target)
        types = [resized(result, manual.local_shape(target, shape)) for result in op.results]
        firsts = [inner.plain.dense(start.type, data) for start, data in zip(starts, identities, strict=True)]
        region = type(op.regions[0])()
        clone_region_into(op.regions[0], region, {})
        parts = local.insert("reduce", (*arguments, *firsts), types, (region,), dimensions=dimensions)
        is_large = mesh.device_count > LARGE_MESH
        groups = groups_by_axes(target.mesh, axes) if is_large else table(replica_groups(mesh, axes))
        return [
            local.insert(
                "all_reduce",
                (part,),
                (part.type,),
                (inner.plain.combining_region(name, element_of(part)),),
                replica_groups=groups,
                channel_handle={"handle": next(devices.channels), "type": 1},
                use_global_device_ids=True,
            ).results[0]
            for name, part in zip(combiners, parts.results, strict=True)
        ]

    made = manual_computation(op, manual, devices, operands, results, body)
    after = StablehloBuilder(op, target)
    for index, all_reduce in enumerate(all_reduces):
        value = cut_to(after, made[index], op.results[index].type)
        if not is_constant_of(initial[index], identities[index]):
            value = after.binary(combiners[index], value, after.broadcast(initial[index], shape))
        replace_by_values(all_reduce, (value,))
    ir.erase(op)
    return True
