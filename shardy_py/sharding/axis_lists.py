"""Lists of axes, major to minor: prefixes, overlaps, differences, merging.

Not here: a single axis (`axes.py`), which list shards which dimension (`tensor_sharding.py`).

>>> from shardy_py.sharding.mesh import MeshAxis
>>> mesh = Mesh((MeshAxis("x", 4),))
>>> [str(a) for a in append_axis((AxisRef("x", SubAxis(1, 2)),), AxisRef("x", SubAxis(2, 2)), mesh)]
['"x"']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import combinations, pairwise
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.spelling import unknown_axis

Axes = tuple[AxisRef, ...]


class Prefix(Enum):
    """The relation of one list of axes to another."""

    EQUAL = 0
    STRICT = 1
    NONE = 2


def prefix_status(first: Axes, second: Axes) -> Prefix:
    """Returns whether `first` is a prefix of `second`; its last axis may be a major sub-axis there."""
    if first == second:
        return Prefix.EQUAL
    if not first:
        return Prefix.STRICT
    last = len(first) - 1
    if last >= len(second) or first[:last] != second[:last]:
        return Prefix.NONE
    return Prefix.STRICT if first[last].is_prefix_of(second[last]) else Prefix.NONE


def is_strict_prefix(first: Axes, second: Axes) -> bool:
    """Returns whether `second` shards further along the same axes than `first`."""
    return prefix_status(first, second) is Prefix.STRICT


def total_size(axes: Iterable[AxisRef], mesh: Mesh) -> int:
    """The number of parts of a dimension sharded along `axes`."""
    return prod(axis.size(mesh) for axis in axes)


def append_axis(axes: Axes, axis: AxisRef, mesh: Mesh) -> Axes:
    """`axes` with `axis` at the end, merged with the last one if it continues that."""
    if axes and axes[-1].can_merge(axis):
        return (*axes[:-1], axes[-1].merge(axis, mesh))
    return (*axes, axis)


def append_axes(axes: Axes, more: Iterable[AxisRef], mesh: Mesh) -> Axes:
    """`append_axis` for each of `more`."""
    for axis in more:
        axes = append_axis(axes, axis, mesh)
    return axes


def prefix_without_all(axis: AxisRef, others: Iterable[AxisRef]) -> AxisRef | None:
    """The largest major part of `axis` that overlaps none of `others`."""
    result: AxisRef | None = axis
    for other in others:
        if result is None:
            return None
        if other.name == result.name:
            result = result.prefix_without(other)
    return result


def truncate_overlaps(axes: Axes, others: Iterable[AxisRef]) -> Axes:
    """The largest prefix of `axes` that overlaps none of `others`."""
    others = tuple(others)
    for index, axis in enumerate(axes):
        kept = prefix_without_all(axis, others)
        if kept != axis:
            return axes[:index] if kept is None else (*axes[:index], kept)
    return axes


def overlaps(first: Iterable[AxisRef], second: Iterable[AxisRef]) -> bool:
    """Returns whether an axis of `first` overlaps one of `second`."""
    second = tuple(second)
    return any(a.overlaps(b) for a in first for b in second)


def common_prefix(first: Axes, second: Axes) -> Axes:
    """The largest prefix of both lists."""
    result: list[AxisRef] = []
    for a, b in zip(first, second, strict=False):
        if a == b:
            result.append(a)
            continue
        prefix = a.common_prefix(b)
        return (*result, prefix) if prefix else tuple(result)
    return tuple(result)


def difference(first: Axes, second: Axes, mesh: Mesh) -> Axes:
    """The sub-axes of `first` that `second` does not cover, in the order of `first`."""
    if not first or first == second:
        return ()
    taken = sorted(second, key=lambda axis: axis.order)
    result: list[AxisRef] = []
    for axis in first:
        rest: AxisRef | None = axis
        while rest is not None:
            hit = next((other for other in taken if rest.overlaps(other)), None)
            if hit is None:
                result.append(rest)
                break
            prefix = rest.prefix_without(hit)
            if prefix is not None:
                result.append(prefix)
            rest = rest.suffix_without(hit, mesh)
    return tuple(result)


def sort_and_merge(axes: Iterable[AxisRef], mesh: Mesh) -> Axes:
    """Disjoint `axes` in mesh order, with consecutive sub-axes merged."""
    return append_axes((), sorted(axes, key=lambda axis: axis.order_in(mesh)), mesh)


def split_like(axes: Iterable[AxisRef], mesh: Mesh) -> Axes:
    """All axes of `mesh` in order, split wherever one of `axes` starts or ends."""
    points: dict[str, set[int]] = {axis.name: set() for axis in mesh.axes}
    for axis in axes:
        if sub := axis.sub_axis:
            points[axis.name] |= {1, sub.pre_size, sub.next_pre_size, mesh.sizes[axis.name]}
    result: list[AxisRef] = []
    for name, ends in points.items():
        parts = (SubAxis(low, high // low) for low, high in pairwise(sorted(ends)))
        result += [AxisRef(name, part) for part in parts] if ends else [AxisRef(name)]
    return tuple(result)


def check_axis_lists(lists: Iterable[tuple[str, Axes]], mesh: Mesh) -> None:
    """Raises ShardyError unless the named lists of axes of a sharding are disjoint axes of `mesh`."""
    named = [(where, axis) for where, axes in lists for axis in axes]
    for where, axis in named:
        size = mesh.sizes.get(axis.name)
        if size is None:
            raise unknown_axis(axis.name, mesh.sizes, what=where)
        part = axis.sub_axis
        if part and (part.pre_size < 1 or part.size < 1 or size % part.next_pre_size):
            expected, got = f"a divisor of the size {size} of the axis", f"{part.pre_size} * {part.size}"
            raise ShardyError.unexpected(f"{where}: sub-axis {axis}", expected=expected, got=got)
    by_name: dict[str, list[int]] = {}
    for number, (_, axis) in enumerate(named):
        by_name.setdefault(axis.name, []).append(number)
    overlaps = (_first_overlap([(n, named[n][1]) for n in numbers]) for numbers in by_name.values())
    for one, other in sorted(filter(None, overlaps))[:1]:
        (first, axis), (second, later) = named[one], named[other]
        raise ShardyError(f"{second}: {later} overlaps {axis} of {first}")


def _first_overlap(numbered: Sequence[tuple[int, AxisRef]]) -> tuple[int, int] | None:
    """The numbers of the first two references to an axis that overlap."""
    for (first, one), (second, other) in combinations(numbered, 2):
        if one.overlaps(other) or not one.can_coexist(other):
            return first, second
    return None
