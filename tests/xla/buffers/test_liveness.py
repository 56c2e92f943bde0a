from __future__ import annotations

from random import Random
from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.xla.buffers.liveness import (
    ENTRY,
    LivenessAnalysis,
    MemoryComputation,
    MemoryStep,
    NestedComputation,
    Runs,
)
from tests.report.memory.simulation import Simulation


class Generator:
    """Random programs: chains of ops with updates, calls, branches and loops, nested."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.sizes: list[int] = []
        self.computations: list[MemoryComputation] = []

    def value(self, size: int | None = None) -> int:
        self.sizes.append(self.random.choice((0, 1, 2, 5, 9)) if size is None else size)
        return len(self.sizes) - 1

    def computation(
        self, arguments: list[int], results: list[int | None], outer: list[int], depth: int
    ) -> int:
        """results: the size of a fresh value that is returned, None for the argument of that number."""
        steps: list[MemoryStep] = []
        known = [*outer, *arguments]
        for _ in range(self.random.randrange(5)):
            step = self.step(known, depth)
            steps.append(step)
            known += step.makes
        fresh = [self.value(size) for size in results if size is not None]
        steps.append(MemoryStep(self.some(known), tuple(fresh)))
        returns = tuple(arguments[i] if size is None else fresh.pop(0) for i, size in enumerate(results))
        if self.random.random() < 0.7:
            steps.append(MemoryStep(returns, ()))
        self.computations.append(MemoryComputation(tuple(arguments), tuple(steps), returns))
        return len(self.computations) - 1

    def some(self, known: list[int]) -> tuple[int, ...]:
        """Up to three values, mostly the newest ones, so that many die young."""
        recent = known[-3:] if self.random.random() < 0.7 else known
        return tuple(self.random.choice(recent) for _ in range(self.random.randrange(4)) if known)

    def step(self, known: list[int], depth: int) -> MemoryStep:
        kind = (
            self.random.choice(("plain", "plain", "update", "call", "branches", "loop")) if depth else "plain"
        )
        reads = self.some(known)
        if kind in ("plain", "update"):
            makes = tuple(self.value() for _ in range(self.random.randrange(3)))
            pairs = tuple(zip(reads, makes, strict=False)) if kind == "update" else ()
            return MemoryStep(reads, makes, pairs)
        if kind == "call":
            return self.call(reads, depth)
        return self.loop(known, reads, depth) if kind == "loop" else self.branches(known, reads, depth)

    def call(self, reads: tuple[int, ...], depth: int) -> MemoryStep:
        copied = [self.random.random() < 0.2 for _ in reads]
        arguments = [
            self.value(None if is_copy else self.sizes[v]) for v, is_copy in zip(reads, copied, strict=True)
        ]
        results: list[int | None] = [self.random.choice((1, 4)) for _ in range(self.random.randrange(3))]
        index = self.computation(arguments, results, [], depth - 1)
        makes = tuple(self.value(size) for size in results)
        passed = tuple(None if is_copy else v for v, is_copy in zip(reads, copied, strict=True))
        return MemoryStep(reads, makes, (), Runs((NestedComputation(index, passed),)))

    def branches(self, known: list[int], reads: tuple[int, ...], depth: int) -> MemoryStep:
        makes = tuple(self.value() for _ in range(self.random.randrange(3)))
        sizes: list[int | None] = [self.sizes[value] for value in makes]
        indices = [self.computation([], sizes, known, depth - 1) for _ in range(self.random.randrange(1, 4))]
        outer = self.captured(indices, known)
        return MemoryStep((*reads, *outer), makes, (), Runs(tuple(map(NestedComputation, indices))))

    def loop(self, known: list[int], reads: tuple[int, ...], depth: int) -> MemoryStep:
        makes = tuple(self.value(self.random.choice((self.sizes[v], self.sizes[v], 3))) for v in reads)
        sides = [[self.value(self.sizes[value]) for value in makes] for _ in range(2)]
        condition = self.computation(sides[0], [1], known, depth - 1)
        results = [None if self.random.random() < 0.4 else self.sizes[value] for value in makes]
        body = self.computation(sides[1], results, known, depth - 1)
        outer = self.captured([condition, body], known)
        nested = (NestedComputation(condition, makes, "never"), NestedComputation(body, makes, "always"))
        return MemoryStep(
            (*reads, *outer), makes, tuple(zip(reads, makes, strict=True)), Runs(nested, is_loop=True)
        )

    def captured(self, indices: list[int], known: list[int]) -> tuple[int, ...]:
        read = (v for i in indices for step in self.computations[i].steps for v in step.reads)
        return tuple(dict.fromkeys(v for v in read if v in known))


@pytest.mark.parametrize("seed", range(0, 600, 50))
def test_peaks_are_those_of_a_simulation(seed: int) -> None:
    nested_peaks = 0
    for number in range(seed, seed + 50):
        generator = Generator(number)
        arguments = [generator.value() for _ in range(generator.random.randrange(4))]
        entry = generator.computation(arguments, [1, 2], [], depth=2)
        donated = [generator.random.random() < 0.5 for _ in arguments]
        peak = LivenessAnalysis(generator.computations, generator.sizes).peak(entry, donated)
        expected = Simulation(generator.computations, generator.sizes).run(entry, donated)
        assert peak.size_bytes == expected, f"seed {number}"
        assert sum(generator.sizes[value] for value in peak.alive) == expected, f"seed {number}"
        assert len(set(peak.alive)) == len(peak.alive), f"seed {number}"
        nested_peaks += len(peak.place) > 1
    assert nested_peaks, "no peak was inside a nested computation"


def _peak(
    steps: list[MemoryStep], sizes: list[int], returns: tuple[int, ...] = (), donated: bool = False
) -> Any:
    computation = MemoryComputation((0,), tuple(steps), returns)
    return LivenessAnalysis((computation,), sizes).peak(0, [donated])


def test_an_argument_is_alive_throughout_unless_donated() -> None:
    steps = [MemoryStep((0,), (1,)), MemoryStep((1,), (2,)), MemoryStep((2,), (3,))]
    assert _peak(steps, [100, 1, 10, 20], (3,)).alive == (0, 2, 3)
    assert _peak(steps, [10, 1, 10, 20], (3,), donated=True).alive == (2, 3)


def test_the_peak_may_be_on_entry() -> None:
    peak = _peak([MemoryStep((), (1,))], [100, 7], (1,), donated=True)
    assert (peak.size_bytes, peak.alive, peak.place) == (100, (0,), ((0, ENTRY),))


def test_unused_values_are_alive_where_they_are_made() -> None:
    assert _peak([MemoryStep((), (1,)), MemoryStep((), (2,))], [0, 8, 9]).alive == (0, 2)


def test_results_live_to_the_end() -> None:
    assert _peak(
        [MemoryStep((), (1,)), MemoryStep((), (2,)), MemoryStep((), (3,))], [0, 4, 4, 4], (1,)
    ).alive == (0, 1, 2)


@pytest.mark.parametrize(("last", "size"), [((1, 2), 20), ((1, 1, 2), 30)])
def test_an_update_takes_the_place_of_what_dies(last: tuple[int, ...], size: int) -> None:
    """Not of what is read twice, or later."""
    steps = [
        MemoryStep((), (1,)),
        MemoryStep((), (2,)),
        MemoryStep(last, (3,), ((1, 3),)),
        MemoryStep((3,), ()),
    ]
    assert _peak(steps, [0, 10, 10, 10]).size_bytes == size
    assert _peak([*steps, MemoryStep((1,), ())], [0, 10, 10, 10]).size_bytes == 30


def test_an_update_of_an_argument_is_a_new_array() -> None:
    steps = [MemoryStep((0,), (1,), ((0, 1),))]
    assert _peak(steps, [10, 10], (1,)).size_bytes == 20
    assert _peak(steps, [10, 10], (1,), donated=True).size_bytes == 10
    assert _peak(steps, [10, 8], (1,), donated=True).size_bytes == 18


def test_a_callee_ends_what_it_was_handed_over() -> None:
    callee = MemoryComputation((0,), (MemoryStep((0,), ()), MemoryStep((), (1,))), (1,))
    caller = MemoryComputation(
        (), (MemoryStep((), (2,)), MemoryStep((2,), (3,), (), Runs((NestedComputation(0, (2,)),)))), (3,)
    )
    assert LivenessAnalysis((callee, caller), [10, 10, 10, 10]).peak(1, []).size_bytes == 10
    reader = MemoryComputation((), (*caller.steps, MemoryStep((2,), ())), (3,))
    assert LivenessAnalysis((callee, reader), [10, 10, 10, 10]).peak(1, []).size_bytes == 20


def test_a_computation_that_runs_itself() -> None:
    steps = (MemoryStep((0,), (), (), Runs((NestedComputation(0, (0,)),))),)
    with pytest.raises(ShardyError, match="a function calls itself"):
        LivenessAnalysis((MemoryComputation((0,), steps),), [1]).peak(0, [False])
