"""The order of kernels and collectives against one search through all nodes that may be taken."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from shardy_py.xla.buffers.gpu.latency import Timed, _Ready, beside


def events(random: Random) -> list[Timed]:
    """Kernels of a few costs, and collectives, each of which reads some before it."""
    found: list[Timed] = []
    for number in range(40):
        reads = tuple(
            f"v{each}" for each in random.sample(range(number), min(number, random.choice((0, 1, 2))))
        )
        latency = random.choice((0.0, 0.0, 30.0))
        cost, sends = random.choice((2.0, 5.0, 11.0)), not latency and random.random() < 0.2
        found.append(Timed(reads, (f"v{number}",), cost, latency, sends))
    return found


def all_of_the_deepest(self: _Ready, kind: tuple[int, bool]) -> Iterable[int]:
    """All nodes of a kind that may begin and are the deepest."""
    able = [node for node in self._begun if (self.turn[node], self.is_start[node]) == kind]
    most = max([self.depth[node] for node in able], default=0.0)
    return [node for node in able if self.depth[node] == most]


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_a_search_through_all_nodes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = events(Random(seed))
    order = beside(given)
    monkeypatch.setattr(_Ready, "_deepest", all_of_the_deepest)
    assert order == beside(given)


def test_what_runs_collectives_is_not_beside_one() -> None:
    gather = Timed(("x",), ("w",), 0, 50.0)
    loop = Timed(("y",), ("z",), 40, sends=True)
    user = Timed(("w", "z"), ("end",), 1)
    assert beside([gather, loop, user]) == [(1, False), (0, False), (0, True), (2, False)]
