"""The values that are in the vector memory of a TPU while they are needed, instead of HBM.

>>> make, read = Event(None, (), ("a",)), Event(None, ("a",), ("b",))
>>> [*in_vmem([make, read], {"a": 8, "b": 8}, {"a", "b"}, VectorMemory(8, 2))]
['b']

Not here: which values may be there (`events.py`, `fetched.py`). Source: the assignments that XLA:TPU makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import inf

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


@dataclass
class VmemValues:
    """Values that may be in VMEM: made by fusions without a product, or returned by them.

    products: the steps that a product is computed in, by their identities. used: the bytes that steps read of
    a value, all together: of what they take slices of, those of the slices. used_by: those that each reads, by
    its identity.
    """

    made: set[Name] = field(default_factory=set[Name])
    returned: set[Name] = field(default_factory=set[Name])
    products: set[int] = field(default_factory=set[int])
    used: dict[Name, int] = field(default_factory=dict[Name, int])
    used_by: dict[int, dict[Name, int]] = field(default_factory=dict[int, "dict[Name, int]"])


class VectorMemory:
    """The bytes that are taken at each moment."""

    def __init__(
        self, room: int, moments: int, moved: Sequence[float] | None = None, most: float = inf
    ) -> None:
        """Nothing is taken. room: the bytes that there are.

        moved: the bytes that are read and written up to each moment and in it; most: while a value stays.
        """
        self.room = room
        self._used = np.zeros(moments, np.int64)
        self._moved, self._most = moved, most

    def _is_too_long(self, start: int, end: int) -> bool:
        """True if too much is moved after a moment and before the last one that needs what is there."""
        moved = self._moved
        return moved is not None and end - start > 1 and moved[end - 2] - moved[start] > self._most

    def take(self, start: int, end: int, size: int) -> bool:
        """Takes `size` bytes from one moment until before another, and returns True, if they are free."""
        if self._is_too_long(start, end):
            return False
        moments = self._used[start:end]
        if int(moments.max(initial=0)) + size > self.room:
            return False
        moments += size
        return True


def in_vmem(
    events: Sequence[Event], sizes: Mapping[Name, int], names: Collection[Name], memory: VectorMemory
) -> Iterator[Name]:
    """Returns those of some values that fit into the memory, which they take; the shortest needed come first.

    events: in their order. sizes: bytes of values.
    """
    made: dict[Name, int] = {}
    last: dict[Name, int] = {}
    for number, event in enumerate(events):
        for name in event.makes:
            if name in names:
                made[name] = number
        for name in event.reads:
            if name in names:
                last[name] = number
    ends = (last.get(name, start) + 1 for name, start in made.items())
    # The shortest first, then the smallest, then the earliest; the number keeps equal ones in order.
    periods = sorted(
        (end - start, sizes[name], start, number, name)
        for number, ((name, start), end) in enumerate(zip(made.items(), ends, strict=True))
    )
    for length, size, start, _, name in periods:
        if memory.take(start, start + length, size):
            yield name
