"""Verifiers of collectives: the result's sharding follows from the operand's.

An all-gather removes axes from the end of dimensions, an all-slice appends them, an all-to-all does both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import Diagnostic
from shardy_py.mlir.dialects.faults import Fault, note
from shardy_py.mlir.dialects.sdy import ops
from shardy_py.mlir.dialects.sdy.attributes import MeshAttr, TensorShardingAttr
from shardy_py.mlir.dialects.sdy.verify_ops import check_transition
from shardy_py.mlir.dialects.sdy.verify_sharding import check_sharding, sharding_of, sizes_of
from shardy_py.mlir.dialects.sdy.verify_values import AxisUses, check_axis_list, check_sorted_axis_list
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.typed import property_of
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import Axes, AxisRef, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, overlaps, sort_and_merge, total_size

_MAY_MISS_OPERAND = (ops.AllSliceOp, ops.AllReduceOp, ops.ReduceScatterOp)


def _check_shardings(op: Operation, scope: Scope) -> None:
    """Any collective:

    - its operand has a sharding, unless the op does not need one
    - the result's sharding fits its type
    - both are of one mesh, unless the op may change it; both have one rank
    """
    source = sharding_of(op.operands[0])
    if source is None and not isinstance(op, _MAY_MISS_OPERAND):
        raise Fault("collective on operand without sharding")
    result = property_of(op, "out_sharding", TensorShardingAttr).data
    check_sharding(result, op.results[0].type, scope)
    if source is None:
        return
    mesh = scope.mesh(source)
    if not isinstance(op, ops.CollectivePermuteOp) and mesh is not None and scope.mesh(result) != mesh:
        raise Fault("result mesh does not match operand mesh", _mesh_note(op, mesh))
    if result.rank != source.rank:
        raise Fault(f"result sharding has rank {result.rank} but operand sharding has rank {source.rank}")


def _mesh_note(op: Operation, mesh: Mesh) -> Diagnostic:
    tensor = op.operands[0]
    location = getattr(tensor, "location", None) or getattr(tensor.owner, "location", op.location)
    return note(f"operand mesh: {attribute_text(MeshAttr(mesh))}", location)


def _sides(op: Operation, scope: Scope) -> tuple[TensorSharding, TensorSharding, Mesh]:
    """The shardings of the operand (replicated if it has none) and of the result, and the latter's mesh."""
    result = property_of(op, "out_sharding", TensorShardingAttr).data
    mesh = scope.mesh(result)
    assert mesh is not None
    rank = len(sizes_of(op.results[0].type) or ())
    return sharding_of(op.operands[0]) or TensorSharding.fully_open(result.mesh, rank), result, mesh


def _check_dimension(result: TensorSharding, index: int, expected: Axes) -> None:
    if result.dimensions[index].axes != expected:
        listed = ", ".join(map(str, expected))
        raise Fault(f"result sharding doesn't match expected sharding [{listed}] on dimension {index}")


# ---------------------------------------------------------------------- axes by dimension


def _without_suffix(axes: Axes, gathered: Sequence[AxisRef], index: int, mesh: Mesh, what: str) -> Axes:
    """`axes` without `gathered`, which must be at their end."""
    left = list(axes)
    for axis in reversed(gathered):
        if not left or not axis.is_suffix_of(left[-1], mesh):
            raise Fault(f"can't apply {what} axis {axis} to operand sharding on dimension {index}")
        rest = left.pop().prefix_without(axis)
        if rest is not None:
            left.append(rest)
    return tuple(left)


Step = Callable[[Axes, Sequence[AxisRef], int, Mesh], Axes]


def _gather(what: str) -> Step:
    return lambda axes, moved, index, mesh: _without_suffix(axes, moved, index, mesh, what)


def _slice(axes: Axes, moved: Sequence[AxisRef], index: int, mesh: Mesh) -> Axes:
    return append_axes(axes, moved, mesh)


