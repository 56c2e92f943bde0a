"""The values that blocks need, beside those found by a search from what is returned."""

import random

import pytest

from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.facet import sent_row
from shardy_py.xla.spmd.live_values import live_values
from shardy_py.xla.spmd.program import Block, PlannedOp, used


def _step(reads: tuple[str, ...], makes: tuple[str, ...], blocks: tuple[Block, ...] = ()) -> PlannedOp:
    return PlannedOp(OpRecord("stablehlo.add", (), (), {}), reads, makes, (), blocks)


def _random_block(rng: random.Random, *, needs_all: bool) -> Block:
    """Steps of which some make what nothing reads; needs_all: each reads what the one before makes."""
    names, steps = ["x"], list[PlannedOp]()
    for number in range(rng.randrange(1, 12)):
        reads = tuple(rng.sample(names, rng.randrange(1, min(3, len(names) + 1))))
        reads = (names[-1], *reads) if needs_all else reads
        makes = tuple(f"v{number}.{i}" for i in range(rng.choice((0, 1, 1, 1, 2))))
        inner = Block((), (_step((rng.choice(names),), ("inside",)),), ("inside",), ())
        steps.append(_step(reads, makes, (inner,) if rng.random() < 0.2 else ()))
        names += makes
    return Block((), tuple(steps), (names[-1],), ())


def _needed(block: Block) -> set[str]:
    """The names from the results on, until there are no more."""
    live, before = {str(name) for name in block.results}, set[str]()
    while live != before:
        before = {*live}
        for step in block.steps:
            if not step.results or not live.isdisjoint(map(str, step.results)):
                live.update(map(str, step.operands))
                live.update(str(name) for inner in step.blocks for name in used(inner))
    return live - {"inside"}  # which is a value of the region


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("needs_all", [False, True])
def test_values_are_those_of_a_search(seed: int, needs_all: bool) -> None:
    block = _random_block(random.Random(seed), needs_all=needs_all)
    assert live_values(block, [sent_row(step.record) for step in block.steps]) == _needed(block)
