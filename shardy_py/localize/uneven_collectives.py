"""Replaces collectives whose parts do not line up: uneven dimensions that are sharded before and after.

A dimension of size 10 along "x"=4 has parts of 3, along "x"=4, "y"=2 parts of 2: the latter are no slices of
the former, but of parts of 4 along "x", those of a dimension of size 16. So the collective becomes one of
padded tensors, and the pad before it, or the slice after it, moves elements between neighbours:

    before  %1 = sdy.all_slice [{"y"}] %0 out_sharding=<@mesh, [{"x", "y"}]> : tensor<10xf32>
    after   %1 = stablehlo.pad %0 ... {<@mesh, [{"x"}]>} : tensor<10xf32> -> tensor<16xf32>
            %2 = sdy.all_slice [{"y"}] %1 out_sharding=<@mesh, [{"x", "y"}]> : tensor<16xf32>
            %3 = stablehlo.slice %2 [0:10] {<@mesh, [{"x", "y"}]>} : tensor<16xf32> -> tensor<10xf32>

Without the option, and where such an exchange is not worthwhile, the dimension is gathered whole, and sliced
again.

Gathers of which most is padding (one row in four parts) become sums: each device adds zeros to what it has,
as XLA's partitioner does for a slice of one element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.localize.device_ids import DeviceCounts, next_channel
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.halo_exchange import DeviceNumbers, zero_of
from shardy_py.localize.padding_masks import scalar_data
from shardy_py.localize.permutation_windows import NOT_SHARDED, pad_windows, slice_windows
from shardy_py.localize.resolution import Resolution
from shardy_py.localize.window_exchange import Windowed, exchange_windows, unworthy
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import find_ops, operands_of, place_before
from shardy_py.mlir.movements import Insertion, inserting_for, note, replace_by_values
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized, shape_of
from shardy_py.mlir.symbols import Symbols, meshes_of
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.typed import op_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import REDUCTIONS, Identity, TensorType
from shardy_py.passes.export.communication_ops import step_op
from shardy_py.passes.options import PadForDivisibilityOptions, ResolvePermutationFactorsOptions
from shardy_py.reshard.collectives import AllGather, AllSlice, Collective
from shardy_py.reshard.divisible import misaligned_dimensions
from shardy_py.reshard.steps import AllReduce, ShardedToUnreduced, Step
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge, total_size
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.slices import local_shape

_CONCERNED = (sdy.AllSliceOp.name, sdy.AllGatherOp.name, sdy.AllToAllOp.name, sdy.ReduceScatterOp.name)


def realign_collectives(module: ModuleOp, reader: ShardingReader, options: PadForDivisibilityOptions) -> None:
    """Replaces all such collectives, with a warning for each that gathers whole dimensions."""
    meshes = meshes_of(module)
    state: Resolution | None = None
    for op in find_ops(module, *_CONCERNED):
        value, result = operands_of(op)[0], op.results[0]
        source, target = reader.of(value), reader.of(result)
        tensor = tensor_type(result.type)
        if source is None or target is None or tensor is None or None in tensor.shape:
            continue
        if 0 in tensor.shape:  # StableHLO has no collectives of tensors without elements
            build = StablehloBuilder(op, target)
            replace_by_values(op, (build.dense(result.type, scalar_data(Identity.ZERO, element_of(result))),))
            continue
        mesh = mesh_of(target, meshes)
        shape = cast("tuple[int, ...]", tensor.shape)
        misaligned = misaligned_dimensions(shape, source, target, mesh)
        sums = options.exchange_misaligned_parts and _is_mostly_padding(op, shape, source, target, mesh)
        if not (misaligned or sums):
            continue
        with inserting_for(op):
            if misaligned and options.exchange_misaligned_parts:
                state = state or _resolution(module, reader, options)
                if _exchange(op, misaligned, source, target, state):
                    continue
            if misaligned:
                reason = f"uneven parts of {list(shape)} in {source} and {target} do not line up"
                warn_whole(op, reason, (value,))
            for step in _steps(op, source, target, mesh) if misaligned else _summed(op, target, mesh):
                new = step_op(step, value, op.location)
                place_before(new, op)
                value = new.results[0]
        replace_by_values(op, (value,))


def _is_mostly_padding(
    op: Operation, shape: tuple[int, ...], source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> bool:
    """True if rings receive less for the sum of a gather's result than for its operands, padding included."""
    form = FORMATS.get(cast(TensorType, tensor_type(op.results[0].type)).element)
    if not isinstance(op, sdy.AllGatherOp) or target.unreduced_axes or (form is not None and form.is_power):
        return False
    gathered = prod(local_shape(source, mesh, shape)) * _size(plain(op.properties["gathering_axes"]), mesh)
    return 2 * prod(local_shape(target, mesh, shape)) < gathered


