"""Orders of events on chips, and the places of their buffers in the order of the program."""

from __future__ import annotations

from shardy_py.xla.buffers.event_graph import or_depth_first
from shardy_py.xla.buffers.held import HeldMemory, Period
from shardy_py.xla.buffers.packing import packed
from shardy_py.xla.buffers.schedule import Event, least_memory

_PAIR = [
    Event("first", (), ("a",)),
    Event("sum", ("a",), ("s",)),
    Event("other", (), ("b",)),
    Event("last", ("s", "b"), ("c",)),
]


def test_depth_first_is_an_alternative() -> None:
    """The list scheduler makes the small value first, which is needed last."""
    sizes = {"a": 8, "s": 6, "b": 5, "c": 1}
    order = least_memory(_PAIR, sizes)
    assert [event.step for event in order] == ["other", "first", "sum", "last"]
    found = or_depth_first(_PAIR, order, sizes, ("c",))
    assert [event.step for event in found] == ["first", "sum", "other", "last"]
    assert or_depth_first(_PAIR, _PAIR, sizes, ("c",)) is _PAIR


def _buffer(size: int, start: int, end: int) -> HeldMemory:
    return HeldMemory(size, [Period(start, end)], start)


def test_tpus_place_buffers_in_the_order_of_the_program() -> None:
    """As those of a convolution and what it spreads: a later one, the largest, changes no place before it."""
    found = [_buffer(224, 18, 21), _buffer(640, 21, 22), _buffer(320, 22, 24), _buffer(768, 30, 32)]
    assert packed(found)[0] == 960
    assert packed(found, in_order=True)[0] == 224 + 640 + 320
