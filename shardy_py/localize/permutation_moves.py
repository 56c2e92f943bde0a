"""Pads, slices and reversals along sharded dimensions, as Shardy resolves them.

Shardy ignores strides of slices, and pads what lies beyond the ends with zeros only; `permutation_windows.py`
is right for those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.deferred import np
from shardy_py.localize.arithmetic.halo import DimensionReads, is_wide, shardy_exchange, shifted_pairs
from shardy_py.localize.halo_exchange import LocalBuilder, Manual, manual_computation, zero_of
from shardy_py.localize.resolution import Resolution, cut_to, padded_high, parts_of
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import PadOp
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, resized, shape_of
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.reshard.device_groups import device_ids
from shardy_py.reshard.divisible import divisible_shape
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.slices import axis_index, axis_stride, listed


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of an attribute of an op."""
    found: tuple[int, ...] = tuple(plain(op.properties[name]))  # pyright: ignore
    return found


def integer(op: Operation, name: str) -> int:
    """The integer of an attribute of an op."""
    found: int = plain(op.properties[name])  # pyright: ignore
    return found


def result_shape(op: Operation) -> tuple[int, ...]:
    """The shape of the first result."""
    return shape_of(op.results[0])


# ---------------------------------------------------------------------- local dimensions


def is_local_pad(
    op: Operation, sharding: TensorSharding, dimension: int, state: Resolution, *, with_padding: bool = False
) -> bool:
    """True if each part of a padded dimension has elements of the same part of the operand only.

    with_padding: also where the elements are those that make parts of one size, as Shardy does not.
    """
    mesh = state.symbols.mesh(sharding.mesh)
    assert mesh is not None
    reads = pad_reads(op, parts_of(sharding, mesh))[dimension]
    if reads.parts <= 1:
        return True
    if reads.dilation != 1:
        return False
    part = listed(reads.parts)
    start = part * reads.part_out - reads.low
    first = np.maximum(start, 0)
    size = reads.part_in * reads.parts if with_padding else reads.size_in
    last = np.minimum(start + reads.part_out - 1, size - 1)
    is_own = (first // reads.part_in == part) & (last // reads.part_in == part)
    return bool(np.all(is_own | (first > last)))


def is_local_slice(op: Operation, sharding: TensorSharding, dimension: int, state: Resolution) -> bool:
    """True if a slice keeps the start of a dimension, and each part its size."""
    mesh = state.symbols.mesh(sharding.mesh)
    assert mesh is not None
    reads = slice_reads(op, parts_of(sharding, mesh))[dimension]
    if reads.parts <= 1:
        return True
    starts, strides = integers(op, "start_indices")[dimension], integers(op, "strides")[dimension]
    return starts == 0 and strides == 1 and reads.part_in == reads.part_out


def is_local_update(op: Operation, sharding: TensorSharding, dimension: int, state: Resolution) -> bool:
    """True if an update lies in one part: it has one element, or starts at a constant and fits there."""
    if not Behaviour.LOCAL_UPDATES_STAY.holds:
        return False
    mesh = state.symbols.mesh(sharding.mesh)
    assert mesh is not None
    given, update, *starts = operands_of(op)
    parts, size = parts_of(sharding, mesh)[dimension], shape_of(given)[dimension]
    length, part = shape_of(update)[dimension], -(-size // parts)
    if parts <= 1 or length == 1:
        return True
    constant = constant_of(starts[dimension])
    if constant is None:
        return False
    start: int = next(iter(constant.properties["value"].get_values()))  # pyright: ignore
    start = min(max(start, 0), size - length)
    return start // part == (start + length - 1) // part


# ---------------------------------------------------------------------- pads and slices


def pad_reads(op: Operation, parts: list[int]) -> list[DimensionReads]:
    """The elements that a pad reads along each dimension."""
    sizes = zip(parts, shape_of(operands_of(op)[0]), result_shape(op), strict=True)
    lows, interiors = integers(op, "edge_padding_low"), integers(op, "interior_padding")
    return [
        DimensionReads(*size, low, interior + 1)
        for size, low, interior in zip(sizes, lows, interiors, strict=True)
    ]


def slice_reads(op: Operation, parts: list[int]) -> list[DimensionReads]:
    """The elements that a slice without strides reads along each dimension."""
    sizes = zip(parts, shape_of(operands_of(op)[0]), result_shape(op), strict=True)
    starts, strides = integers(op, "start_indices"), integers(op, "strides")
    return [
        DimensionReads(*size, -start, stride=stride)
        for size, start, stride in zip(sizes, starts, strides, strict=True)
    ]


def exchange_pad(op: Operation, state: Resolution) -> bool:
    """Exchanges the sharded dimensions of a pad, then pads the others."""
    padding = operands_of(op)[1]

    def pad_rest(inner: LocalBuilder, local: Value, local_padding: Value) -> Value:
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        parts = parts_of(inner.sharding, inner.mesh)
        low, high, interior = (
            [0 if count > 1 else size for size, count in zip(integers(op, name), parts, strict=True)]
            for name in names
        )
        if not any((*low, *high, *interior)):
            return local
        return inner.build.pad(local, local_padding, low, high, interior)

    return _exchange(op, state, pad_reads, pad_rest, padding)


def exchange_slice(op: Operation, state: Resolution) -> bool:
    """Exchanges the sharded dimensions of a slice, then slices the others."""

    def slice_rest(inner: LocalBuilder, local: Value, _: Value) -> Value:
        parts, sizes = parts_of(inner.sharding, inner.mesh), shape_of(local)
        starts, limits = integers(op, "start_indices"), integers(op, "limit_indices")
        first = [0 if count > 1 else start for start, count in zip(starts, parts, strict=True)]
        last = [size if count > 1 else limit for limit, size, count in zip(limits, sizes, parts, strict=True)]
        strides = [1] * len(sizes)
        if Behaviour.EXCHANGED_SLICES_KEEP_STRIDES.holds:
            given = zip(integers(op, "strides"), parts, strict=True)
            strides = [1 if count > 1 else stride for stride, count in given]
        if not any(first) and last == list(sizes) and max(strides) == 1:
            return local
        return inner.build.slice(local, first, last, strides)

    return _exchange(op, state, slice_reads, slice_rest, None)


def _exchange(
    op: Operation,
    state: Resolution,
    reads_of: Callable[[Operation, list[int]], list[DimensionReads]],
    rest: Callable[[LocalBuilder, Value, Value], Value],
    padding: Value | None,
) -> bool:
    """Exchanges what an op reads along each sharded dimension; returns False if that is all of one.

    rest: what the op does along the others. padding: a scalar; None: zero.
    """
    value = operands_of(op)[0]
    found = state.sharded(value)
    if found is None:
        return True
    sharding, mesh = found
    parts = parts_of(sharding, mesh)
    in_place_only = Behaviour.POSITIONS_ARE_NARROW.holds
    sharded = {dimension: reads for dimension, reads in enumerate(reads_of(op, parts)) if reads.parts > 1}
    exchanges = {dim: shardy_exchange(reads) for dim, reads in sharded.items()}
    needed = {
        dim: found.exchange
        for dim, found in exchanges.items()
        if found.is_needed or (in_place_only and not sharded[dim].is_in_place)
    }
    is_padded = op.name == PadOp.name
    if not any(exchanges[dim].is_needed or sharded[dim].dilation > 1 or not is_padded for dim in needed):
        return True
    if any(is_wide(exchange, parts[dimension]) for dimension, exchange in needed.items()):
        return False
    build = StablehloBuilder(op, sharding)
    even = padded_high(build, value, divisible_shape(shape_of(value), sharding, mesh), padding)
    axes = tuple(axis for dimension in exchanges for axis in sharding.dimensions[dimension].axes)
    scalar = TensorSharding(sharding.mesh, ())

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        local, local_padding = arguments
        for dimension, exchange in needed.items():
            axes = sharding.dimensions[dimension].axes
            local = inner.exchange(local, exchange, dimension, axes, local_padding)
        return [rest(inner, local, local_padding)]

    filler = zero_of(StablehloBuilder(op), value) if padding is None else padding
    (result,) = manual_computation(
        op,
        Manual.of(mesh, axes, (sharding,)),
        state.devices,
        [(even, sharding), (filler, scalar)],
        [(resized(value, divisible_shape(result_shape(op), sharding, mesh)), sharding)],
        body,
    )
    replace_by_values(op, (cut_to(build, result, op.results[0].type),))
    return True


# ---------------------------------------------------------------------- reversals


def reverse_mesh(op: Operation, state: Resolution) -> bool:
    """Reverses each part, on a mesh with reversed devices, and reshards to the mesh of the operand.

    Uneven dimensions are padded, and shifted so that the padding is in front of the elements. In JAX 0.10 a
    reshard to the mesh with reversed devices comes before, and the result is on the mesh of the operand.
    """
    value, result = operands_of(op)[0], op.results[0]
    found = state.sharded(value)
    if found is None:
        return True
    sharding, mesh = found
    wanted = sharding if state.has_reversals_only else state.reader.of(result)
    if wanted is None:
        return False
    parts = parts_of(sharding, mesh)
    reversed_dimensions = [dim for dim in integers(op, "dimensions") if parts[dim] > 1]
    if not reversed_dimensions:
        return True
    axes = tuple(axis for dim in sorted(reversed_dimensions) for axis in sharding.dimensions[dim].axes)
    shape = list(shape_of(value))
    even = divisible_shape(tuple(shape), sharding, mesh)
    shifts = {dim: even[dim] - shape[dim] for dim in sorted(reversed_dimensions) if even[dim] > shape[dim]}
    is_before = state.has_reversals_only
    if is_before and any(amount * parts[dim] > even[dim] for dim, amount in shifts.items()):
        return False
    for dimension in shifts:
        shape[dimension] = even[dimension]
    build = StablehloBuilder(op, sharding)
    if shifts:
        shifted = _shifted_by_less if is_before else _shifted
        value = shifted(padded_high(build, value, shape, None), shifts, op, state)
    name = sharding.mesh if isinstance(sharding.mesh, str) else "mesh"
    reversed_name = state.mesh_named(with_reversed_axes(mesh, axes), f"{name}_reversed", op)
    on_reversed = replace(sharding, mesh=reversed_name)
    dimensions = integers(op, "dimensions")
    if is_before:
        there = _resharded(value, on_reversed, op)
        made = build.one("reverse", (there,), value.type, dimensions=dimensions)
    else:
        made = StablehloBuilder(op, on_reversed).one("reverse", (value,), value.type, dimensions=dimensions)
        made = _resharded(made, wanted, op)
    replace_by_values(op, (cut_to(build, made, result.type),))
    return True


def _resharded(value: Value, sharding: TensorSharding, before: Operation) -> Value:
    reshard = identity_op(sdy.ReshardOp, value, sharding, before.location)
    ir.place_before(reshard, before)
    return reshard.results[0]


def with_reversed_axes(mesh: Mesh, axes: Axes) -> Mesh:
    """The mesh with the order of devices along `axes` reversed.

    >>> from shardy_py.sharding import AxisRef
    >>> print(with_reversed_axes(Mesh.of(x=2, y=2), (AxisRef("y"),)))
    <["x"=2, "y"=2], device_ids=[1, 0, 3, 2]>
    """
    positions = listed(mesh.device_count)
    for axis in axes:
        last = axis.size(mesh) - 1
        positions = positions + (last - 2 * axis_index(mesh, axis, positions)) * axis_stride(mesh, axis)
    ids = device_ids(mesh)[positions]
    in_order = np.array_equal(ids, listed(mesh.device_count))
    return replace(mesh, device_ids=() if in_order else tuple(ids.tolist()))


def _shifted(value: Value, shifts: dict[int, int], op: Operation, state: Resolution) -> Value:
    """Moves all elements towards higher parts, by so many along each dimension."""
    found = state.sharded(value)
    assert found is not None
    sharding, mesh = found
    axes = tuple(axis for dimension in shifts for axis in sharding.dimensions[dimension].axes)

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        local = arguments[0]
        for dimension, amount in shifts.items():
            local = _shifted_part(inner, local, dimension, amount)
        return [local]

    manual = Manual.of(mesh, axes, (sharding,))
    operands = [(value, sharding)]
    return manual_computation(op, manual, state.devices, operands, [(value.type, sharding)], body)[0]


def _shifted_part(inner: LocalBuilder, local: Value, dimension: int, amount: int) -> Value:
    """A part after a shift: the end of one part before it, and the start of the next."""
    sizes = shape_of(local)
    hops, rest = divmod(amount, sizes[dimension])
    axes = inner.sharding.dimensions[dimension].axes
    near, far = (_received(inner, local, axes, shift) for shift in (hops, hops + 1))
    starts, limits = [0] * len(sizes), list(sizes)
    starts[dimension] = limits[dimension] = sizes[dimension] - rest
    end = inner.build.slice(far, starts, sizes)
    start = inner.build.slice(near, [0] * len(sizes), limits)
    return inner.build.concatenate((end, start), dimension)


def _received(inner: LocalBuilder, local: Value, axes: Axes, shift: int) -> Value:
    if not shift:
        return local
    pairs = shifted_pairs(inner.mesh, axes, shift)
    if not len(pairs):
        return inner.build.broadcast(zero_of(inner.plain, local), shape_of(local))
    return inner.permute(local, pairs, inner.build)


# ---------------------------------------------------------------------- reversals in JAX 0.10


def _shifted_by_less(value: Value, shifts: dict[int, int], op: Operation, state: Resolution) -> Value:
    """Moves all elements towards higher parts, by less than a part along each dimension.

    Only what moves is sent, between the devices of a mesh of the manual axes alone.
    """
    found = state.sharded(value)
    assert found is not None
    sharding, mesh = found
    names = {axis.name for dimension in shifts for axis in sharding.dimensions[dimension].axes}
    manual = Manual(mesh, tuple(axis.name for axis in mesh.axes if axis.name in names))
    manual_mesh = Mesh(tuple(axis for axis in mesh.axes if axis.name in names))

    def shifted(inner: LocalBuilder, local: Value, dimension: int, amount: int) -> Value:
        sizes, starts = list(shape_of(local)), [0] * len(shape_of(local))
        kept = starts[dimension] = sizes[dimension] - amount
        end = inner.build.slice(local, starts, sizes) if kept else local
        pairs = shifted_pairs(manual_mesh, sharding.dimensions[dimension].axes, 1)
        table = state.devices.tables.of(pairs)
        received = inner.build.one("collective_permute", (end,), end.type, source_target_pairs=table)
        if not kept:
            return received
        sizes[dimension] = kept
        return inner.build.concatenate(
            (received, inner.build.slice(local, [0] * len(sizes), sizes)), dimension
        )

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        local = arguments[0]
        for dimension, amount in shifts.items():
            local = shifted(inner, local, dimension, amount)
        return [local]

    operands = [(value, sharding)]
    return manual_computation(op, manual, state.devices, operands, [(value.type, sharding)], body)[0]