def _check_by_dimension(op: Operation, lists: Sequence[Sequence[AxisRef]], scope: Scope, step: Step) -> None:
    """A collective with a list of axes a dimension:

    - all axes together are a list as in `verify_values.py`; there is one list a dimension
    - `step` on the operand's dimensions results in the result's
    """
    source, result, mesh = _sides(op, scope)
    uses = AxisUses(mesh)
    for axes in lists:
        check_axis_list(axes, uses)
    if result.rank != len(lists):
        raise Fault(f"result sharding has rank {result.rank} but collective axes has rank {len(lists)}")
    for index, (dimension, moved) in enumerate(zip(source.dimensions, lists, strict=True)):
        _check_dimension(result, index, step(dimension.axes, moved, index, mesh))


def _check_all_gather(op: ops.AllGatherOp, scope: Scope) -> None:
    """An all-gather removes its axes from the end of the operand's dimensions."""
    _check_by_dimension(op, op.gathering_axes.data, scope, _gather("gathering"))


def _check_all_slice(op: ops.AllSliceOp, scope: Scope) -> None:
    """An all-slice appends its axes to those of the operand's dimensions."""
    _check_by_dimension(op, op.slicing_axes.data, scope, _slice)


def _check_reduce_scatter(op: ops.ReduceScatterOp, scope: Scope) -> None:
    """A reduce-scatter adds no unreduced axis, drops those of its reduction, slices as an all-slice."""
    _check_reduction(op, scope)
    _check_by_dimension(op, op.reduce_scatter_axes.data, scope, _slice)


def _check_reduction(op: ops.ReduceScatterOp | ops.AllReduceOp, scope: Scope) -> None:
    source, result, _ = _sides(op, scope)
    reduction = REDUCTIONS[op.reduction_op.value.data] if op.reduction_op is not None else "sum"
    check_transition(source, result, scope, introduced=None, removed=reduction)


def _check_made(result: TensorSharding) -> None:
    """Before JAX 0.12: made axes are of a sum."""
    if result.reduction != "sum" and not Behaviour.MAXIMA_ARE_INTRODUCED.holds:
        raise Fault("out_sharding reduction_op must be SUM")


def _check_sharded_to_unreduced(op: ops.ShardedToUnreducedOp, scope: Scope) -> None:
    """Sharded to unreduced: axes are removed as in an all-gather and become unreduced."""
    source, result, mesh = _sides(op, scope)
    _check_made(result)
    _check_by_dimension(op, op.axes.data, scope, _gather("shard-to-unreduce"))
    moved = [axis for axes in op.axes.data for axis in axes]
    if sort_and_merge([*source.unreduced_axes, *moved], mesh) != result.unreduced_axes:
        raise Fault("out_unreduced_axes should be in_unreduced_axes + sharded_to_unreduced_axes")


def _check_replicated_to_unreduced(op: ops.ReplicatedToUnreducedOp, scope: Scope) -> None:
    """Replicated to unreduced:

    - the reduction is as `_check_made` says, and dimensions stay as they are
    - there are axes, in the order of the mesh, used by no dimension of the operand and not unreduced there
    - they become unreduced
    """
    source, result, mesh = _sides(op, scope)
    axes = op.axes.data
    _check_made(result)
    if source.dimensions != result.dimensions:
        raise Fault("input and output must share the same dimension shardings")
    if not axes:
        raise Fault("r2u axes must not be empty")
    check_sorted_axis_list(axes, AxisUses(mesh), "r2u")
    in_dimensions = [axis for dimension in source.dimensions for axis in dimension.axes]
    for axis in axes:
        if overlaps((axis,), in_dimensions):
            raise Fault(f"r2u axis {axis} overlaps with operand dimension sharding")
        if overlaps((axis,), source.unreduced_axes):
            raise Fault(f"r2u axis {axis} overlaps with operand unreduced axes")
    if sort_and_merge([*source.unreduced_axes, *axes], mesh) != result.unreduced_axes:
        raise Fault("out_unreduced_axes should be in_unreduced_axes + r2u_axes")


