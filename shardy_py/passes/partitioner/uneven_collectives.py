"""Replaces collectives whose parts do not line up: uneven dimensions that are sharded before and after.

A dimension of size 10 along "x"=4 has parts of 3, along "x"=4, "y"=2 parts of 2: no slice of the former are
the latter. Such a dimension is gathered whole, and sliced again.

    before  %1 = sdy.all_slice [{"y"}] %0 out_sharding=<@mesh, [{"x", "y"}]> : tensor<10xf32>
    after   %1 = sdy.all_gather [{"x"}] %0 out_sharding=<@mesh, [{}]> : tensor<10xf32>
            %2 = sdy.all_slice [{"x", "y"}] %1 out_sharding=<@mesh, [{"x", "y"}]> : tensor<10xf32>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.dialects import sdy
from shardy_py.dialects.sdy.syntax import REDUCTIONS
from shardy_py.errors import warn
from shardy_py.graph.movements import replace_by_values
from shardy_py.graph.op_errors import place_of
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.symbols import meshes_of
from shardy_py.graph.value_shardings import ShardingReader
from shardy_py.ir import find_ops, operands_of, place_before
from shardy_py.partition.collectives import AllGather, AllSlice, Collective
from shardy_py.partition.divisible import misaligned_dimensions
from shardy_py.partition.masks import Fill
from shardy_py.partition.steps import AllReduce, Step
from shardy_py.passes.communication_ops import step_op
from shardy_py.passes.partitioner.padding_masks import scalar_data
from shardy_py.passes.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge
from shardy_py.sharding.meshes import mesh_of

_CONCERNED = (sdy.AllSliceOp.name, sdy.AllGatherOp.name, sdy.AllToAllOp.name, sdy.ReduceScatterOp.name)


def realign_collectives(module: ModuleOp, reader: ShardingReader) -> None:
    """Replaces all such collectives, with a warning each."""
    meshes = meshes_of(module)
    for op in find_ops(module, *_CONCERNED):
        value, result = operands_of(op)[0], op.results[0]
        source, target = reader.of(value), reader.of(result)
        tensor = tensor_type(result.type)
        if source is None or target is None or tensor is None or None in tensor.shape:
            continue
        if 0 in tensor.shape:  # StableHLO has no collectives of tensors without elements
            build = StablehloBuilder(op, target)
            replace_by_values(op, (build.dense(result.type, scalar_data(Fill.ZERO, element_of(result))),))
            continue
        mesh = mesh_of(target, meshes)
        shape = cast("tuple[int, ...]", tensor.shape)
        if not misaligned_dimensions(shape, source, target, mesh):
            continue
        warn(
            f"'{op.name}' op on {list(shape)} gathers whole dimensions: parts of {source} and {target} "
            "do not line up; dimensions that the axes divide avoid this",
            place_of(op),
        )
        for step in _steps(op, source, target, mesh):
            new = step_op(step, value, op.location)
            place_before(new, op)
            value = new.results[0]
        replace_by_values(op, (value,))


def _steps(
    op: Operation, source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> Iterator[Step | Collective]:
    """A reduction, a gather of all dimensions that change, and their slices."""
    if isinstance(op, sdy.ReduceScatterOp):
        lists = cast("tuple[Axes, ...]", plain(op.properties["reduce_scatter_axes"]))
        axes = sort_and_merge([axis for dimension in lists for axis in dimension], mesh)
        reduction = op.properties.get("reduction_op")
        name = REDUCTIONS[cast(int, plain(reduction))] if reduction is not None else REDUCTIONS[0]
        yield AllReduce(source, axes, name)
    pairs = list(zip(source.dimensions, target.dimensions, strict=True))
    changed = [before.axes != after.axes for before, after in pairs]
    whole = tuple(
        DimensionSharding(is_closed=True) if is_changed else before
        for (before, _), is_changed in zip(pairs, changed, strict=True)
    )
    gathered = tuple(before.axes if c else () for (before, _), c in zip(pairs, changed, strict=True))
    sliced = tuple(after.axes if c else () for (_, after), c in zip(pairs, changed, strict=True))
    middle = replace(target, dimensions=whole)
    yield AllGather(middle, gathered)
    if any(sliced):
        yield AllSlice(target, sliced)
