"""Which changes of unreduced axes an op may make, from its operands to its results.

A tensor unreduced along an axis means something else than its elements say, so an axis may only go where an
op is known to reduce it, and only come where an op is known to leave a reduction open.

    operand unreduced={"x"}, result (nothing)       dropped unreduced axis 'x' ...
    operand unreduced=max{"x"}, result unreduced={"x"}      cannot change the reduction operator ...

Not here: how to get rid of unreduced axes (`steps.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.sharding import Axes, TensorSharding
from shardy_py.sharding.axis_lists import difference, overlaps
from shardy_py.sharding.meshes import Meshes, mesh_of

Shardings = tuple[TensorSharding | None, ...]


def transition_fault(
    operands: Shardings, results: Shardings, meshes: Meshes, *, introduced: str | None, removed: str | None
) -> str | None:
    """What is wrong with the unreduced axes of an op; None if nothing is.

    - new ones only where `introduced` allows, and with that reduction
    - fewer only where `removed` allows, and with that reduction
    - those kept keep their reduction

    Between different meshes nothing is checked.
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
    """What is wrong when two views of one tensor are unreduced along different axes; None if they agree."""
    before, after = set(_unreduced((source,))), set(_unreduced((target,)))
    names = sorted({axis.name for axis in before ^ after})
    return f"has unreduced axes mismatch for '{', '.join(names)}' {where}" if names else None


def _unreduced(shardings: Iterable[TensorSharding | None]) -> Axes:
    return tuple(axis for s in shardings if s is not None for axis in s.unreduced_axes)


def _other_reduction(shardings: Shardings, axes: Axes, expected: str) -> str | None:
    """The reduction of the first sharding that has part of `axes` unreduced in another way than expected."""
    for sharding in shardings:
        if (
            sharding is not None
            and sharding.reduction != expected
            and overlaps(sharding.unreduced_axes, axes)
        ):
            return sharding.reduction
    return None


def _kept_fault(operands: Shardings, results: Shardings) -> str | None:
    for result in results:
        for operand in operands:
            if (
                result is not None
                and operand is not None
                and operand.reduction != result.reduction
                and overlaps(operand.unreduced_axes, result.unreduced_axes)
            ):
                return (
                    "cannot change the reduction operator of kept unreduced axes from "
                    f"{operand.reduction} to {result.reduction}."
                )
    return None
