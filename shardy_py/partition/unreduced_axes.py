"""The changes of unreduced axes that an op may make from its operands to its results.

The elements of a tensor unreduced along an axis are not its values, so an axis may only be removed by an op
that reduces it, and only be added by an op that leaves a reduction open.

    operand unreduced={"x"}, result (nothing)       dropped unreduced axis 'x' ...
    operand unreduced=max{"x"}, result unreduced={"x"}      cannot change the reduction operator ...

Not here: removing unreduced axes (`steps.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.partition.reshard_plan import Shardings
from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps
from shardy_py.sharding.meshes import Meshes, mesh_of


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
