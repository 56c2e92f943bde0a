"""Verifiers of collectives: the result's sharding follows from the operand's.

An all-gather removes axes from the end of dimensions, an all-slice appends them, an all-to-all does both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shardy_py.dialects.sdy import ops
from shardy_py.dialects.sdy.attributes import MeshAttr
from shardy_py.dialects.sdy.syntax import REDUCTIONS
from shardy_py.dialects.sdy.value_sharding import sharding_of
from shardy_py.dialects.sdy.verify_axes import AxisUses, axis_list_faults, sorted_axis_list_faults
from shardy_py.dialects.sdy.verify_ops import transition_faults
from shardy_py.dialects.sdy.verify_sharding import sharding_faults, sizes_of
from shardy_py.dialects.verification.faults import Fault, Faults, Note
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import Axes, AxisRef, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, overlaps, sort_and_merge, total_size
from shardy_py.text.attribute_writer import attribute_text

_MAY_MISS_OPERAND = (ops.AllSliceOp, ops.AllReduceOp, ops.ReduceScatterOp)


class _NotASuffix(Exception):
    """An axis cannot be removed from the end of a dimension."""


def _check_shardings(op: Any, scope: Scope) -> Faults:
    """Any collective:

    - its operand has a sharding, unless the op does not need one
    - the result's sharding fits its type
    - both are of one mesh, unless the op may change it; both have one rank
    """
    source = sharding_of(op.tensor)
    if source is None and not isinstance(op, _MAY_MISS_OPERAND):
        yield Fault("collective on operand without sharding")
        return
    result: TensorSharding = op.out_sharding.data
    found = (*sharding_faults(result, op.result.type, scope),)
    yield from found
    if found or source is None:
        return
    mesh = scope.mesh(source)
    if not isinstance(op, ops.CollectivePermuteOp) and mesh is not None and scope.mesh(result) != mesh:
        yield Fault("result mesh does not match operand mesh", notes=(_mesh_note(op, mesh),))
        return
    if result.rank != source.rank:
        yield Fault(f"result sharding has rank {result.rank} but operand sharding has rank {source.rank}")


def _mesh_note(op: Any, mesh: Mesh) -> Note:
    owner = op.tensor.owner
    location = getattr(op.tensor, "location", None) or getattr(owner, "location", op.location)
    return Note(f"operand mesh: {attribute_text(MeshAttr(mesh))}", location)


# ---------------------------------------------------------------------- axes by dimension


def _source_of(op: Any) -> TensorSharding:
    """The sharding of the operand; a replicated one if it has none."""
    result: TensorSharding = op.out_sharding.data
    return sharding_of(op.tensor) or TensorSharding.fully_open(
        result.mesh, len(sizes_of(op.result.type) or ())
    )


def _without_suffix(axes: Axes, gathered: Sequence[AxisRef], index: int, mesh: Mesh, what: str) -> Axes:
    """`axes` without `gathered`, which must be at their end."""
    left = list(axes)
    for axis in reversed(gathered):
        if not left or not axis.is_suffix_of(left[-1], mesh):
            raise _NotASuffix(f"can't apply {what} axis {axis} to operand sharding on dimension {index}")
        rest = left.pop().prefix_without(axis)
        if rest is not None:
            left.append(rest)
    return tuple(left)


Step = Callable[[Axes, Sequence[AxisRef], int, Mesh], Axes]


def _gather(what: str) -> Step:
    return lambda axes, moved, index, mesh: _without_suffix(axes, moved, index, mesh, what)


def _slice(axes: Axes, moved: Sequence[AxisRef], index: int, mesh: Mesh) -> Axes:
    return append_axes(axes, moved, mesh)


def _by_dimension_faults(op: Any, lists: Sequence[Sequence[AxisRef]], scope: Scope, step: Step) -> Faults:
    """A collective with a list of axes a dimension:

    - all axes together are a list as in `verify_axes.py`; there is one list a dimension
    - `step` on the operand's dimensions results in the result's
    """
    result: TensorSharding = op.out_sharding.data
    mesh = scope.mesh(result)
    assert mesh is not None
    uses = AxisUses(mesh)
    for axes in lists:
        found = [*axis_list_faults(axes, uses)]
        yield from map(Fault, found)
        if found:
            return
    if result.rank != len(lists):
        yield Fault(f"result sharding has rank {result.rank} but collective axes has rank {len(lists)}")
        return
    for index, (dimension, moved) in enumerate(zip(_source_of(op).dimensions, lists, strict=True)):
        try:
            expected = step(dimension.axes, moved, index, mesh)
        except _NotASuffix as error:
            yield Fault(str(error))
            return
        fault = _dimension_fault(result, index, expected)
        if fault is not None:
            yield fault
            return


def _dimension_fault(result: TensorSharding, index: int, expected: Axes) -> Fault | None:
    if result.dimensions[index].axes == expected:
        return None
    listed = ", ".join(map(str, expected))
    return Fault(f"result sharding doesn't match expected sharding [{listed}] on dimension {index}")


def _check_all_gather(op: ops.AllGatherOp, scope: Scope) -> Faults:
    """An all-gather removes its axes from the end of the operand's dimensions."""
    return _by_dimension_faults(op, op.gathering_axes.data, scope, _gather("gathering"))


