"""Maps against numpy: on random small ops, exactly the elements that are read, in both directions."""

from __future__ import annotations

from random import Random

import pytest

from shardy_py.indexing import IndexMap
from shardy_py.ops import input_to_output, is_exact, output_to_input
from tests.ops.computed import PLAIN, Instance
from tests.ops.computed_algorithms import ALGORITHMS
from tests.ops.tracing import pairs_in, pairs_of

FEW, INSTANCES = 30, 120
FAMILIES = PLAIN | ALGORITHMS


def at_run_time(instance: Instance, maps: tuple[IndexMap, ...]) -> list[IndexMap]:
    """The maps with the run-time values that the instance has."""
    known = instance.runtimes
    return [m.restricted({v: i for v, i in known.items() if v in m.bounds}) for m in maps]


@pytest.mark.parametrize(
    "seeds",
    [range(FEW), pytest.param(range(FEW, INSTANCES), marks=pytest.mark.slow)],
    ids=["few", "more"],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_exactly_what_is_read(family: str, seeds: range) -> None:
    for seed in seeds:
        instance = FAMILIES[family](Random(f"{family} {seed}"))
        record = instance.record
        forth, back = output_to_input(record), input_to_output(record)
        for result, computed_ in enumerate(instance.results):
            for operand in range(len(record.operands)):
                expected = pairs_of(computed_, operand)
                read = pairs_in(at_run_time(instance, forth[result][operand]))
                reached = pairs_in(at_run_time(instance, back[operand][result]))
                if is_exact(record, operand):
                    assert read == expected, (seed, record, operand)
                else:
                    assert read >= expected, (seed, record, operand)
                assert {(x, d) for d, x in read} == reached, (seed, record, operand, "input to output")
