"""The memory of values: of results, of loops within the computation around them, of what is written over."""

from __future__ import annotations

from shardy_py.xla.buffers.assignment import Assignment
from shardy_py.xla.buffers.held import HeldMemory, Period, ResultMemory
from shardy_py.xla.buffers.schedule import Event

KIB = 1024


def assigned(
    events: list[Event],
    results: tuple[str, ...] = (),
    memory: tuple[int, ...] = (),
    inner: list[Assignment] | None = None,
    sizes: dict[str, int] | None = None,
) -> Assignment:
    """An assignment in which each value has 1 KiB unless stated; `inner`: what an update runs."""
    made = {name: KIB for event in events for name in (*event.makes, *event.reads)}
    return Assignment(
        events,
        {**made, **(sizes or {})},
        results,
        memory,
        (),
        {},
        lambda event: inner or [] if event.is_update else [],
    )


def test_what_a_result_is_made_of_is_in_its_memory_in_turn() -> None:
    """A gather has the memory of the result, then a product; a copy and the sum are beside it."""
    events = [
        Event("gather", ("x",), ("a",)),
        Event("copy", ("a",), ("b",)),
        Event("product", ("b",), ("c",)),
        Event("sum", ("c",), ("d",)),
        Event("clamp", ("d",), ("r",), over=("d",)),
    ]
    assert assigned(events, ("r",), (KIB,)).temporaries()[0] == KIB


def test_a_loop_is_placed_with_what_is_around_it() -> None:
    """What a loop needs is in the memory of a result that is made after it."""
    body = assigned([Event("step", ("c",), ("t",)), Event("next", ("t",), ("n",))], ("n",), (KIB,))
    body = Assignment(body.events, body.sizes, ("n",), (KIB,), ("c",), {}, body.inner)
    events = [
        Event("start", (), ("i",)),
        Event("loop", ("i",), ("o",), over=("i",), is_update=True),
        Event("last", ("o", "x"), ("r",)),
    ]
    assert assigned(events, ("r",), (KIB,), [body]).temporaries()[0] == KIB


def test_parts_of_one_op_are_not_written_over() -> None:
    """XLA's heap puts nothing over a value that an op makes together with others."""
    events = [
        Event("pair", ("x",), ("a", "b")),
        Event("next", ("a",), ("c",), over=("a",)),
        Event("end", ("b", "c"), ()),
    ]
    assert assigned(events).temporaries()[0] == 3 * KIB


def test_the_smallest_free_memory_of_results_is_taken() -> None:
    small, large = HeldMemory(2, [Period(5, 9)], 0), HeldMemory(4, [Period(5, 9)], 1)
    results = ResultMemory([large, small])
    assert results.take(HeldMemory(1, [Period(0, 3)]), ()) is small
    assert results.take(HeldMemory(1, [Period(2, 4)]), ()) is large
    assert results.take(HeldMemory(1, [Period(1, 2)]), ()) is None
    assert results.take(HeldMemory(8, [Period(20, 21)]), ()) is None


def test_memory_of_many_results_takes_linear_time() -> None:
    """Ten thousand results and a thousand buffers, none of which fits: no comparison of each with each."""
    results = ResultMemory([HeldMemory(1, [Period(0, 9)]) for _ in range(10_000)])
    assert all(results.take(HeldMemory(1, [Period(3, 4)]), ()) is None for _ in range(1_000))
