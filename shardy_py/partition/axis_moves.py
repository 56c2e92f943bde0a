"""The difference between the current and the wanted sharding during a reshard: `AxisMoves`.

Holds for each dimension the axes that it has and those that it is to have, without their common prefix. Axes
are split so that any two that overlap are equal.

    from [{"x", "y"}, {}] to [{"x"}, {"y"}]     have [["y"], []], want [[], ["y"]]

Not here: which collectives are chosen (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Self

from shardy_py.sharding import Axes, AxisRef, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import append_axes

Place = tuple[int, int]
"""A dimension and an index in its list."""


class AxisMoves:
    """The difference between the current and the wanted sharding.

    current: the axes of each dimension, merged where possible.
    have: those of them behind the common prefix.
    want: the axes that each dimension is to have instead of `have`.
    """

    def __init__(self, source: TensorSharding, target: TensorSharding, mesh: Mesh) -> None:
        self.mesh = mesh
        self.current = [dimension.axes for dimension in source.dimensions]
        wanted = [dimension.axes for dimension in target.dimensions]
        self.have = [_split_all(axes, _ordered(wanted), mesh) for axes in self.current]
        self.want = [_split_all(axes, _ordered(self.current), mesh) for axes in wanted]
        for have, want in zip(self.have, self.want, strict=True):
            while have and want and have[0] == want[0]:
                del have[0], want[0]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.current)

    @property
    def is_done(self) -> bool:
        """Whether the current sharding is the wanted one."""
        return not any(self.have) and not any(self.want)

    def copy(self) -> Self:
        """An independent copy."""
        other = copy(self)
        other.current = list(self.current)
        other.have, other.want = [list(axes) for axes in self.have], [list(axes) for axes in self.want]
        return other

    def has(self, axis: AxisRef) -> bool:
        """Whether `axis` shards a dimension, in another place than wanted."""
        return any(axis in axes for axes in self.have)

    def places(self) -> dict[AxisRef, Place]:
        """The place where each axis is wanted."""
        return {a: (dim, index) for dim, axes in enumerate(self.want) for index, a in enumerate(axes)}

    def add(self, dimension: int, axes: Iterable[AxisRef]) -> None:
        """Appends `axes` to the current sharding of `dimension`."""
        self.current[dimension] = append_axes(self.current[dimension], axes, self.mesh)

    def pop(self, dimension: int, start: int = 0) -> list[AxisRef]:
        """Removes the axes that `dimension` has from index `start` on, and returns them."""
        popped = self.have[dimension][start:]
        del self.have[dimension][start:]
        current = list(self.current[dimension])
        for axis in reversed(popped):
            last = current.pop()
            if prefix := last.prefix_without(axis):
                current.append(prefix)
        self.current[dimension] = tuple(current)
        return popped

    def arrive(self, dimension: int, axes: Sequence[AxisRef]) -> None:
        """Appends `axes` to `dimension`; those that are wanted next there are done."""
        self.add(dimension, axes)
        have, want = self.have[dimension], self.want[dimension]
        for axis in axes:
            if not have and want and want[0] == axis:
                del want[0]
            else:
                have.append(axis)

    def distribute(
        self, available: Sequence[list[AxisRef]], capacities: list[int], *, at_front: bool = False
    ) -> list[tuple[int, AxisRef]]:
        """Adds axes to `have`, dimension by dimension, within the capacities; returns dimensions and axes.

        available: for each dimension the axes it may take; they are removed. All may be the same list.
        capacities: into how many parts each dimension may still be split; updated.
        at_front: before the axes of a dimension, not behind them.
        """
        placed: list[tuple[int, AxisRef]] = []
        divided: list[AxisRef] = []
        for dimension, axes in enumerate(available):
            have = self.have[dimension]
            position = 0 if at_front else len(have)
            index = 0
            while index < len(axes) and capacities[dimension] > 1:
                within, rest = fit(axes[index], capacities[dimension], self.mesh)
                if within is None:
                    index += 1
                    continue
                capacities[dimension] //= within.size(self.mesh)
                del axes[index]
                have.insert(position, within)
                position += 1
                placed.append((dimension, within))
                if rest is not None:
                    divided.append(within)
                    axes.insert(0, rest)
                    index += 1
        if divided:
            divided.sort(key=lambda axis: axis.order)
            self.want = [_split_all(want, divided, self.mesh) for want in self.want]
        return placed


def fit(axis: AxisRef, capacity: int, mesh: Mesh) -> tuple[AxisRef | None, AxisRef | None]:
    """The major part of `axis` of at most size `capacity`, and the rest of it; None if there is none."""
    size = axis.size(mesh)
    if capacity <= 1 or not is_multiple(size, capacity):
        return None, None
    if capacity >= size:
        return axis, None
    within = SubAxis(axis.pre_size, capacity)
    rest = SubAxis(within.next_pre_size, size // capacity)
    return AxisRef(axis.name, within), AxisRef(axis.name, rest)


def is_multiple(first: int, second: int) -> bool:
    """Whether one divides the other."""
    return first % second == 0 or second % first == 0


def _ordered(axes_per_dimension: Iterable[Axes]) -> list[AxisRef]:
    return sorted((a for axes in axes_per_dimension for a in axes), key=lambda axis: axis.order)


def _split_all(axes: Iterable[AxisRef], others: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    return [part for axis in axes for part in _split(axis, others, mesh)]


def _split(axis: AxisRef, others: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """`axis` split where one of `others` starts or ends; `others` are disjoint and in order."""
    first = next((index for index, other in enumerate(others) if axis.overlaps(other)), len(others))
    parts: list[AxisRef] = []
    rest: AxisRef | None = axis
    for other in others[first:]:
        common = rest.overlap(other)
        if common is None or common == rest:
            break
        if prefix := rest.prefix_without(other):
            parts.append(prefix)
        parts.append(common)
        rest = rest.suffix_without(other, mesh)
        if rest is None:
            return parts
    return [*parts, rest]
