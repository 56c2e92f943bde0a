"""Which of the user's shardings an axis came from: `Origins` follows axes from value to value.

    origins = Origins()
    origins.give(1, [AxisRef("a")], "input: 0")        value 1 is the function's first argument
    origins.move(1, 3, AxisRef("a"))                   a step moved "a" from value 1 to value 3
    origins.of(3)                                      {AxisRef("a"): "input: 0"}

Values are any numbers. Not here: finding the moves (`provenance.py`), the names (`passes/debug_notes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shardy_py.sharding import AxisRef


class Origins:
    """By value: each of its axes with the name of the sharding that it came from."""

    def __init__(self) -> None:
        """Start without any."""
        self._names: dict[int, dict[AxisRef, str]] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def of(self, value: int) -> Mapping[AxisRef, str]:
        """The axes of `value` with their origins."""
        return self._names.get(value, {})

    def give(self, value: int, axes: Iterable[AxisRef], name: str) -> None:
        """Say where axes of a value come from; what was said first stays."""
        for axis in axes:
            self._names.setdefault(value, {}).setdefault(axis, name)

    def move(self, source: int, target: int, axis: AxisRef) -> None:
        """`target` got `axis` from `source`, which may have it joined to, or split into, other parts."""
        name = self._name(source, axis)
        if name is not None:
            self.give(target, (axis,), name)

    def copy(self, source: int, target: int) -> None:
        """All axes of `source` are on `target`, too."""
        for axis, name in self.of(source).items():
            self.give(target, (axis,), name)

    def _name(self, value: int, axis: AxisRef) -> str | None:
        names = self.of(value)
        if axis in names:
            return names[axis]
        return next((names[other] for other in names if other.contains(axis) or axis.contains(other)), None)
