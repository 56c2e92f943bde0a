"""Few buffers have the places that many have, without numpy."""

from __future__ import annotations

import random

import pytest

from shardy_py.xla.buffers import held, packing
from shardy_py.xla.buffers.held import HeldMemory, Period, ResultMemory


def memories(seed: int, count: int, longest: int = 12) -> list[HeldMemory]:
    draw = random.Random(seed)
    found: list[HeldMemory] = []
    for order in range(count):
        starts = [draw.randrange(40) for _ in range(draw.randint(1, 2))]
        periods = [Period(start, start + draw.randrange(longest), (order, start)) for start in starts]
        found.append(HeldMemory(draw.randint(1, 9) * 8, periods, order))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    buffers = memories(seed, 30)
    few = packing.packed(buffers, 16)
    monkeypatch.setattr(packing, "_FEW_PLACED", 0)
    assert packing.packed(buffers, 16) == few


@pytest.mark.parametrize("seed", range(20))
def test_memory_of_results(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[int | None]] = []
    for few in (100, 0):
        monkeypatch.setattr(held, "_FEW_PERIODS", few)
        slots = memories(seed, 8, longest=2)
        results = ResultMemory(slots)
        found = [results.take(each, slots[:2]) for each in memories(seed + 100, 20)]
        taken.append([None if slot is None else slot.order for slot in found])
    assert taken[0] == taken[1]
    assert any(slot is not None for slot in taken[0])


def written_over(memories: list[HeldMemory], seed: int) -> list[HeldMemory]:
    """The same memories, whose values may be written over some that have been named before."""
    draw = random.Random(seed)
    names = [(order, start) for order in range(20) for start in range(40)]
    for each in memories:
        each.periods = [period._replace(over=tuple(draw.sample(names, 400))) for period in each.periods]
    return memories


@pytest.mark.parametrize("seed", range(20))
def test_memory_of_results_that_values_are_written_over(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[int | None]] = []
    for few in (1000, 0):
        monkeypatch.setattr(held, "_FEW_PERIODS", few)
        slots = written_over(memories(seed, 8, longest=2), seed)
        results = ResultMemory(slots)
        others = written_over(memories(seed + 100, 40, longest=4), seed + 1)
        found = [results.take(each, slots[:2]) for each in others]
        taken.append([None if slot is None else slot.order for slot in found])
    assert taken[0] == taken[1]
    assert any(slot is not None for slot in taken[0])


def test_results_that_a_program_ends_with_are_not_asked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    meets = ResultMemory._meets  # pyright: ignore[reportPrivateUsage]

    def counted(memory: ResultMemory, number: int, periods: list[Period]) -> bool:
        asked.append(number)
        return meets(memory, number, periods)

    monkeypatch.setattr(ResultMemory, "_meets", counted)
    results = ResultMemory([HeldMemory(1, [Period(9, 9, ("result", n))], n) for n in range(1000)])
    for n in range(100):
        held_until_the_end = HeldMemory(1, [Period(n % 9, 9, ("other", n), (("result", n),))])
        assert results.take(held_until_the_end, ()) is None
    assert len(asked) <= 100
