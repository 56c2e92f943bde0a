"""The memory of values: of results, of loops within the computation around them, of what is written over."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
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


_STACKED = """
func.func public @main(%cache: tensor<8x65536xf32> {jax.buffer_donor = true}) -> tensor<8x65536xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x65536xf32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%made = %none, %given = %cache, %i = %start)
      : tensor<8x65536xf32>, tensor<8x65536xf32>, tensor<i32>
  cond {
    %end = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %from = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %given, %i, %from, sizes = [1, 65536]
        : (tensor<8x65536xf32>, tensor<i32>, tensor<i32>) -> tensor<1x65536xf32>
    %2 = stablehlo.tanh %1 : tensor<1x65536xf32>
    %3 = stablehlo.dynamic_update_slice %made, %2, %i, %from
        : (tensor<8x65536xf32>, tensor<1x65536xf32>, tensor<i32>, tensor<i32>) -> tensor<8x65536xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %given, %4 : tensor<8x65536xf32>, tensor<8x65536xf32>, tensor<i32>
  }
  return %0#0 : tensor<8x65536xf32>
}
"""


@pytest.mark.parametrize("target", ["h100", "tpu-v5p", "linear"])
def test_a_loop_does_not_write_over_what_it_still_carries(target: str) -> None:
    """The result takes the memory of the donated argument, which the loop reads until it ends."""
    estimate = propagate(Program.parse(_STACKED)).memory(target, partitioner="xla").estimate
    assert estimate.aliased == 8 * 65536 * 4
    assert 8 * 65536 * 4 <= estimate.temporaries < 1.3 * 8 * 65536 * 4


def test_what_computations_of_their_own_receive_is_placed_behind_the_others() -> None:
    """A sort between two exchanges has the memory of the result, in which the first exchange is not."""
    events = [
        Event("receive", ("x",), ("a",), is_part=True),
        Event("pieces", ("a",), ("b",)),
        Event("sort", ("b",), ("c", "places"), over_each=(("b",), ())),
        Event("pieces", ("c",), ("d",)),
        Event("receive", ("d",), ("r",), is_part=True),
    ]
    one = assigned(events, ("r",), (KIB,))
    assert one.temporaries()[0] == 2 * KIB
    one.is_wrapped = lambda event: event.step == "receive"
    assert one.temporaries()[0] == KIB


def test_what_is_read_as_a_bitcast_is_not_written_over() -> None:
    events = [
        Event("pieces", ("x",), ("a",), is_part=True),
        Event("sort", ("a",), ("b", "places"), over_each=(("a",), ())),
        Event("first", ("b",), ("r",)),
    ]
    assert assigned(events, ("r",), (1,), sizes={"r": 1}).temporaries()[0] == 3 * KIB
    events[0] = events[0]._replace(is_part=False)
    assert assigned(events, ("r",), (1,), sizes={"r": 1}).temporaries()[0] == 2 * KIB
