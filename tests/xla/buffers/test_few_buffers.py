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
