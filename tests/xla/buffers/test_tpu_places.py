"""The order in which TPUs run ops, and the places of buffers in HBM, by hand and as XLA:TPU compiled them."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import OpRecord
from shardy_py.xla.buffers.assignment import Assignment
from shardy_py.xla.buffers.carried import with_copies_for_updates
from shardy_py.xla.buffers.held import HeldMemory, Period
from shardy_py.xla.buffers.memory_order import in_least_memory
from shardy_py.xla.buffers.packing import packed, packed_in_order
from shardy_py.xla.buffers.schedule import Event, ordered_by_reads
from shardy_py.xla.spmd.program import Name

_UNIT = 16 << 10


def _held(units: int, *periods: tuple[int, int]) -> HeldMemory:
    return HeldMemory(units * _UNIT, [Period(start, end) for start, end in periods])


def test_buffers_of_tpus_get_places_in_the_order_of_the_program() -> None:
    # The third needs two units: one is free when it starts, and another behind the second.
    held = [_held(1, (0, 2)), _held(1, (1, 4)), _held(2, (3, 5))]
    assert packed(held, _UNIT)[0] == 3 * _UNIT
    # Its place is behind the second: four units, of which three are alive at most; the free one counts twice.
    assert packed_in_order(held, _UNIT)[0] == (4 + 1) * _UNIT


def test_the_smallest_place_that_fits_is_taken() -> None:
    held = [_held(2, (0, 2)), _held(1, (0, 9)), _held(1, (0, 3)), _held(4, (0, 9)), _held(1, (5, 6))]
    assert packed_in_order(held, _UNIT)[0] == 8 * _UNIT


@pytest.mark.parametrize(("in_place", "counted_again"), [(False, 0), (True, 2)])
def test_what_a_loop_carries_is_free_memory_for_what_is_counted_twice(
    in_place: bool, counted_again: int
) -> None:
    first = HeldMemory(2 * _UNIT, [Period(0, 1), Period(1, 9, in_place=in_place)])
    # Both are held at 5, but the compiler does not know of what the loop returns.
    assert packed_in_order([first, _held(3, (5, 6))], _UNIT)[0] == (5 + counted_again) * _UNIT


def test_a_value_written_over_another_is_alive_once() -> None:
    assert packed_in_order([_held(2, (0, 3), (3, 5)), _held(1, (3, 4))], _UNIT)[0] == 3 * _UNIT


_GATHERS = [
    *(Event(f"gather {name}", (), (name,)) for name in "qkv"),
    *(Event(f"product {name}", (name,), (name * 2,)) for name in "qk"),
    Event("scores", ("qq", "kk"), ("s",)),
    Event("end", ("s", "v"), ("r",)),
]
_BYTES: dict[Name, int] = {"q": 4, "k": 4, "v": 4, "qq": 16, "kk": 16, "s": 64, "r": 8}


def _order(inside: int = 0) -> list[Any]:
    events = in_least_memory(
        *(_GATHERS, _BYTES, ("r",)),
        lambda event: False,
        lambda event: inside if event.step == "end" else 0,
    )
    return [event.step for event in events]


def test_a_weight_is_gathered_late_if_that_needs_less_memory() -> None:
    assert _order().index("gather v") > _order().index("scores")


def test_where_a_loop_needs_most_memory_what_frees_most_runs_first() -> None:
    # 200 bytes in the loop hide what the orders differ in.
    assert _order(inside=200).index("gather v") < _order(inside=200).index("product q")


def test_single_numbers_run_first() -> None:
    events = [Event("large", (), ("a",)), Event("number", (), ("n",)), Event("end", ("a", "n"), ("r",))]
    order = in_least_memory(events, {"a": 64, "n": 512, "r": 8}, ("r",), lambda event: event.step == "number")
    assert [event.step for event in order] == ["number", "large", "end"]


def test_events_that_need_each_other_have_no_order() -> None:
    late, early = Event("late", ("a",), ("b",)), Event("early", (), ("a",))
    assert ordered_by_reads([late, early]) == [early, late]
    assert ordered_by_reads([late, Event("early", ("b",), ("a",))]) is None


def test_arguments_are_copied_before_they_are_updated() -> None:
    sizes: dict[Name, int] = {"cache": 64, "part": 8, "new": 64}
    update = Event(_Step(), ("cache", "part"), ("new",), over=("cache", "part"), is_update=True)
    copy, updated = with_copies_for_updates([update], sizes, {"cache", "part"})
    assert copy.reads == ("cache",)
    assert updated.reads == (*copy.makes, "part")
    assert sizes[copy.makes[0]] == 64
    assert with_copies_for_updates([update], sizes, {"part"}) == [update]  # the result takes its memory


class _Step:
    """A step without regions."""

    blocks = ()

    def __init__(self, name: str = "stablehlo.negate") -> None:
        self.record = OpRecord(name, (), (), {})


def _assigned(*events: Event) -> int:
    """The units of memory that XLA:TPU counts, of values of one each."""
    sizes: dict[Name, int] = {name: _UNIT for event in events for name in event.makes}
    known = Assignment(*(events, sizes, (), (), (), {}, lambda event: ()), receives_apart=True, place=_UNIT)
    return known.temporaries()[0] // _UNIT


@pytest.mark.parametrize(("name", "counted_again"), [("negate", 0), ("scatter", 1)])
def test_what_is_updated_in_place_is_not_counted_as_alive(name: str, counted_again: int) -> None:
    """As in a recommender: XLA:TPU (v5p) says 17,544,640 bytes for three tables of 4 MiB, two of them alive.

    The gradient of one is scattered into zeros; the third is its sum over devices.
    """
    update = Event(_Step(f"stablehlo.{name}"), ("zeros",), ("own",), over=("zeros",), is_update=True)
    end = Event(_Step(), ("own",), ("sum",)), Event(_Step(), ("sum", "table"), ())
    first = Event(_Step(), (), ("table",)), Event(_Step(), (), ("zeros",))
    assert _assigned(*first, update, *end) == 3 + counted_again


def test_nothing_is_written_over_a_copy() -> None:
    """XLA:TPU puts a mask over what an op has made, but not over the copy of an argument."""
    last = Event(_Step(), ("a",), ("mask",), over=("a",)), Event(_Step(), ("mask",), ())
    assert _assigned(Event(_Step(), ("x",), ("a",)), *last) == 1
    assert _assigned(Event(None, ("x",), ("a",)), *last) == 2


def test_products_of_growing_sizes_leave_memory_free() -> None:
    # XLA:TPU (v5p) says 268,533,664: 224 MiB, of which 32 MiB are free when most is alive, and count twice.
    sizes = (4096, 1024), (1024, 4096), (4096, 8192), (8192, 16384), (16384, 256)
    types = [f"tensor<{rows}x{columns}xbf16>" for rows, columns in sizes]
    lines, left = list[str](), "%0"
    for number in range(1, len(sizes)):
        made = f"tensor<4096x{sizes[number][1]}xbf16>"
        given = types[0] if number == 1 else f"tensor<4096x{sizes[number - 1][1]}xbf16>"
        lines.append(
            f"%p{number} = stablehlo.dot_general {left}, %{number}, contracting_dims = [1] x [0] "
            f": ({given}, {types[number]}) -> {made}"
        )
        left = f"%p{number}"
    arguments = ", ".join(f"%{number}: {type_}" for number, type_ in enumerate(types))
    text = f"func.func @main({arguments}) -> tensor<4096x256xbf16> {{\n" + "\n".join(lines)
    text += f"\nreturn {left} : tensor<4096x256xbf16>\n}}"
    estimate = propagate(Program.parse(text)).memory("tpu-v5p").estimate
    assert estimate.temporaries == pytest.approx(268_533_664, rel=0.001)


@pytest.mark.parametrize(("receives_apart", "end"), [(True, 1), (False, 2)])
def test_what_a_loop_starts_with_ends_where_its_condition_starts(receives_apart: bool, end: int) -> None:
    """On TPUs, so that it does not count beside a copy with which the body starts; elsewhere the body."""
    sizes: dict[Name, int] = {"x": _UNIT, "y": _UNIT, "c": _UNIT, "copy": _UNIT, "n": _UNIT, "asked": 4}

    def region(events: list[Event], results: tuple[Name, ...], carried: tuple[Name, ...]) -> Assignment:
        memory = (_UNIT,) * len(results)
        return Assignment(*(events, sizes, results, memory, carried, {}, lambda event: ()))

    condition = region([Event(None, (), ("asked",))], (), ())
    body = region([Event(None, ("c",), ("copy",)), Event(None, ("copy",), ("n",))], ("n",), ("c",))
    loop = Event(None, ("x",), ("y",), over=("x",), is_update=True)
    known = Assignment(
        *([Event(None, (), ("x",)), loop], sizes, (), (), (), {}),
        lambda event: (condition, body) if event is loop else (),
        receives_apart=receives_apart,
    )
    _, held = known.held()
    assert end in [period.end for each in held for period in each.periods if period.value == "x"]