# ---------------------------------------------------------------------- the others


def _check_all_to_all(op: ops.AllToAllOp, scope: Scope) -> None:
    """An all-to-all:

    - it has parameters; their axes together are a list as in `verify_values.py`
    - dimensions exist, none occurs twice, sources ascend
    - moving the axes from source to target results in the result's dimensions; the others are equal
    """
    source, result, mesh = _sides(op, scope)
    params = op.params.data
    _check_params(params, result.rank, mesh)
    before = [dimension.axes for dimension in source.dimensions]
    expected = dict(enumerate(before))
    for axes, giver, taker in params:
        expected[giver] = _without_suffix(before[giver], axes, giver, mesh, "all-to-all")
        expected[taker] = append_axes(before[taker], axes, mesh)
        _check_dimension(result, giver, expected[giver])
        _check_dimension(result, taker, expected[taker])
    for index in range(result.rank):
        _check_dimension(result, index, expected[index])


def _check_params(params: Sequence[tuple[Axes, int, int]], rank: int, mesh: Mesh) -> None:
    if not params:
        raise Fault("parameter list is empty")
    uses = AxisUses(mesh)
    seen: set[int] = set()
    previous = -1
    for axes, source, target in params:
        check_axis_list(axes, uses)
        for index, what in ((source, "source"), (target, "target")):
            if not 0 <= index < rank:
                raise Fault(f"{what} dimension {index} is out of range [0, {rank})")
        for index in (source, target):
            if index in seen:
                raise Fault(f"overlapping source/target dimensions in all-to-all params: {index}")
            seen.add(index)
        if previous >= source:
            raise Fault(
                f"source dimensions are not sorted in ascending order: {source} appears after {previous}"
            )
        previous = source


def _check_collective_permute(op: ops.CollectivePermuteOp, scope: Scope) -> None:
    """A collective permute: meshes differ in device ids at most; dimensions keep their number of shards."""
    source, result, mesh = _sides(op, scope)
    other = scope.mesh(source)
    if other is None:
        return
    if mesh.axes != other.axes:
        raise Fault("result mesh has different axes than operand mesh", _mesh_note(op, other))
    if source.mesh != result.mesh and mesh.device_ids == other.device_ids:
        same = "result mesh name is different but same device ids as operand"
        raise Fault(same, _mesh_note(op, other))
    for index, (before, after) in enumerate(zip(source.dimensions, result.dimensions, strict=True)):
        parts, expected = total_size(after.axes, mesh), total_size(before.axes, mesh)
        if parts != expected:
            raise Fault(
                f"sharded size of result doesn't match operand on dimension {index}: {parts} != {expected}"
            )


def _check_all_reduce(op: ops.AllReduceOp, scope: Scope) -> None:
    """An all-reduce:

    - operand and result are sharded alike, unreduced axes aside
    - its axes are a list in the order of the mesh; none shards or replicates the operand, or stays unreduced
    - unreduced axes that disappear have its reduction, and none is new
    """
    source, result, mesh = _sides(op, scope)
    if not _shard_alike(source, result):
        raise Fault("operand and result shardings are not equivalent")
    axes = op.reduction_axes.data
    check_sorted_axis_list(axes, AxisUses(mesh), "reduction")
    used = [axis for d in source.dimensions for axis in d.axes] + [*source.replicated_axes]
    for axis in axes:
        if overlaps((axis,), used):
            sides = "operand dimension sharding or replicated axes"
            raise Fault(f"reduction axis {axis} overlaps with {sides}")
        if overlaps((axis,), result.unreduced_axes):
            raise Fault(f"reduction axis {axis} overlaps with result unreduced axes")
    _check_reduction(op, scope)


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
