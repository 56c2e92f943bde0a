"""References to mesh axes and sub-axes, and the arithmetic on them.

The sub-axis `"x":(2)4` is the middle of axis "x" split into (2, 4, rest), major to minor: pre_size 2, size 4.
It covers the divisors from 2 to 8 of the axis; all arithmetic below is interval arithmetic on these divisors.
Lists of axes are in `axis_lists.py`.

>>> str(AxisRef("x", SubAxis(2, 4)))
'"x":(2)4'
>>> str(AxisRef("x").prefix_without(AxisRef("x", SubAxis(2, 4))))
'"x":(1)2'
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.spelling import string_literal


@dataclass(frozen=True, slots=True, order=True)
class SubAxis:
    """A part of an axis: `pre_size` is the product of the more major parts, `size` its own size."""

    pre_size: int
    size: int

    @property
    def next_pre_size(self) -> int:
        """The pre-size of the sub-axis that follows."""
        return self.pre_size * self.size

    def __str__(self) -> str:
        return f"({self.pre_size}){self.size}"


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis of a mesh by name; `sub_axis` None means the full axis."""

    name: str
    sub_axis: SubAxis | None = None

    @property
    def pre_size(self) -> int:
        """The start of the interval of divisors: 1 for a full axis."""
        return self.sub_axis.pre_size if self.sub_axis else 1

    @property
    def order(self) -> tuple[str, int, int]:
        """A sort key: by name, then start, then size; a full axis comes after all its prefixes."""
        if self.sub_axis:
            return (self.name, self.sub_axis.pre_size, self.sub_axis.size)
        return (self.name, 1, sys.maxsize)

    def order_in(self, mesh: Mesh) -> tuple[int, int, int]:
        """A sort key: by the position of the axis in `mesh`, then start, then size."""
        return (mesh.order[self.name], *self.order[1:])

    def size(self, mesh: Mesh) -> int:
        """The number of parts of a dimension sharded along this axis."""
        return self.sub_axis.size if self.sub_axis else mesh.sizes[self.name]

    def next_pre_size(self, mesh: Mesh) -> int:
        """The end of the interval of divisors: the full size for a full axis."""
        return self.sub_axis.next_pre_size if self.sub_axis else mesh.sizes[self.name]

    def contains(self, other: AxisRef) -> bool:
        """Returns whether `other` is this axis or a sub-axis of it."""
        if other.name != self.name:
            return False
        if not self.sub_axis or not other.sub_axis:
            return not self.sub_axis
        inner, outer = other.sub_axis, self.sub_axis
        return outer.pre_size <= inner.pre_size and outer.next_pre_size >= inner.next_pre_size

    def is_prefix_of(self, other: AxisRef) -> bool:
        """Returns whether this is the major part of `other`, or all of it."""
        return other.contains(self) and self.pre_size == other.pre_size

    def is_suffix_of(self, other: AxisRef, mesh: Mesh) -> bool:
        """Returns whether this is the minor part of `other`, or all of it."""
        return other.contains(self) and self.next_pre_size(mesh) == other.next_pre_size(mesh)

    def overlaps(self, other: AxisRef) -> bool:
        """Returns whether the two have a common sub-axis."""
        if other.name != self.name:
            return False
        if not self.sub_axis or not other.sub_axis:
            return True
        mine, its = self.sub_axis, other.sub_axis
        return mine.pre_size < its.next_pre_size and its.pre_size < mine.next_pre_size

    def can_coexist(self, other: AxisRef) -> bool:
        """Returns whether one splitting of the axis can produce both.

        The end points a <= b <= c <= d of the two intervals must divide each other in order: then the common
        part (or the gap) and the parts beside it have integral sizes.
        """
        if other.name != self.name or not self.sub_axis or not other.sub_axis:
            return True
        mine, its = self.sub_axis, other.sub_axis
        first, second = sorted((mine.pre_size, its.pre_size))
        third, fourth = sorted((mine.next_pre_size, its.next_pre_size))
        if third > second:
            return third % second == 0 and second % first == 0 and fourth % third == 0
        return second % third == 0

    def overlap(self, other: AxisRef) -> AxisRef | None:
        """The common sub-axis; None if there is none, or the two cannot coexist."""
        if other.name != self.name:
            return None
        if not self.sub_axis or not other.sub_axis:
            return self if self.sub_axis else other
        if not self.overlaps(other) or not self.can_coexist(other):
            return None
        start = max(self.sub_axis.pre_size, other.sub_axis.pre_size)
        end = min(self.sub_axis.next_pre_size, other.sub_axis.next_pre_size)
        return AxisRef(self.name, SubAxis(start, end // start))

    def prefix_without(self, other: AxisRef) -> AxisRef | None:
        """The largest major part that does not overlap `other`; None if there is none."""
        if not self.can_coexist(other):
            return None
        return self._part(self.pre_size, other.pre_size) if self.overlaps(other) else self

    def suffix_without(self, other: AxisRef, mesh: Mesh) -> AxisRef | None:
        """The largest minor part that does not overlap `other`; None if there is none."""
        if not self.can_coexist(other):
            return None
        if not self.overlaps(other):
            return self
        return self._part(other.next_pre_size(mesh), self.next_pre_size(mesh))

    def _part(self, start: int, end: int) -> AxisRef | None:
        return AxisRef(self.name, SubAxis(start, end // start)) if start < end else None

    def common_prefix(self, other: AxisRef) -> AxisRef | None:
        """The smaller of the two if it is a prefix of the other."""
        if not self.can_coexist(other):
            return None
        if self.is_prefix_of(other):
            return self
        return other if other.is_prefix_of(self) else None

    def can_merge(self, following: AxisRef) -> bool:
        """Returns whether `following` is the sub-axis that starts where this one ends."""
        if following.name != self.name or self.sub_axis is None or following.sub_axis is None:
            return False
        return self.sub_axis.next_pre_size == following.sub_axis.pre_size

    def merge(self, following: AxisRef, mesh: Mesh) -> AxisRef:
        """This and the sub-axis that follows it as one; the full axis if they cover it."""
        size = self.size(mesh) * following.size(mesh)
        return AxisRef(self.name, SubAxis(self.pre_size, size) if size < mesh.sizes[self.name] else None)

    def __str__(self) -> str:
        name = string_literal(self.name)
        return f"{name}:{self.sub_axis}" if self.sub_axis else name
