"""References to mesh axes, whole or in part, and the arithmetic on them.

A sub-axis `"x":(2)4` is the part of axis "x" that one gets by splitting it into (2, 4, rest), major to
minor, and taking the middle: pre_size 2, size 4.

>>> str(AxisRef("x", SubAxis(2, 4)))
'"x":(2)4'
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SubAxis:
    """Which part of an axis: `pre_size` is the product of the parts more major, `size` that of this one."""

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

    def __str__(self) -> str:
        return f'"{self.name}":{self.sub_axis}' if self.sub_axis else f'"{self.name}"'
