"""Projects shardings of dimensions to the factors of a rule, and back.

A dimension is a product of factors; projecting assigns its axes to them, major to minor, and splits an axis
where a factor is full. The inverse joins them.

    rule ([ij])->([i, j]) {i=2, j=4}, mesh <["x"=4, "y"=2]>, operand [{"x", "y"}], result [{?}, {?}]
    operand: i: "x":(1)2   j: "x":(2)2, "y"        result: i: (none)   j: (none)
    with the axes of the operand, the result is [{"x":(1)2, ?}, {"x":(2)2, "y", ?}]

Not here: which axes to propagate (`propagation/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd

from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.axis_lists import (
    Axes,
    append_axes,
    append_axis,
    common_prefix,
    is_strict_prefix,
    total_size,
)
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.rule import DimMapping, ShardingRule, TensorMapping
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding


@dataclass(frozen=True, slots=True)
class FactorSharding:
    """The sharding of one tensor along one factor.

    axes: major to minor. is_closed: whether it must not be sharded further. is_minor_most: whether it is the
    last factor of its dimension; only that one may be sharded unevenly. overflow: the last axes of the
    dimension, which block it: the first of them and the rest of the factor have no common divisor.
    """

    axes: Axes = ()
    is_closed: bool = False
    is_minor_most: bool = False
    overflow: Axes = ()


@dataclass(frozen=True, slots=True)
class TensorProjection:
    """One tensor: a `FactorSharding` for each factor of the rule, None for factors not in the tensor."""

    factors: tuple[FactorSharding | None, ...]
    replicated: Axes = ()
    unreduced: Axes = ()
    reduction: str = "sum"

    def with_factor(self, factor: int, axes: Axes) -> TensorProjection:
        """Replaces the axes along `factor`, which the tensor has."""
        old = self.factors[factor]
        assert old is not None
        new = replace(old, axes=axes)
        return replace(self, factors=(*self.factors[:factor], new, *self.factors[factor + 1 :]))

    def along(self, axes: Mapping[int, Axes]) -> TensorProjection:
        """Replaces the axes along some factors, by factor, if the tensor has them; without overflow there."""
        factors = [
            f
            if f is None or (own := axes.get(number)) is None or (f.axes == own and not f.overflow)
            else replace(f, axes=own, overflow=())
            for number, f in enumerate(self.factors)
        ]
        return replace(self, factors=tuple(factors))

    def expanded(self, factor: int, axes: Axes) -> TensorProjection:
        """Replaces the axes along `factor` by `axes` if they extend them; else returns the same object."""
        old = self.factors[factor]
        extends = old is not None and is_strict_prefix(old.axes, axes)
        return self.with_factor(factor, axes) if extends else self

    def sharding_size(self, mesh: Mesh) -> int:
        """The number of parts of the tensor."""
        return total_size((a for f in self.factors if f for a in f.axes + f.overflow), mesh)

    @property
    def has_overflow(self) -> bool:
        """Returns whether axes of a dimension do not fit its factors."""
        return any(f is not None and f.overflow for f in self.factors)

    def to_sharding(
        self, mapping: TensorMapping, factor_sizes: Sequence[int], mesh_name: str | Mesh, mesh: Mesh
    ) -> TensorSharding:
        """The sharding by dimensions. Factors behind a partly sharded one are dropped: they need strides."""
        dimensions = tuple(self._dimension(dimension, factor_sizes, mesh) for dimension in mapping)
        return TensorSharding(mesh_name, dimensions, self.replicated, self.unreduced, self.reduction)

    def _dimension(self, dimension: DimMapping, factor_sizes: Sequence[int], mesh: Mesh) -> DimensionSharding:
        axes: Axes = ()
        is_closed = False
        for index in dimension:
            factor = self.factors[index]
            assert factor is not None
            is_closed |= factor.is_closed
            axes = _join(axes, factor.axes, mesh)
            if factor.overflow:
                axes = _join(axes, factor.overflow, mesh)
                break
            if total_size(factor.axes, mesh) < factor_sizes[index]:
                break
        return DimensionSharding(axes, is_closed)


@dataclass(frozen=True, slots=True)
class Projection:
    """All tensors of an op: operands, then results, in the order of `rule.tensors`."""

    tensors: tuple[TensorProjection, ...]
    operand_count: int

    @staticmethod
    def build(
        rule: ShardingRule,
        shardings: Iterable[TensorSharding | None],
        mesh: Mesh,
        *,
        closed_if_missing: bool = False,
    ) -> Projection:
        """Projects the sharding of each tensor of `rule`; None is an empty sharding, open or closed."""
        sizes, pairs = rule.factor_sizes, zip(shardings, rule.tensors, strict=True)
        tensors = (
            project(s, mapping, sizes, mesh, closed_if_missing=closed_if_missing) for s, mapping in pairs
        )
        return Projection(tuple(tensors), len(rule.operands))

    @property
    def operands(self) -> tuple[TensorProjection, ...]:
        """The tensors read."""
        return self.tensors[: self.operand_count]

    @property
    def results(self) -> tuple[TensorProjection, ...]:
        """The tensors made."""
        return self.tensors[self.operand_count :]

    def expanded(self, factor: int, axes: Axes) -> Projection:
        """`TensorProjection.expanded` on every tensor."""
        return Projection(tuple(t.expanded(factor, axes) for t in self.tensors), self.operand_count)

    def along(self, axes: Mapping[int, Axes]) -> Projection:
        """`TensorProjection.along` on every tensor."""
        return Projection(tuple(tensor.along(axes) for tensor in self.tensors), self.operand_count)

    def changed_since(self, before: Projection) -> tuple[int, ...]:
        """The indices of the tensors that differ from `before`."""
        pairs = zip(self.tensors, before.tensors, strict=True)
        return tuple(i for i, (new, old) in enumerate(pairs) if new is not old and new != old)

    def common_prefix_axes(self, factor_count: int) -> tuple[Axes, ...]:
        """For each factor the largest common prefix of all tensors that have it."""
        along = ([f.axes for t in self.tensors if (f := t.factors[i])] for i in range(factor_count))
        return tuple(reduce(common_prefix, lists) if lists else () for lists in along)


def project(
    sharding: TensorSharding | None,
    mapping: TensorMapping,
    factor_sizes: Sequence[int],
    mesh: Mesh,
    *,
    closed_if_missing: bool = False,
) -> TensorProjection:
    """Assigns the axes of each dimension of `sharding` to the factors of `mapping`."""
    factors: list[FactorSharding | None] = [None] * len(factor_sizes)
    for index, dimension in enumerate(mapping):
        if sharding is None:
            for factor in dimension:
                factors[factor] = FactorSharding((), closed_if_missing, factor == dimension[-1])
        else:
            given = sharding.dimensions[index]
            _project_dimension(factors, dimension, given.axes, given.is_closed, factor_sizes, mesh)
    if sharding is None:
        return TensorProjection(tuple(factors))
    others = sharding.replicated_axes, sharding.unreduced_axes
    return TensorProjection(tuple(factors), *others, sharding.reduction)


def _project_dimension(
    factors: list[FactorSharding | None],
    dimension: DimMapping,
    axes: Axes,
    is_closed: bool,
    factor_sizes: Sequence[int],
    mesh: Mesh,
) -> None:
    rest = _Rest(axes, mesh)
    for factor in dimension[:-1]:
        taken, left = rest.take(factor_sizes[factor])
        if left > 1 and rest.has_more:
            factors[factor] = FactorSharding(taken, is_closed, False, rest.take_all())
            # Nothing can be sharded behind an overflow; factors behind the next one count as absent.
            following = dimension[dimension.index(factor) + 1]
            factors[following] = FactorSharding((), True, following == dimension[-1])
            return
        factors[factor] = FactorSharding(taken, is_closed, False)
    if dimension:
        # The minor-most factor may be sharded unevenly: that needs padding, not strides.
        factors[dimension[-1]] = FactorSharding(rest.take_all(), is_closed, True)


class _Rest:
    """The unassigned axes of a dimension; the first of them may be partly assigned."""

    def __init__(self, axes: Axes, mesh: Mesh) -> None:
        self._axes = axes
        self._mesh = mesh
        self._index = 0
        self._load()

    def _load(self) -> None:
        """Goes to the start of the axis at `_index`; `current` is None if all are assigned."""
        self.current: AxisRef | None = self._axes[self._index] if self.has_more else None
        self.size = self.current.size(self._mesh) if self.current else 1

    @property
    def has_more(self) -> bool:
        """Returns whether axes are left."""
        return self._index < len(self._axes)

    def split(self, size: int) -> AxisRef:
        """Takes the major part of `size` from the first axis, whose size it divides."""
        axis = self.current
        assert axis is not None
        if size >= self.size:
            self._index += 1
            self._load()
            return axis
        part = SubAxis(axis.pre_size, size)
        self.size //= size
        self.current = AxisRef(axis.name, SubAxis(part.next_pre_size, self.size))
        return AxisRef(axis.name, part)

    def take(self, factor_size: int) -> tuple[Axes, int]:
        """Takes axes as long as they divide the factor; also returns the rest of its size."""
        taken: list[AxisRef] = []
        while self.has_more:
            common = gcd(factor_size, self.size)
            if common == 1 and self.size != 1:
                break
            taken.append(self.split(common))
            factor_size //= common
        return tuple(taken), factor_size

    def take_all(self) -> Axes:
        """Takes all axes, consecutive sub-axes merged."""
        axes: Axes = ()
        while self.has_more:
            axes = append_axis(axes, self.split(self.size), self._mesh)
        return axes


def distribute_axes(
    factors: Sequence[FactorSharding], factor_sizes: Sequence[int], axes: Axes, mesh: Mesh
) -> tuple[FactorSharding, ...]:
    """Assigns `axes` to `factors`, each axis to the first factor that it or a sub-axis of it divides.

    Unlike in `project`, a factor that an axis does not fit is skipped, so axes overflow (into the last
    factor) only if they fit no factor.
    """
    if not factors:
        return ()
    result, left = list(factors), list(factor_sizes)
    rest = _Rest(axes, mesh)
    while rest.has_more:
        was_used = False
        for index, size in enumerate(left):
            common = gcd(size, rest.size)
            if size <= 1 or (common == 1 and rest.size != 1):
                continue
            was_used = True
            is_whole = common >= rest.size
            part = rest.split(common)
            result[index] = replace(result[index], axes=append_axis(result[index].axes, part, mesh))
            left[index] //= common
            if is_whole:
                break
        if not was_used:
            overflow = append_axes(result[-1].overflow, rest.take_all(), mesh)
            result[-1] = replace(result[-1], overflow=overflow)
    return tuple(result)


def _join(axes: Axes, more: Axes, mesh: Mesh) -> Axes:
    """`axes` followed by `more`; sub-axes that continue each other between them are merged."""
    return (*append_axis(axes, more[0], mesh), *more[1:]) if more else axes