def _size(by_dimension: Iterable[Axes], mesh: Mesh) -> int:
    return prod(total_size(axes, mesh) for axes in by_dimension)


def _summed(op: Operation, target: TensorSharding, mesh: Mesh) -> Iterator[Step]:
    """The parts among zeros, and their sum."""
    by_dimension: tuple[Axes, ...] = plain(op.properties["gathering_axes"])
    axes = sort_and_merge([axis for dimension in by_dimension for axis in dimension], mesh)
    yield ShardedToUnreduced(replace(target, unreduced_axes=axes), by_dimension)
    yield AllReduce(target, axes)


def _resolution(module: ModuleOp, reader: ShardingReader, options: PadForDivisibilityOptions) -> Resolution:
    counts = DeviceCounts(options.replica_count, options.partition_count)
    windows = ResolvePermutationFactorsOptions(enable_windowed_halo_exchange=True)
    return Resolution(Symbols(module), reader, DeviceNumbers(next_channel(module), counts), windows)


def _exchange(
    op: Operation,
    misaligned: Sequence[int],
    source: TensorSharding,
    target: TensorSharding,
    state: Resolution,
) -> bool:
    """Makes `op` a collective of padded tensors; returns False if the exchanges are not worthwhile."""
    value, result = operands_of(op)[0], op.results[0]
    mesh, shape = mesh_of(target, state.meshes), shape_of(result)
    padded = list(shape)
    for dimension in misaligned:
        counts = (total_size(s.dimensions[dimension].axes, mesh) for s in (source, target))
        padded[dimension] = max(-(-shape[dimension] // count) * count for count in counts)
    before = StablehloBuilder(op, source)
    none = [0] * len(shape)
    high = [wanted - size for wanted, size in zip(padded, shape, strict=True)]
    filler = zero_of(before, value)
    larger = before.pad(value, filler, none, high)
    made = ir.build_operation(
        type(op), (larger,), (resized(result, padded),), dict(op.properties), dict(op.attributes), op.location
    )
    place_before(made, op)
    note(Insertion(made, op))
    smaller = StablehloBuilder(op, target).slice(made.results[0], none, shape)
    moves = (op_of(larger), pad_windows), (op_of(smaller), slice_windows)
    described = [(move, describe(move, state)) for move, describe in moves]
    reasons = [d if isinstance(d, str) else unworthy(d) for _, d in described]
    if any(reasons):
        for unused in (smaller, made.results[0], larger, filler):
            ir.erase(op_of(unused))
        return False
    replace_by_values(op, (smaller,))
    for move, description in described:
        if description is not NOT_SHARDED:
            exchange_windows(move, cast(Windowed, description), state)
    return True


def _steps(
    op: Operation, source: TensorSharding, target: TensorSharding, mesh: Mesh
) -> Iterator[Step | Collective]:
    """A reduction, a gather of all dimensions that change, and their slices."""
    if isinstance(op, sdy.ReduceScatterOp):
        lists: tuple[Axes, ...] = plain(op.properties["reduce_scatter_axes"])
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
