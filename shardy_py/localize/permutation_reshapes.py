"""Reshapes whose operand and result are sharded unevenly: exchanged if they split a dimension, as in Shardy.

    tensor<6> on 4 devices: 01 23 45 --      tensor<2x3> as 2 x 2 parts: 01 2- 34 5-

Part 1 reads elements 2 and 3, which are part 1 of the operand; part 2 reads 3 and 4, of parts 1 and 2. Uneven
reshapes between parts of other sizes are in `permutation_flattening.py`. All others replicate the dimensions
of the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.halo import Exchange, is_far, reshape_exchange
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.halo_exchange import LocalBuilder, Manual, manual_computation, zero_of
from shardy_py.localize.permutation_flattening import flattened_reshape
from shardy_py.localize.permutation_joins import erase_unused
from shardy_py.localize.resolution import Resolution, cut_to, padded_high, parts_of
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, resized, shape_of
from shardy_py.passes.export.communication_ops import identity_op, only_user
from shardy_py.reshard.compare import is_same_layout
from shardy_py.reshard.divisible import divisible_shape
from shardy_py.reshard.reshape_groups import (
    ReshapeGroup,
    has_same_parts,
    is_uneven,
    reshape_groups,
)
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Axes, difference
from shardy_py.sharding.slices import listed


@dataclass(frozen=True, slots=True)
class ReshapeSide:
    """The operand or the result of a reshape; `even`: the shape in parts of one size."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    even: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShardedReshape:
    """A sharded reshape."""

    source: ReshapeSide
    target: ReshapeSide
    mesh: Mesh
    groups: tuple[ReshapeGroup, ...]

    @staticmethod
    def of(values: tuple[Value, Value], state: Resolution) -> ShardedReshape | None:
        """The shardings of a reshape's operand and result; None if there is none, or on two meshes.

        A value without a sharding is replicated. Shardy leaves reshapes of such values as they are.
        """
        source, target = (state.reader.of(value) for value in values)
        if state.options.enable_windowed_halo_exchange and (known := source or target) is not None:
            source, target = (
                sharding or TensorSharding.fully_closed(known.mesh, len(_tensor(value)))
                for sharding, value in zip((source, target), values, strict=True)
            )
        if source is None or target is None or any(None in _tensor(value) for value in values):
            return None
        mesh = state.symbols.mesh(source.mesh)
        if mesh is None or state.symbols.mesh(target.mesh) != mesh:
            return None
        first, second = (
            ReshapeSide(shape_of(value), sharding, divisible_shape(shape_of(value), sharding, mesh))
            for value, sharding in zip(values, (source, target), strict=True)
        )
        return ShardedReshape(first, second, mesh, reshape_groups(first.shape, second.shape))

    @property
    def is_reduced(self) -> bool:
        """True if no side is still to be reduced."""
        return not (self.source.sharding.unreduced_axes or self.target.sharding.unreduced_axes)

    @property
    def is_equivalent(self) -> bool:
        """True if the axes divide operand and result at the same levels."""
        one, other = self.source, self.target
        return has_same_parts(one.sharding, one.shape, other.sharding, other.shape, self.mesh)

    @property
    def is_local(self) -> bool:
        """True if each part of the result is a reshape of the same part of the operand."""
        one, other = self.source, self.target
        if one.sharding.mesh == other.sharding.mesh and is_same_layout(
            one.sharding, one.shape, other.sharding, other.shape, self.mesh
        ):
            return True
        return self.is_equivalent and all(group.is_passed_through for group in self.groups)

    def is_local_group(self, group: ReshapeGroup) -> bool:
        """True if the parts of the dimensions of a group have the same elements on both sides."""
        sides = ((self.source, group.source), (self.target, group.target))
        shapes = [side.shape[slice(*ends)] for side, ends in sides]
        shardings = [
            TensorSharding(side.sharding.mesh, side.sharding.dimensions[slice(*ends)]) for side, ends in sides
        ]
        first, second = shardings
        return first.mesh == second.mesh and is_same_layout(first, shapes[0], second, shapes[1], self.mesh)

    @property
    def moved_groups(self) -> list[ReshapeGroup]:
        """The groups whose parts have other elements on the two sides."""
        return [group for group in self.groups if not self.is_local_group(group)]

    def is_uneven(self, group: ReshapeGroup) -> bool:
        """True if a dimension of the group is in parts of several sizes."""
        return is_uneven(group, (self.source.shape, self.source.even), (self.target.shape, self.target.even))


