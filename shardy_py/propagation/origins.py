"""The origins of axes: the user's sharding that each axis of a value comes from.

    origins = Origins()
    origins.add(1, [AxisRef("a")], "input: 0")         value 1 is the first argument of the function
    origins.move(1, 3, AxisRef("a"))                   a step moved "a" from value 1 to value 3
    origins.of(3)                                      {AxisRef("a"): "input: 0"}

Values are numbers of any kind. Not here: finding the moves (`provenance.py`), the names
(`passes/debug_notes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shardy_py.sharding import AxisRef


class Origins:
    """By value, its axes and the names of the shardings that they come from."""

    def __init__(self) -> None:
        """Start empty."""
        self._names: dict[int, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def of(self, value: int) -> Mapping[AxisRef, str]:
        """The axes of `value` with their origins."""
        return self._names.get(value, {})

    def add(self, value: int, axes: Iterable[AxisRef], name: str) -> None:
        """Add the origin of axes of a value; existing origins are kept."""
        for axis in axes:
            self._names.setdefault(value, {}).setdefault(axis, name)

    def move(self, source: int, target: int, axis: AxisRef) -> None:
        """Propagate the origin of `axis` from `source`, which may have it split or merged, to `target`."""
        name = self._name(source, axis)
        if name is not None:
            self.add(target, (axis,), name)

    def copy(self, source: int, target: int) -> None:
        """Propagate the origins of all axes of `source` to `target`."""
        for axis, name in self.of(source).items():
            self.add(target, (axis,), name)

    def _name(self, value: int, axis: AxisRef) -> str | None:
        names = self.of(value)
        if axis in names:
            return names[axis]
        return next((names[other] for other in names if other.contains(axis) or axis.contains(other)), None)
