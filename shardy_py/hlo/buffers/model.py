"""The memory of a compiled program as plain values. Not here: how it is found."""

from __future__ import annotations

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class HeldBuffer:
    """A buffer: its bytes, and the instruction that it is the value of."""

    bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class AllocatedMemory:
    """Bytes on each device, as of `MemoryEstimate`.

    by: what tells. largest: of the buffers that are held at one time, temporaries and results.
    """

    by: str
    arguments: int
    results: int
    aliased: int
    temporaries: int
    largest: tuple[HeldBuffer, ...] = ()

    @property
    def total_bytes(self) -> int:
        """All that is allocated."""
        return self.arguments + self.results - self.aliased + self.temporaries
