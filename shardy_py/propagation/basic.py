"""The basic strategy: propagate the axes on which all tensors of an op agree.

For each factor, the longest compatible list of axes is truncated where it conflicts with other factors or
with replicated axes of any tensor, and then assigned to all tensors.

    add: [{"a", ?}], [{"a", "b", ?}] -> [{?}]      all become [{"a", "b", ?}]
    add: [{"a", ?}], [{"b", ?}] -> [{?}]           nothing: "a" and "b" conflict

Not here: resolving conflicts (`aggressive.py`), the order of ops (`fixpoint.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd

from shardy_py.base.records import dataclass
from shardy_py.propagation.flat import Direction, Directions
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.axis_lists import Axes, prefix_without_all
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.projection import FactorSharding, Projection, TensorProjection


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The input of a strategy beside the shardings.

    factor_sizes, directions: one per factor of the rule; a blocked factor has direction NONE.
    conservative_propagation: do not split axes, and do not shard dimensions unevenly.
    is_elementwise: whether the op is elementwise; the aggressive strategy distinguishes it.
    """

    factor_sizes: tuple[int, ...]
    directions: Directions
    conservative_propagation: bool = False
    is_elementwise: bool = False


Strategy = Callable[[Projection, StepOptions, Mesh], Projection]
"""Propagates axes between the tensors of one op."""


def basic(projection: Projection, options: StepOptions, mesh: Mesh) -> Projection:
    """Propagate, factor by factor, the axes that all tensors can take."""
    for factor, size in enumerate(options.factor_sizes):
        axes = compatible_axes(projection, factor, options.directions[factor])
        if not axes:
            continue
        keep = partial(_prefix_for_all, projection, factor, size, mesh)
        axes = truncate(axes, keep, mesh, conservative_propagation=options.conservative_propagation)
        projection = projection.expanded(factor, axes)
    return projection


def compatible_axes(projection: Projection, factor: int, direction: Direction) -> Axes:
    """The longest list of axes along `factor` that is compatible with all tensors.

    In one direction, only the tensors it comes from can extend the list; the others can still shorten it.
    """
    if direction is Direction.NONE:
        return ()
    first, second = projection.operands, projection.results
    if direction is Direction.BACKWARD:
        first, second = second, first
    axes, can_expand = _join_all((), first, factor, True)
    if direction is not Direction.BOTH:
        can_expand = False
    return _join_all(axes, second, factor, can_expand)[0]


def truncate(
    axes: Axes, keep: Callable[[AxisRef, int], AxisRef | None], mesh: Mesh, *, conservative_propagation: bool
) -> Axes:
    """Truncate `axes` at the first axis that `keep(axis, shards before it)` shortens or drops."""
    sharded = 1
    for index, axis in enumerate(axes):
        kept = keep(axis, sharded)
        if kept is None or (conservative_propagation and kept.sub_axis):
            return axes[:index]
        if kept != axis:
            return (*axes[:index], kept)
        sharded *= kept.size(mesh)
    return axes


def prefix_across_factors(axis: AxisRef, tensor: TensorProjection, factor: int) -> AxisRef | None:
    """The prefix of `axis` that no other factor of `tensor` uses, or None."""
    result: AxisRef | None = axis
    for index, other in enumerate(tensor.factors):
        if other is None or index == factor:
            continue
        result = prefix_without_all(result, other.overflow)
        if result is None or (result := prefix_without_all(result, other.axes)) is None:
            return None
    return result


def prefix_within_factor(
    axis: AxisRef, tensor: TensorProjection, along: FactorSharding, sharded: int, factor_size: int, mesh: Mesh
) -> AxisRef | None:
    """The prefix of `axis` that `tensor` can have along a factor, whose sharding is `along`, or None.

    sharded: the number of shards that the axes before this one make.
    """
    result = prefix_without_all(axis, tensor.replicated + tensor.unreduced)
    if result is None or any(have.contains(result) for have in along.axes):
        return result
    if not along.is_closed and not along.overflow:
        if along.is_minor_most:
            return result
        if factor_size % sharded == 0:
            size = result.size(mesh)
            fitting = gcd(factor_size // sharded, size)
            if fitting == size:
                return result
            if fitting != 1:
                return AxisRef(result.name, SubAxis(result.pre_size, fitting))
    # The factor cannot be extended, but keeps its last axis if that is a prefix of `result`.
    return along.axes[-1] if along.axes and along.axes[-1].is_prefix_of(result) else None


def _prefix_for_all(
    projection: Projection, factor: int, size: int, mesh: Mesh, axis: AxisRef, sharded: int
) -> AxisRef | None:
    result: AxisRef | None = axis
    for tensor in projection.tensors:
        result = prefix_across_factors(result, tensor, factor)
        along = tensor.factors[factor]
        if result is not None and along is not None:
            result = prefix_within_factor(result, tensor, along, sharded, size, mesh)
        if result is None:
            return None
    return result


def _join_all(
    axes: Axes, tensors: Sequence[TensorProjection], factor: int, can_expand: bool
) -> tuple[Axes, bool]:
    for tensor in tensors:
        along = tensor.factors[factor]
        if along is not None:
            axes, can_expand = join(axes, along.axes, can_expand=can_expand)
    return axes, can_expand


def join(old: Axes, new: Axes, *, can_expand: bool) -> tuple[Axes, bool]:
    """The compatible axes of `old` and `new`, and whether further lists can extend them.

    >>> a, b, c = AxisRef("a"), AxisRef("b"), AxisRef("c")
    >>> join((a, b), (a, c), can_expand=True) == ((a,), False)
    True
    """
    result: list[AxisRef] = []
    for index, (mine, its) in enumerate(zip(old, new, strict=False)):
        if mine == its:
            result.append(mine)
        elif its.is_prefix_of(mine):
            # The shorter axis ends its list, or else what follows it contradicts the rest of the longer one.
            if index + 1 < len(new):
                return (*result, its), False
            result.append(mine)
        elif mine.is_prefix_of(its):
            if not can_expand or index + 1 < len(old):
                return (*result, mine), False
            result.append(its)
        else:
            return tuple(result), False
    result.extend(old[len(new) :])
    if can_expand:
        result.extend(new[len(old) :])
    return tuple(result), can_expand
