"""The axes by which all tensors of an op are to be sharded, factor by factor, so that no reshard is needed.

If the tensors are compatible, these are the axes they have. Otherwise axes are assigned to factors greedily,
the pair that avoids most reshards first, measured by the total size of the tensors that are sharded that way.

    rule ([i, k], [k, j])->([i, j]), i and k of the left tensor by "x", the other tensors by nothing
    candidates (i, "x") and (k, "x"); they exclude each other; (i, "x") wins: no reduction

Not here: the reshards that follow (`reshard_plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shardy_py.base.records import dataclass
from shardy_py.sharding import Axes, FactorType, Mesh, Projection, ShardingRule, TensorProjection
from shardy_py.sharding.axis_lists import (
    append_axis,
    is_strict_prefix,
    overlaps,
    total_size,
    truncate_overlaps,
)

AxesPerFactor = tuple[Axes, ...]

_PRECEDENCE = {
    FactorType.PASS_THROUGH: 3,
    FactorType.REDUCTION: 2,
    FactorType.PERMUTATION: 1,
    FactorType.NEED_REPLICATION: 0,
}
"""The order in which types of factors are sharded: the cheaper, the higher."""


def common_axes(
    projection: Projection, rule: ShardingRule, tensor_sizes: Sequence[int], mesh: Mesh
) -> AxesPerFactor:
    """For each factor of `rule`, the axes by which every tensor with it is to be sharded.

    tensor_sizes: elements of each tensor, operands first; 0 without a static shape.
    """
    compatible = compatible_axes(projection, rule)
    if compatible is not None:
        return compatible
    needs_replication = any(f.type is FactorType.NEED_REPLICATION for f in rule.factors)
    non_scalars = [index for index, mapping in enumerate(rule.tensors) if mapping]
    is_split = any(len(factors) > 1 for mapping in rule.tensors for factors in mapping)
    if len(non_scalars) == 2 and not needs_replication and not is_split:
        return _from_preferred(projection, rule, non_scalars, tensor_sizes, mesh)
    chosen = _Choice(projection, rule, tensor_sizes, mesh).run()
    return _move_to_batching(chosen, rule, mesh) if needs_replication else chosen


def compatible_axes(projection: Projection, rule: ShardingRule) -> AxesPerFactor | None:
    """The axes of each factor if no reshard is needed, else None."""
    result: list[Axes] = []
    seen: Axes = ()
    for index, factor in enumerate(rule.factors):
        axes = shared_axes(projection, index)
        if axes is None:
            return None
        if factor.type is FactorType.NEED_REPLICATION:
            if axes:
                return None
        elif axes and overlaps(axes, seen):
            return None
        result.append(axes)
        seen += axes
    return tuple(result)


def shared_axes(projection: Projection, factor: int) -> Axes | None:
    """The axes along `factor` if all tensors with it agree, else None."""
    found = {f.axes for tensor in projection.tensors if (f := tensor.factors[factor]) is not None}
    if len(found) > 1:
        return None
    return found.pop() if found else ()


def _from_preferred(
    projection: Projection,
    rule: ShardingRule,
    non_scalars: Sequence[int],
    tensor_sizes: Sequence[int],
    mesh: Mesh,
) -> AxesPerFactor:
    """Keeps one of the two tensors: without sharded permutation factors, larger, of more parts, the first."""

    def preference(index: int) -> tuple[bool, int, int]:
        tensor = projection.tensors[index]
        return not _has_sharded_permutation(tensor, rule), tensor_sizes[index], tensor.sharding_size(mesh)

    first, second = non_scalars
    if preference(first) < preference(second):
        first, second = second, first
    kept = [f.axes if f is not None else None for f in projection.tensors[first].factors]
    taken = tuple(axis for axes in kept if axes for axis in axes)
    others = projection.tensors[second].factors
    return tuple(
        axes if axes is not None else truncate_overlaps(other.axes, taken) if other is not None else ()
        for axes, other in zip(kept, others, strict=True)
    )


def _has_sharded_permutation(tensor: TensorProjection, rule: ShardingRule) -> bool:
    pairs = zip(tensor.factors, rule.factors, strict=True)
    return any(f is not None and f.axes and r.type is FactorType.PERMUTATION for f, r in pairs)


@dataclass(slots=True)
class _Candidate:
    """Axes that may be assigned to a factor.

    source_size: the total size of the tensors that are sharded by them, or by more, along the factor.
    gain: the number of parts beyond those by the axes that the factor has.
    """

    factor: int
    axes: Axes
    source_size: int
    precedence: int
    gain: int

    def key(self) -> tuple[int, int, int, int, int, list[tuple[str, int, int]]]:
        order = [axis.order for axis in self.axes]
        return self.source_size, self.precedence, self.gain, self.factor, len(order), order


class _Choice:
    """Assigns axes to factors greedily; a pick truncates or removes the candidates that overlap it."""

    def __init__(
        self, projection: Projection, rule: ShardingRule, tensor_sizes: Sequence[int], mesh: Mesh
    ) -> None:
        self._mesh = mesh
        self._rule = rule
        self._assigned: list[Axes] = [()] * len(rule.factors)
        self._candidates = _candidates(projection, rule, tensor_sizes, mesh)
        self._waits_for = _dependencies(rule)

    def run(self) -> AxesPerFactor:
        while free := [c for c in self._candidates if not self._waits_for.get(c.factor)]:
            self._pick(max(free, key=_Candidate.key))
        return tuple(self._assigned)

    def _pick(self, best: _Candidate) -> None:
        factor, axes = best.factor, best.axes
        self._assigned[factor] = axes
        if total_size(axes, self._mesh) == self._rule.factors[factor].size:
            for waiting in self._waits_for.values():
                waiting.discard(factor)
        self._candidates = [c for c in self._candidates if self._update(c, factor, axes)]

    def _update(self, candidate: _Candidate, factor: int, axes: Axes) -> bool:
        """Adjusts `candidate` to the pick; returns whether it is still one."""
        if candidate.factor == factor:
            self._set_gain(candidate, axes)
            return is_strict_prefix(axes, candidate.axes)
        left = truncate_overlaps(candidate.axes, axes)
        if left == candidate.axes:
            # Shardy counts all axes here, not only those beyond the axes of the factor.
            self._set_gain(candidate, ())
            return True
        candidate.axes = left
        self._set_gain(candidate, self._assigned[candidate.factor])
        return left != self._assigned[candidate.factor]

    def _set_gain(self, candidate: _Candidate, had: Axes) -> None:
        candidate.gain = total_size(candidate.axes, self._mesh) // total_size(had, self._mesh)


def _candidates(
    projection: Projection, rule: ShardingRule, tensor_sizes: Sequence[int], mesh: Mesh
) -> list[_Candidate]:
    sources = [
        (factor, f.axes, size)
        for tensor, size in zip(projection.tensors, tensor_sizes, strict=True)
        for factor, f in enumerate(tensor.factors)
        if f is not None and f.axes
    ]
    pairs = dict.fromkeys(
        (factor, axes[:length]) for factor, axes, _ in sources for length in range(len(axes), 0, -1)
    )
    return [
        _Candidate(
            factor,
            axes,
            sum(
                s for f, have, s in sources if f == factor and (have == axes or is_strict_prefix(axes, have))
            ),
            _PRECEDENCE[rule.factors[factor].type],
            total_size(axes, mesh),
        )
        for factor, axes in pairs
    ]


def _dependencies(rule: ShardingRule) -> dict[int, set[int]]:
    """For each factor those before it in a dimension: sharding it before they are full requires strides."""
    result: dict[int, set[int]] = {}
    for mapping in rule.tensors:
        for dimension in mapping:
            for before, factor in pairwise(dimension):
                result.setdefault(factor, set()).add(before)
    return result


def _move_to_batching(axes_per_factor: AxesPerFactor, rule: ShardingRule, mesh: Mesh) -> AxesPerFactor:
    """Moves the axes of factors that need replication to batching factors that they divide."""
    result = list(axes_per_factor)
    tensors = [mapping for mapping in rule.tensors if mapping]  # without scalars
    factors = range(len(rule.factors))
    everywhere = {f for f in factors if all(any(f in d for d in mapping) for mapping in tensors)}
    batching = [f for f in sorted(everywhere) if rule.factors[f].type is FactorType.PASS_THROUGH]
    for index, factor in enumerate(rule.factors):
        if factor.type is FactorType.NEED_REPLICATION:
            axes, result[index] = result[index], ()
            if index in everywhere:
                _distribute(axes, batching, result, rule, mesh)
    return tuple(result)


def _distribute(
    axes: Axes, batching: Sequence[int], result: list[Axes], rule: ShardingRule, mesh: Mesh
) -> None:
    for index in batching:
        size = rule.factors[index].size
        parts = total_size(result[index], mesh)
        if size == 0 or size % parts:
            continue
        room = size // parts
        while axes and room % axes[0].size(mesh) == 0:
            room //= axes[0].size(mesh)
            result[index] = append_axis(result[index], axes[0], mesh)
            axes = axes[1:]