def _tensor(value: Value) -> tuple[int | None, ...]:
    tensor = tensor_type(value.type)
    return tensor.shape if tensor is not None else (None,)


def resolve_reshape(op: Operation, state: Resolution) -> None:
    """Exchanges or replicates the uneven groups of a reshape, unless its parts are local.

    Shardy takes all even groups for local ones, also where the axes divide other elements on the two sides:
    tensor<4x24> [{"x"}, {}] and tensor<3x32> [{}, {"x"}].
    """
    if state.options.enable_windowed_halo_exchange and _move_between_reshards(op, state):
        return
    if state.options.enable_windowed_halo_exchange:
        _join_meshes(op, state)
    reshape = ShardedReshape.of((operands_of(op)[0], op.results[0]), state)
    if reshape is None:
        return
    # Shardy reshards, to the same shardings, where it does not see that the parts are local.
    is_seen = state.options.enable_windowed_halo_exchange or reshape.is_equivalent
    if is_seen and reshape.is_local:
        return
    if state.options.enable_halo_exchange and reshape.is_equivalent:
        splits = uneven_splits(reshape)
        exchanges = {group.source[1] - 1: split_exchange(reshape, group) for group in splits}
        needed = {dimension: found for dimension, found in exchanges.items() if found is not None}
        if splits and not any(map(is_far, needed.values())):
            _exchange(op, reshape, needed, state)
            return
    if state.options.enable_windowed_halo_exchange:
        if not _move(op, operands_of(op)[0], reshape, state):
            _replicate(op, reshape, reshape.moved_groups)
    else:
        uneven = (
            group for group in reshape.groups if not group.is_passed_through and reshape.is_uneven(group)
        )
        _replicate(op, reshape, uneven)


def _join_meshes(op: Operation, state: Resolution) -> None:
    """Replicates an operand that is sharded on another mesh than the result, on the mesh of the result."""
    value = operands_of(op)[0]
    source, target = state.reader.of(value), state.reader.of(op.results[0])
    if source is None or target is None or state.symbols.mesh(source.mesh) == state.symbols.mesh(target.mesh):
        return
    if not source.is_fully_replicated:
        warn_whole(op, "its operand and result are sharded on two meshes", (value,))
    whole = TensorSharding.fully_closed(target.mesh, len(_tensor(value)))
    moved = identity_op(sdy.ReshardOp, value, whole, op.location)
    ir.place_before(moved, op)
    ir.replace_operand(op, 0, moved.results[0])


# ---------------------------------------------------------------------- exchanges


def _move_between_reshards(op: Operation, state: Resolution) -> bool:
    """Reshapes the tensor before a reshard to that after another one, if an exchange does.

    Explicit reshards gather dimensions whose axes fit no factor of the rule, and shard the result again.
    """
    maker, user = operands_of(op)[0].owner, only_user(op)
    values = [*(operands_of(maker) if isinstance(maker, sdy.ReshardOp) else ()), operands_of(op)[0]]
    made = [*([user] if isinstance(user, sdy.ReshardOp) else ()), op]
    for value, target in [(value, target) for value in values for target in made][:-1]:
        reshape = ShardedReshape.of((value, target.results[0]), state)
        if reshape is not None and reshape.is_reduced and _move(target, value, reshape, state):
            if target is not op:
                erase_unused(op.results)
            return True
    return False


def _move(op: Operation, value: Value, reshape: ShardedReshape, state: Resolution) -> bool:
    source, target = reshape.source, reshape.target
    sides = (source.shape, source.sharding), (target.shape, target.sharding)
    return flattened_reshape(op, value, sides, reshape.groups, reshape.moved_groups, reshape.mesh, state)


