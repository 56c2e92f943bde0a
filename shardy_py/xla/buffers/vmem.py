"""The values that are in the vector memory of a TPU while they are needed, instead of HBM.

>>> make, read = Event(None, (), ("a",)), Event(None, ("a",), ("b",))
>>> [*in_vmem([make, read], {"a": 8, "b": 8}, {"a", "b"}, 8)]
['b']

Not here: which values may be there (`events.py`). Source: the assignments that XLA:TPU makes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from shardy_py.base.deferred import np
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name


def in_vmem(
    events: Sequence[Event],
    sizes: Mapping[Name, int],
    names: Collection[Name],
    room: int,
    before: Collection[Name] = (),
) -> Iterator[Name]:
    """Returns those of some values that fit into so many bytes together; those needed shortest come first.

    events: in their order. sizes: bytes of values. before: those that come before all others.
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
        (name not in before, end - start, sizes[name], start, number, name)
        for number, ((name, start), end) in enumerate(zip(made.items(), ends, strict=True))
        if sizes[name] <= room
    )
    used = np.zeros(len(events), np.int64)
    for _, length, size, start, _, name in periods:
        moments = used[start : start + length]
        if int(moments.max()) + size <= room:
            moments += size
            yield name