def _check_all_slice(op: ops.AllSliceOp, scope: Scope) -> Faults:
    """An all-slice appends its axes to those of the operand's dimensions."""
    return _by_dimension_faults(op, op.slicing_axes.data, scope, _slice)


def _check_reduce_scatter(op: ops.ReduceScatterOp, scope: Scope) -> Faults:
    """A reduce-scatter adds no unreduced axis, drops those of its reduction, slices as an all-slice."""
    found = (*_reduction_faults(op, scope),)
    yield from found
    if not found:
        yield from _by_dimension_faults(op, op.reduce_scatter_axes.data, scope, _slice)


def _reduction_faults(op: ops.ReduceScatterOp | ops.AllReduceOp, scope: Scope) -> Faults:
    reduction = REDUCTIONS[op.reduction_op.value.data] if op.reduction_op is not None else "sum"
    return transition_faults(_source_of(op), op.out_sharding.data, scope, introduced=None, removed=reduction)


def _check_sharded_to_unreduced(op: ops.ShardedToUnreducedOp, scope: Scope) -> Faults:
    """Sharded to unreduced: a sum; axes are removed as in an all-gather and become unreduced."""
    result = op.out_sharding.data
    if result.reduction != "sum":
        yield Fault("out_sharding reduction_op must be SUM")
        return
    found = (*_by_dimension_faults(op, op.axes.data, scope, _gather("shard-to-unreduce")),)
    yield from found
    mesh = scope.mesh(result)
    if found or mesh is None:
        return
    moved = [axis for axes in op.axes.data for axis in axes]
    if sort_and_merge([*_source_of(op).unreduced_axes, *moved], mesh) != result.unreduced_axes:
        yield Fault("out_unreduced_axes should be in_unreduced_axes + sharded_to_unreduced_axes")


def _check_replicated_to_unreduced(op: ops.ReplicatedToUnreducedOp, scope: Scope) -> Faults:
    """Replicated to unreduced:

    - the reduction is a sum, and dimensions stay as they are
    - there are axes, in the order of the mesh, used by no dimension of the operand and not unreduced there
    - they become unreduced
    """
    source, result = _source_of(op), op.out_sharding.data
    mesh = scope.mesh(result)
    assert mesh is not None
    axes = op.axes.data
    if result.reduction != "sum":
        yield Fault("out_sharding reduction_op must be SUM")
    elif source.dimensions != result.dimensions:
        yield Fault("input and output must share the same dimension shardings")
    elif not axes:
        yield Fault("r2u axes must not be empty")
    elif (messages := [*sorted_axis_list_faults(axes, AxisUses(mesh), "r2u")]) or (
        messages := [*_overlap_messages(axes, source)]
    ):
        yield from map(Fault, messages)
    elif sort_and_merge([*source.unreduced_axes, *axes], mesh) != result.unreduced_axes:
        yield Fault("out_unreduced_axes should be in_unreduced_axes + r2u_axes")


def _overlap_messages(axes: Axes, source: TensorSharding) -> Iterator[str]:
    in_dimensions = [axis for dimension in source.dimensions for axis in dimension.axes]
    for axis in axes:
        if overlaps((axis,), in_dimensions):
            yield f"r2u axis {axis} overlaps with operand dimension sharding"
        if overlaps((axis,), source.unreduced_axes):
            yield f"r2u axis {axis} overlaps with operand unreduced axes"


# ---------------------------------------------------------------------- the others


def _check_all_to_all(op: ops.AllToAllOp, scope: Scope) -> Faults:
    """An all-to-all:

    - it has parameters; their axes together are a list as in `verify_axes.py`
    - dimensions exist, none occurs twice, sources ascend
    - moving the axes from source to target results in the result's dimensions; the others are equal
    """
    source, result = _source_of(op), op.out_sharding.data
    mesh = scope.mesh(result)
    assert mesh is not None
    params = op.params.data
    messages = [*_param_messages(params, result.rank, mesh)]
    yield from map(Fault, messages)
    if messages:
        return
    expected = {index: dimension.axes for index, dimension in enumerate(source.dimensions)}
    order: list[int] = []
    try:
        for axes, taken, put in params:
            expected[taken] = _without_suffix(source.dimensions[taken].axes, axes, taken, mesh, "all-to-all")
            expected[put] = append_axes(source.dimensions[put].axes, axes, mesh)
            fault = _dimension_fault(result, taken, expected[taken]) or _dimension_fault(
                result, put, expected[put]
            )
            if fault is not None:
                yield fault
                return
            order += (taken, put)
    except _NotASuffix as error:
        yield Fault(str(error))
        return
    faults = (_dimension_fault(result, index, expected[index]) for index in range(result.rank))
    yield from (fault for fault in faults if fault is not None)


