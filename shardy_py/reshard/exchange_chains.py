"""A permute within a dimension, then all-to-alls out of it, as all-to-alls of a reshaped tensor alone.

A permute that only reorders the axes of a dimension prepares it for all-to-alls that move its last axes away.
With the dimension reshaped into one for each axis, they move in any order, and nothing is to be reordered:

    tensor<16x8x8>       [{"x", "y"}, {}, {}]      permute to [{"y", "x"}, {}, {}]
                                                   all-to-alls: "x" from 0 to 2, "y" from 0 to 1
    tensor<2x2x4x8x8>    [{"x"}, {"y"}, ...]       all-to-alls: "x" from 0 to 4, "y" from 1 to 3

Axes that stay in the dimension move to its first parts, in their order at the end. As Shardy's
`sdy-optimize-collectives`. Not here: the ops (`passes/export/optimize_collectives.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.reshard.axis_moves import aligned_axes
from shardy_py.reshard.compare import is_same_layout
from shardy_py.sharding import Axes, AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, total_size

Params = tuple[tuple[Axes, int, int], ...]
"""Axes, the dimension that they leave, the dimension that they move to."""


@dataclass(frozen=True, slots=True)
class ExchangeStage:
    """One all-to-all: what moves, and the sharding after it."""

    params: Params
    sharding: TensorSharding


@dataclass(frozen=True, slots=True)
class SplitExchange:
    """All-to-alls of a reshaped tensor: its shape, its sharding before them, and these."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    stages: tuple[ExchangeStage, ...]


def permuted_dimension(source: TensorSharding, permuted: TensorSharding, mesh: Mesh) -> int | None:
    """The one dimension whose axes the permute puts in another order, None if it does anything else."""
    if source.mesh != permuted.mesh or source.rank == 0:
        return None
    if any(a.is_closed != b.is_closed for a, b in zip(source.dimensions, permuted.dimensions, strict=True)):
        return None
    before, after = aligned_axes(source, permuted, mesh)
    changed = [dim for dim, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if len(changed) != 1:
        return None
    (dimension,) = changed
    own, its = before[dimension], after[dimension]
    return dimension if len(own) >= 2 and len(own) == len(its) and set(own) == set(its) else None


def split_exchange(
    shape: Sequence[int],
    source: TensorSharding,
    permuted: TensorSharding,
    exchanges: Sequence[Params],
    target: TensorSharding,
    mesh: Mesh,
) -> SplitExchange | None:
    """The all-to-alls in place of a permute and `exchanges`, which leave its `permuted_dimension`.

    None where the permute is needed: no reordered axis moves away, several move as one, the parts of the
    dimension are uneven, or axes that stay would have to change places.

    source, permuted, target: shardings before, between, and after all.
    """
    dimension = permuted_dimension(source, permuted, mesh)
    if dimension is None:
        return None
    before, after = aligned_axes(source, permuted, mesh)
    own = before[dimension]
    reordered = [axis for axis, other in zip(own, after[dimension], strict=True) if axis != other]
    moved = [axis for params in exchanges for axes, _, _ in params for axis in axes]
    if not any(axis.contains(part) for axis in moved for part in reordered):
        return None
    if any(_count_parts(axes, own) > 1 for params in exchanges for axes, _, _ in params):
        return None
    parts, size = total_size(own, mesh), shape[dimension]
    if size < parts or size % parts:
        return None
    state = _Split.of(shape, source, dimension, own, mesh)
    stages = [stage for params in exchanges for stage in state.leave(params, own)]
    ordered = state.reorder(target.dimensions[dimension].axes)
    if not stages or ordered is None:
        return None
    if not is_same_layout(state.sharding, state.shape, target, shape, mesh):
        return None
    first = _Split.of(shape, source, dimension, own, mesh)
    return SplitExchange(first.shape, first.sharding, (*stages, *ordered))


def _count_parts(axes: Axes, own: Sequence[AxisRef]) -> int:
    return sum(axis.contains(part) for axis in axes for part in own)


@dataclass(slots=True)
class _Split:
    """The tensor whose `dimension` is reshaped into `count` ones, one for each axis and one for the rest."""

    shape: tuple[int, ...]
    sharding: TensorSharding
    dimension: int
    count: int
    mesh: Mesh

    @staticmethod
    def of(
        shape: Sequence[int], sharding: TensorSharding, dimension: int, axes: Sequence[AxisRef], mesh: Mesh
    ) -> _Split:
        sizes = [axis.size(mesh) for axis in axes]
        inner = [DimensionSharding((axis,), is_closed=True) for axis in axes]
        rest = shape[dimension] // total_size(axes, mesh)
        if rest > 1:
            sizes.append(rest)
            inner.append(DimensionSharding(is_closed=True))
        ends = slice(0, dimension), slice(dimension + 1, None)
        before, after = (sharding.dimensions[end] for end in ends)
        split = replace(sharding, dimensions=(*before, *inner, *after))
        return _Split((*shape[ends[0]], *sizes, *shape[ends[1]]), split, dimension, len(inner), mesh)

    def leave(self, params: Params, own: Sequence[AxisRef]) -> list[ExchangeStage]:
        """Moves each axis from its own dimension to the target of the all-to-all.

        At once, but one after the other if several go to one dimension, where their order counts.
        """
        found: Params = tuple(
            ((part,), self.dimension + number, self._outside(target))
            for axes, _, target in params
            for axis in axes
            for number, part in enumerate(own)
            if axis.contains(part)
        )
        if len({target for _, _, target in found}) < len(found):
            return [self._move((param,)) for param in found]
        return [self._move(tuple(sorted(found, key=lambda param: param[1])))] if found else []

    def reorder(self, wanted: Axes) -> list[ExchangeStage] | None:
        """Moves the axes that stay to the first dimensions, in the order `wanted`; None if they block it."""
        if len(wanted) > self.count:
            return None
        stages: list[ExchangeStage] = []
        while (present := self._present()[: len(wanted)]) != [*wanted]:
            free = (place for place, axis in enumerate(present) if axis is None)
            place = next(free, None)
            if place is None or wanted[place] not in self._present():
                return None
            start = self._present().index(wanted[place])
            stages.append(self._move((((wanted[place],), self.dimension + start, self.dimension + place),)))
        return stages

    def _present(self) -> list[AxisRef | None]:
        inner = self.sharding.dimensions[self.dimension : self.dimension + self.count]
        return [dimension.axes[0] if dimension.axes else None for dimension in inner]

    def _outside(self, dimension: int) -> int:
        return dimension if dimension < self.dimension else dimension + self.count - 1

    def _move(self, params: Params) -> ExchangeStage:
        dimensions = list(self.sharding.dimensions)
        for axes, source, target in params:
            dimensions[source] = DimensionSharding(is_closed=True)
            joined = append_axes(dimensions[target].axes, axes, self.mesh)
            dimensions[target] = replace(dimensions[target], axes=joined)
        self.sharding = replace(self.sharding, dimensions=tuple(dimensions))
        return ExchangeStage(params, self.sharding)
