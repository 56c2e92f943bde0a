"""Results of a run by name.

Not here: runs (`execution.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from typing_extensions import override

from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.run.interpret.values import Value as RunValue


@dataclass(frozen=True, eq=False)
class RunResults(Mapping[str, RunValue]):
    """The results of a run by name, `result 0`, or by JAX's label; also by position.

    arrays: numpy arrays in order; with an axis of devices before the others if there are several.
    outputs: the results as values of the program.
    probes: what the probed values were, each time they were computed.
    """

    arrays: tuple[RunValue, ...]
    outputs: tuple[Value, ...]
    probes: Mapping[str, tuple[object, ...]]

    @override
    def __getitem__(self, key: str | int) -> RunValue:
        """Returns a result. Raises `ShardyError` for an unknown name."""
        if isinstance(key, int):
            return self.arrays[key]
        for value, array in zip(self.outputs, self.arrays, strict=True):
            if key in (value.name, value.label):
                return array
        raise ShardyError.unknown("result", key, [value.label or value.name for value in self.outputs])

    @override
    def __contains__(self, key: object) -> bool:
        return any(key in (value.name, value.label) for value in self.outputs if key)

    @override
    def get(self, key: str, default: RunValue | None = None, /) -> RunValue | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns a result, or the default for an unknown name."""
        if key not in self:
            return default
        return self[key]

    @override
    def __iter__(self) -> Iterator[str]:
        return (value.name for value in self.outputs)

    @override
    def __len__(self) -> int:
        return len(self.outputs)
