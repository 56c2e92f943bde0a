"""Why a step does not propagate an axis: the condition that failed first.

For shardings with which the step changes nothing. The conditions are those of the strategies, in their order.
Not here: which tensors and steps to examine (`report/explain/why_not.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from shardy_py.base.records import dataclass
from shardy_py.propagation.basic import basic, compatible_axes
from shardy_py.propagation.flat import Direction
from shardy_py.propagation.step import Passage, Shardings, Step
from shardy_py.sharding import AxisRef, Projection
from shardy_py.sharding.axis_lists import Axes, total_size
from shardy_py.sharding.meshes import Meshes
from shardy_py.sharding.projection import TensorProjection


class StopKind(Enum):
    """The condition that stopped an axis.

    MESH: the tensors of the step are on different meshes. DIRECTION: axes do not propagate along the factor,
    or only the other way. CONFLICT: a tensor has other axes along the factor. REPLICATED, UNREDUCED: the axis
    is replicated or unreduced in a tensor. CLOSED: the dimension of a tensor is closed. OVERFLOW: the
    dimension has axes that fit no factor. NON_DIVISIBLE: the axis does not divide the rest of the factor.
    USED: another dimension of a tensor has the axis. STRIDE: a more major factor of the dimension is not
    fully sharded. ELSEWHERE: tensors have the axis along other factors only. NOT_TAKEN: the step would
    propagate it, but did not run again. UNKNOWN: none of these.
    """

    MESH = "mesh"
    DIRECTION = "direction"
    CONFLICT = "conflict"
    REPLICATED = "replicated"
    UNREDUCED = "unreduced"
    CLOSED = "closed"
    OVERFLOW = "overflow"
    NON_DIVISIBLE = "non-divisible"
    USED = "used"
    STRIDE = "stride"
    ELSEWHERE = "elsewhere"
    NOT_TAKEN = "not taken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Stop:
    """The condition that stopped an axis, and where.

    position: the tensor that stopped it, among operands, then results; -1 if it is none of them.
    axis: the axis that stopped: the one asked about, or one that must come before it.
    others: the conflicting axes.
    dimension: the dimension of that tensor that has them, or -1.
    """

    kind: StopKind
    position: int
    axis: AxisRef
    others: Axes = ()
    dimension: int = -1


def stop(step: Step, shardings: Shardings, meshes: Meshes, target: int, factor: int, axis: AxisRef) -> Stop:
    """Why the tensor at position `target` lacks `axis` along `factor`, which another tensor has."""
    passage = step.passage(shardings, meshes)
    if passage is None:
        return Stop(StopKind.MESH, -1, axis)
    projection, direction = passage.before, step.options.directions[factor]
    sources = [i for i, axes in _along(projection, factor) if i != target and _has(axes, axis)]
    if not sources:
        return Stop(StopKind.ELSEWHERE, -1, axis)
    if any(position == target for position, _ in step.take(shardings, meshes)):
        return Stop(StopKind.NOT_TAKEN, target, axis)
    operands, forward, backward = projection.operand_count, Direction.FORWARD, Direction.BACKWARD
    givers = [i for i in sources if direction & (forward if i < operands else backward)]
    if not givers:
        return Stop(StopKind.DIRECTION, -1, axis)
    wanted = compatible_axes(projection, factor, direction)
    if not _has(wanted, axis):
        return _conflict(step, projection, givers[0], target, factor, axis)
    own = projection.tensors[target].factors[factor]
    assert own is not None
    missing = next((a for a in wanted if not any(have.contains(a) for have in own.axes)), None)
    given = passage.after.tensors[target].factors[factor]
    if missing is None or (given is not None and _has(given.axes, missing)):
        # The factor has it, but not the dimension: `TensorProjection.to_sharding` drops it.
        return Stop(StopKind.STRIDE, target, missing or axis, own.axes, _dimension_of(step, target, factor))
    tensors = range(len(projection.tensors)) if step.strategy is basic else ()
    results = range(projection.operand_count, len(projection.tensors)) if step.options.is_elementwise else ()
    for position in dict.fromkeys((target, *tensors, *results)):
        refusal = _refusal(step, passage, position, factor, missing, wanted)
        if refusal is not None:
            return refusal
    return Stop(StopKind.UNKNOWN, target, missing)


def _along(projection: Projection, factor: int) -> Iterator[tuple[int, Axes]]:
    """The tensors with a factor, and their axes along it."""
    for position, tensor in enumerate(projection.tensors):
        along = tensor.factors[factor]
        if along is not None:
            yield position, along.axes


def _has(axes: Axes, axis: AxisRef) -> bool:
    return any(axis.overlaps(other) for other in axes)


def _conflict(
    step: Step, projection: Projection, giver: int, target: int, factor: int, axis: AxisRef
) -> Stop:
    """The stop at a tensor that conflicts with the giver, preferably the target."""
    given = dict(_along(projection, factor))
    wanted = given[giver]
    for position in (target, *given):
        for mine, its in zip(wanted, given[position], strict=False):
            if not mine.is_prefix_of(its) and not its.is_prefix_of(mine):
                dimension = _dimension_of(step, position, factor)
                return Stop(StopKind.CONFLICT, position, axis, given[position], dimension)
            if mine == axis:
                break
    return Stop(StopKind.CONFLICT, giver, axis, wanted, _dimension_of(step, giver, factor))


def _refusal(
    step: Step, passage: Passage, position: int, factor: int, axis: AxisRef, wanted: Axes
) -> Stop | None:
    """Why one tensor rejects `axis`, the next of the axes wanted along `factor`; None if it does not."""
    tensor = passage.before.tensors[position]
    along = tensor.factors[factor]
    dimension = _dimension_of(step, position, factor)
    if along is not None and any(have.contains(axis) for have in along.axes):
        return None
    if _has(tensor.replicated, axis):
        return Stop(StopKind.REPLICATED, position, axis, tensor.replicated, dimension)
    if _has(tensor.unreduced, axis):
        return Stop(StopKind.UNREDUCED, position, axis, tensor.unreduced, dimension)
    if along is not None:
        seen = passage.seen[position]
        if seen is not None and seen.dimensions[dimension].is_closed:
            return Stop(StopKind.CLOSED, position, axis, along.axes, dimension)
        overflow = _overflow(step, tensor, position, dimension)
        if overflow:
            return Stop(StopKind.OVERFLOW, position, axis, overflow, dimension)
    for index, other in enumerate(tensor.factors):
        if index != factor and other is not None and _has(other.axes + other.overflow, axis):
            at = _dimension_of(step, position, index)
            return Stop(StopKind.USED, position, axis, other.axes + other.overflow, at)
    if along is not None and not along.is_minor_most:
        parts = total_size(wanted[: wanted.index(axis) + 1], passage.mesh)
        if step.options.factor_sizes[factor] % parts:
            return Stop(StopKind.NON_DIVISIBLE, position, axis, (), dimension)
    return None


def _overflow(step: Step, tensor: TensorProjection, position: int, dimension: int) -> Axes:
    """The axes of a dimension that fit no factor; they block the factors from there on."""
    along = (tensor.factors[factor] for factor in step.rule.tensors[position][dimension])
    return next((factor.overflow for factor in along if factor is not None and factor.overflow), ())


def _dimension_of(step: Step, position: int, factor: int) -> int:
    mapping = step.rule.tensors[position]
    return next((at for at, factors in enumerate(mapping) if factor in factors), -1)
