"""The communication between the sharding of a tensor and that of its user, as a chain of steps.

A tensor unreduced along an axis is a sum (or maximum, minimum) still to be taken over the devices along it.
Removing such an axis requires an all-reduce; adding one requires no communication.

    steps_between(unreduced {"x"}, replicated)      AllReduce {"x"}
    steps_between([{"x"}], unreduced {"x"})         ShardedToUnreduced [{"x"}]
    steps_between([{"x"}], [{"y"}])                 Reshard [{"y"}], if reshards are asked for

Not here: the collectives of a reshard (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.reshard.compare import is_equivalent
from shardy_py.sharding import Axes, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Prefix, difference, overlaps, prefix_status, sort_and_merge
from shardy_py.sharding.meshes import Meshes, mesh_of

Shardings = tuple[TensorSharding | None, ...]
"""The sharding of each tensor; None is fully replicated."""


@dataclass(frozen=True, slots=True)
class Reshard:
    """The same tensor in another sharding."""

    sharding: TensorSharding


@dataclass(frozen=True, slots=True)
class AllReduce:
    """Reduces along `axes`, which are in mesh order; `sharding` is that of the result, as in all steps."""

    sharding: TensorSharding
    axes: Axes
    reduction: str = "sum"


@dataclass(frozen=True, slots=True)
class ReplicatedToUnreduced:
    """Makes `axes`, along which the tensor is replicated, unreduced."""

    sharding: TensorSharding
    axes: Axes


@dataclass(frozen=True, slots=True)
class ShardedToUnreduced:
    """Makes axes that shard the tensor, listed by dimension, unreduced."""

    sharding: TensorSharding
    axes: tuple[Axes, ...]


Step = Reshard | AllReduce | ReplicatedToUnreduced | ShardedToUnreduced


def steps_between(
    source: TensorSharding | None, target: TensorSharding | None, meshes: Meshes, *, with_reshard: bool
) -> tuple[Step, ...]:
    """The steps from `source` to `target`; without reshards only those for unreduced axes."""
    steps: tuple[Step, ...] = reducing_steps(source, target, meshes)
    current = steps[-1].sharding if steps else source
    steps += unreducing_steps(current, target, meshes)
    current = steps[-1].sharding if steps else source
    if with_reshard and not is_equivalent(current, target):
        if target is None:
            assert current is not None
            target = TensorSharding.fully_closed(current.mesh, current.rank)
        steps += (Reshard(target),)
    return steps


def steps_along(
    source: TensorSharding | None, targets: Iterable[TensorSharding], meshes: Meshes
) -> tuple[Step, ...]:
    """The steps from each sharding to the next; a reshard each where both have the same unreduced axes."""
    steps: list[Step] = []
    for target in targets:
        before = source.unreduced_axes if source is not None else ()
        is_reshard = before == target.unreduced_axes
        between = None if is_reshard else steps_between(source, target, meshes, with_reshard=True)
        steps += (Reshard(target),) if between is None else between
        source = target
    return tuple(steps)


def reducing_steps(
    source: TensorSharding | None, target: TensorSharding | None, meshes: Meshes
) -> tuple[AllReduce, ...]:
    """An all-reduce along the unreduced axes of `source` that are not in `target`."""
    if source is None or not source.unreduced_axes:
        return ()
    mesh = mesh_of(source, meshes)
    if target is not None and mesh_of(target, meshes) != mesh:
        raise ShardyError("source and user shardings have different meshes for unreduced axes.")
    kept = target.unreduced_axes if target is not None else ()
    axes = difference(source.unreduced_axes, kept, mesh)
    if not axes:
        return ()
    left = difference(source.unreduced_axes, axes, mesh)
    return (AllReduce(replace(source, unreduced_axes=left), axes, source.reduction),)


def before_reduction(step: AllReduce, mesh: Mesh) -> TensorSharding:
    """The sharding of the operand of an all-reduce: that of its result, unreduced along its axes."""
    axes = sort_and_merge((*step.sharding.unreduced_axes, *step.axes), mesh)
    return replace(step.sharding, unreduced_axes=axes, reduction=step.reduction)


def unreducing_steps(
    source: TensorSharding | None, target: TensorSharding | None, meshes: Meshes
) -> tuple[Step, ...]:
    """The steps that make axes unreduced that are unreduced in `target` only.

    They are axes that `source` is sharded along and `target` is not, or that both are replicated along. Other
    differences are resharded first.
    """
    if source is None or target is None or not target.unreduced_axes:
        return ()
    mesh = mesh_of(source, meshes)
    if mesh_of(target, meshes) != mesh:
        raise ShardyError(
            "Input and output shardings have different meshes. The result has non-empty unreduced axes."
        )
    wanted = difference(target.unreduced_axes, source.unreduced_axes, mesh)
    if not wanted:
        return ()
    if difference(source.unreduced_axes, target.unreduced_axes, mesh):
        raise ShardyError("Both input and output have unreduced axes that does not appear in the other.")
    freed = tuple(
        _freed(old.axes, new.axes, wanted, mesh)
        for old, new in zip(source.dimensions, target.dimensions, strict=True)
    )
    between = tuple(
        old if axes else new
        for old, new, axes in zip(source.dimensions, target.dimensions, freed, strict=True)
    )
    sharded = tuple(axes or () for axes in freed)
    steps: tuple[Step, ...] = ()
    if any(axes is None for axes in freed):
        steps += (Reshard(replace(source, dimensions=between)),)
    from_sharded = tuple(axis for axes in sharded for axis in axes)
    if replicated := difference(wanted, from_sharded, mesh):
        unreduced = sort_and_merge((*source.unreduced_axes, *replicated), mesh)
        made = replace(target, mesh=source.mesh, dimensions=between, unreduced_axes=unreduced)
        steps += (ReplicatedToUnreduced(made, replicated),)
    if from_sharded:
        steps += (ShardedToUnreduced(target, sharded),)
    return steps


def _freed(old: Axes, new: Axes, wanted: Axes, mesh: Mesh) -> Axes | None:
    """The axes of a dimension that become unreduced; () if it is unchanged, None if it needs a reshard."""
    status = prefix_status(new, old)
    if status is Prefix.EQUAL:
        return ()
    if status is Prefix.NONE:
        return None
    freed = old[len(new) :]
    if new and new[-1] != old[len(new) - 1]:
        rest = old[len(new) - 1].suffix_without(new[-1], mesh)
        assert rest is not None
        freed = (rest, *freed)
    return None if difference(freed, wanted, mesh) else freed


def transition_fault(
    operands: Shardings, results: Shardings, meshes: Meshes, *, introduced: str | None, removed: str | None
) -> str | None:
    """The fault of the unreduced axes of an op; None if they are valid, or its tensors are on several meshes.

    - added axes require `introduced`, and have that reduction
    - removed axes require `removed`, and had that reduction
    - kept axes keep their reduction
    """
    before, after = _unreduced(operands), _unreduced(results)
    if not before and not after:
        return None
    found = {mesh_of(s, meshes) for s in (*operands, *results) if s is not None}
    if len(found) != 1:
        return None
    mesh = found.pop()
    added, dropped = difference(after, before, mesh), difference(before, after, mesh)
    if added:
        if introduced is None:
            return f"cannot add new unreduced axis '{added[0].name}'."
        if other := _other_reduction(results, added, introduced):
            return f"cannot introduce '{other}' unreduced axes. Expected '{introduced}'."
    if dropped:
        if removed is None:
            return (
                f"dropped unreduced axis '{dropped[0].name}' without a blessed operation "
                "(e.g., sdy.reshard). This is an invalid transition from unreduced to reduced."
            )
        if other := _other_reduction(operands, dropped, removed):
            return f"cannot reduce '{other}' unreduced axes. Expected '{removed}'."
    return _kept_fault(operands, results)


def mismatch_fault(source: TensorSharding | None, target: TensorSharding | None, where: str) -> str | None:
    """The fault of two shardings of one tensor with different unreduced axes; None if they agree."""
    before, after = set(_unreduced((source,))), set(_unreduced((target,)))
    names = sorted({axis.name for axis in before ^ after})
    return f"has unreduced axes mismatch for '{', '.join(names)}' {where}" if names else None


def _unreduced(shardings: Iterable[TensorSharding | None]) -> Axes:
    return tuple(axis for s in shardings if s is not None for axis in s.unreduced_axes)


def _other_reduction(shardings: Shardings, axes: Axes, expected: str) -> str | None:
    """The first reduction along some of `axes` that is not the expected one."""
    wrong = (s.reduction for s in shardings if s is not None and overlaps(s.unreduced_axes, axes))
    return next((reduction for reduction in wrong if reduction != expected), None)


def _kept_fault(operands: Shardings, results: Shardings) -> str | None:
    for result in results:
        other = result and _other_reduction(operands, result.unreduced_axes, result.reduction)
        if result and other:
            return (
                "cannot change the reduction operator of kept unreduced axes from "
                f"{other} to {result.reduction}."
            )
    return None