def uneven_splits(reshape: ShardedReshape) -> tuple[ReshapeGroup, ...]:
    """The uneven groups if each splits a dimension into ones whose parts have as many elements; else none."""
    found: list[ReshapeGroup] = []
    for group in reshape.groups:
        if group.is_passed_through or not reshape.is_uneven(group):
            continue
        source, target = slice(*group.source), slice(*group.target)
        has_ones = 1 in (*reshape.source.shape[source], *reshape.target.shape[target])
        sizes = reshape.source.shape[group.source[0]], reshape.target.shape[group.target[0]]
        divide = sizes[0] % sizes[1] == 0 or sizes[1] % sizes[0] == 0
        volumes = {int(np.prod(reshape.source.even[source])), int(np.prod(reshape.target.even[target]))}
        if has_ones or not divide or len(volumes) > 1 or not group.is_split:
            return ()
        found.append(group)
    return tuple(found)


def split_exchange(reshape: ShardedReshape, group: ReshapeGroup) -> Exchange | None:
    """The exchange along the dimension that a group splits; None if it needs none."""
    dimension = group.source[0]
    parts = parts_of(reshape.target.sharding, reshape.mesh)
    starts, stride = np.zeros(1, np.int64), 1
    for number in range(group.target[1] - 1, group.target[0] - 1, -1):
        size = reshape.target.shape[number]
        own = -(-size // parts[number]) * stride
        starts = (listed(parts[number])[:, None] * own + starts).reshape(-1)
        stride *= size
    part_in = reshape.source.even[dimension] // parts_of(reshape.source.sharding, reshape.mesh)[dimension]
    return reshape_exchange(starts, reshape.source.shape[dimension], part_in)


def _exchange(op: Operation, reshape: ShardedReshape, needed: dict[int, Exchange], state: Resolution) -> None:
    source, target, value = reshape.source, reshape.target, operands_of(op)[0]
    filler = zero_of(StablehloBuilder(op), value)
    even = padded_high(StablehloBuilder(op, source.sharding), value, source.even, None)
    names: Axes = tuple(
        axis
        for group in reshape.groups
        if reshape.is_uneven(group)
        for axis in group.axes(source.sharding, target.sharding)
    )
    manual = Manual.of(reshape.mesh, names, (source.sharding, target.sharding))

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        local, padding = arguments
        for dimension, exchange in needed.items():
            group = next(g for g in reshape.groups if g.source[0] <= dimension < g.source[1])
            axes = group.axes(TensorSharding("", ()), target.sharding)
            local = inner.exchange(local, exchange, dimension, axes, padding)
        build = inner.build_for(target.sharding)
        return [build.reshape(local, manual.local_shape(target.sharding, target.even))]

    operands = [(even, source.sharding), (filler, TensorSharding(source.sharding.mesh, ()))]
    result = (resized(value, target.even), target.sharding)
    (made,) = manual_computation(op, manual, state.devices, operands, [result], body)
    build = StablehloBuilder(op, target.sharding)
    replace_by_values(op, (cut_to(build, made, op.results[0].type),))


# ---------------------------------------------------------------------- replication


def _replicate(op: Operation, reshape: ShardedReshape, groups: Iterable[ReshapeGroup]) -> None:
    """Reshards the operand so that no dimension of `groups` is sharded, and the result back."""
    source, target = reshape.source.sharding, reshape.target.sharding
    axes = tuple(axis for group in groups for axis in group.axes(source, target))
    value = operands_of(op)[0]
    if axes:
        warn_whole(op, "the parts of its dimensions have other elements on the two sides", (value,))
    before = identity_op(sdy.ReshardOp, value, _without(source, axes, reshape.mesh), op.location)
    ir.place_before(before, op)
    build = StablehloBuilder(op, _without(target, axes, reshape.mesh))
    made = build.reshape(before.results[0], reshape.target.shape)
    after = identity_op(sdy.ReshardOp, made, target, op.location)
    ir.place_before(after, op)
    replace_by_values(op, after.results)


def _without(sharding: TensorSharding, axes: Axes, mesh: Mesh) -> TensorSharding:
    if not axes:
        return sharding
    return replace(
        sharding,
        dimensions=tuple(replace(d, axes=difference(d.axes, axes, mesh)) for d in sharding.dimensions),
    )
