"""The values that are in the vector memory of a TPU while they are needed, instead of HBM.

>>> make, read = Event(None, (), ("a",)), Event(None, ("a",), ("b",))
>>> [*in_vmem([make, read], {"a": 8, "b": 8}, {"a", "b"}, VectorMemory(9, 2))]
['b']

Not here: which values may be there (`events.py`, `fetched.py`). Source: the assignments that XLA:TPU makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate, pairwise

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


@dataclass
class VmemValues:
    """Values that may be in VMEM: made by fusions without a product, or returned by them.

    products: by the identity of a step that a product is computed in, the operations; computed: what ops that
    are fused with the product compute with. used_by: by that of a step the bytes that it reads of each value:
    of what it takes slices of, those of the slices. Of the body of a loop, once they are found: copied, the
    bytes that can be copied while its events run; stays, which values its events read there, and whether each
    stays from the start to the end; used, the bytes that its events read of each value.
    """

    made: set[Name] = field(default_factory=set[Name])
    returned: set[Name] = field(default_factory=set[Name])
    products: dict[int, int] = field(default_factory=dict[int, int])
    computed: dict[int, frozenset[Name]] = field(default_factory=dict[int, "frozenset[Name]"])
    used_by: dict[int, dict[Name, int]] = field(default_factory=dict[int, "dict[Name, int]"])
    copied: float | None = None
    stays: Mapping[Name, bool] | None = None
    used: Mapping[Name, int] | None = None


class MovedMeanwhile:
    """The bytes that ops move while a value stays in VMEM: at most so many from one use of it to the next.

    >>> meanwhile = MovedMeanwhile([8, 8, 32, 8], 16)
    >>> meanwhile.stays([0, 2, 3]), meanwhile.stays([1, 3])
    (True, False)
    """

    def __init__(self, moved: Iterable[float], most: float) -> None:
        """moved: by event."""
        self._before = [0.0, *accumulate(moved)]
        self._most = most

    def stays(self, uses: Sequence[int]) -> bool:
        """Returns whether a value stays that events use, by their numbers.

        -1 for the start of the computation, and the number of all events for its end.
        """
        before, most = self._before, self._most
        return all(before[later] - before[use + 1] <= most for use, later in pairwise(uses))


class VectorMemory:
    """The bytes that are taken at each moment."""

    def __init__(self, room: int, moments: int, meanwhile: MovedMeanwhile | None = None) -> None:
        """Nothing is taken. room: the bytes of which values have fewer; meanwhile: how long values stay."""
        self.room = room
        self._used = np.zeros(moments, np.int64)
        self._meanwhile = meanwhile

    @property
    def most(self) -> int:
        """The most bytes that are taken at one moment."""
        return int(self._used.max(initial=0))

    def take(self, start: int, end: int, size: int, uses: Sequence[int] = ()) -> bool:
        """Takes `size` bytes from one moment until before another, and returns True, if they are free.

        uses: of the value there; between two of them not more may be moved than it stays for.
        """
        if self._meanwhile is not None and not self._meanwhile.stays(uses):
            return False
        moments = self._used[start:end]
        if int(moments.max(initial=0)) + size >= self.room:
            return False
        moments += size
        return True


def in_vmem(
    events: Sequence[Event], sizes: Mapping[Name, int], names: Collection[Name], memory: VectorMemory
) -> Iterator[Name]:
    """Returns those of some values that fit into the memory, which they take; the shortest needed come first.

    events: in their order. sizes: bytes of values.
    """
    uses: dict[Name, list[int]] = {}
    for number, event in enumerate(events):
        for name in event.reads:
            if name in uses:
                uses[name].append(number)
        uses |= {name: [number] for name in event.makes if name in names}
    # The shortest first, then the smallest, then the earliest; the number keeps equal ones in order.
    periods = sorted(
        (own[-1] - own[0], sizes[name], own[0], number, name)
        for number, (name, own) in enumerate(uses.items())
    )
    for *_, size, _, _, name in periods:
        if memory.take(uses[name][0], uses[name][-1] + 1, size, uses[name]):
            yield name