def _param_messages(params: Sequence[tuple[Axes, int, int]], rank: int, mesh: Mesh) -> Iterator[str]:
    if not params:
        yield "parameter list is empty"
    uses = AxisUses(mesh)
    seen: set[int] = set()
    previous = -1
    for axes, source, target in params:
        found = [*axis_list_faults(axes, uses)]
        yield from found
        if found:
            return
        for index, what in ((source, "source"), (target, "target")):
            if not 0 <= index < rank:
                yield f"{what} dimension {index} is out of range [0, {rank})"
                return
        for index in (source, target):
            if index in seen:
                yield f"overlapping source/target dimensions in all-to-all params: {index}"
                return
            seen.add(index)
        if previous >= source:
            yield f"source dimensions are not sorted in ascending order: {source} appears after {previous}"
            return
        previous = source


def _check_collective_permute(op: ops.CollectivePermuteOp, scope: Scope) -> Faults:
    """A collective permute: meshes differ in device ids at most; dimensions keep their number of shards."""
    source, result = _source_of(op), op.out_sharding.data
    mesh, other = scope.mesh(result), scope.mesh(source)
    assert mesh is not None
    if other is None:
        return
    if mesh.axes != other.axes:
        yield Fault("result mesh has different axes than operand mesh", notes=(_mesh_note(op, other),))
        return
    if source.mesh != result.mesh and mesh.device_ids == other.device_ids:
        yield Fault(
            "result mesh name is different but same device ids as operand", notes=(_mesh_note(op, other),)
        )
        return
    for index, (before, after) in enumerate(zip(source.dimensions, result.dimensions, strict=True)):
        parts, expected = total_size(after.axes, mesh), total_size(before.axes, mesh)
        if parts != expected:
            yield Fault(
                f"sharded size of result doesn't match operand on dimension {index}: {parts} != {expected}"
            )
            return


def _check_all_reduce(op: ops.AllReduceOp, scope: Scope) -> Faults:
    """An all-reduce:

    - operand and result are sharded alike, unreduced axes aside
    - its axes are a list in the order of the mesh; none shards or replicates the operand, or stays unreduced
    - unreduced axes that disappear have its reduction, and none is new
    """
    source, result = _source_of(op), op.out_sharding.data
    mesh = scope.mesh(result)
    assert mesh is not None
    if not _shard_alike(source, result):
        yield Fault("operand and result shardings are not equivalent")
        return
    axes = op.reduction_axes.data
    messages = [*sorted_axis_list_faults(axes, AxisUses(mesh), "reduction")]
    used = [axis for d in source.dimensions for axis in d.axes] + [*source.replicated_axes]
    for axis in axes if not messages else ():
        if overlaps((axis,), used):
            messages.append(
                f"reduction axis {axis} overlaps with operand dimension sharding or replicated axes"
            )
        if overlaps((axis,), result.unreduced_axes):
            messages.append(f"reduction axis {axis} overlaps with result unreduced axes")
    yield from map(Fault, messages)
    if not messages:
        yield from _reduction_faults(op, scope)


def _shard_alike(first: TensorSharding, second: TensorSharding) -> bool:
    if first.is_fully_replicated:
        return second.is_fully_replicated
    axes = [[d.axes for d in sharding.dimensions] for sharding in (first, second)]
    return first.mesh == second.mesh and axes[0] == axes[1]


USES = {
    "sdy.all_gather": _check_all_gather,
    "sdy.all_slice": _check_all_slice,
    "sdy.all_to_all": _check_all_to_all,
    "sdy.collective_permute": _check_collective_permute,
    "sdy.all_reduce": _check_all_reduce,
    "sdy.reduce_scatter": _check_reduce_scatter,
    "sdy.sharded_to_unreduced": _check_sharded_to_unreduced,
    "sdy.replicated_to_unreduced": _check_replicated_to_unreduced,
}
"""Checks of a collective and the op that defines its operand, once both are verified."""

STRUCTURE = dict.fromkeys(USES, _check_shardings)
"""Checks of all collectives."""
