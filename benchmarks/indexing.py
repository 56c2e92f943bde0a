"""Times indexing maps: composition, simplification, both directions of ops.

    python benchmarks/indexing.py

prints one line a measurement. Inputs are fixed by seeds; memo tables are emptied before each.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from random import Random
from time import perf_counter

from shardy_py.base.session import SESSION
from shardy_py.indexing import IndexMap
from shardy_py.ops import OpRecord, TensorType, input_to_output, output_to_input

PRIMES = (2, 2, 2, 2, 3, 3, 5, 7, 2, 3, 2)


def random_shape(random: Random, rank: int = 6) -> tuple[int, ...]:
    """Returns a shape with the prime factors distributed to the dimensions."""
    sizes = [1] * rank
    for prime in PRIMES:
        sizes[random.randrange(rank)] *= prime
    return tuple(sizes)


def op(
    name: str, operands: tuple[tuple[int, ...], ...], result: tuple[int, ...], **attributes: object
) -> OpRecord:
    return OpRecord(f"stablehlo.{name}", tuple(map(TensorType, operands)), (TensorType(result),), attributes)


def only_map(record: OpRecord) -> IndexMap:
    return output_to_input(record)[0][0][0]


def reshapes(count: int, seed: int) -> list[IndexMap]:
    """Returns the maps of a chain of random reshapes, from the last result to the first operand."""
    random = Random(seed)
    shapes = [random_shape(random) for _ in range(count + 1)]
    return [only_map(op("reshape", (after,), before)) for before, after in pairwise(shapes)]


def composed(maps: list[IndexMap], *, at_each_step: bool) -> IndexMap:
    total = maps[0]
    for then in maps[1:]:
        total = total * then if at_each_step else total.compose(then)
    return total.simplified


def softmax_chain(rows: int, columns: int) -> list[IndexMap]:
    """Returns twelve maps along one path through a softmax, from result to input."""
    full, row = (2, rows, columns), (2, rows)
    same = only_map(op("exponential", (full,), full))
    down = only_map(op("broadcast_in_dim", (row,), full, broadcast_dimensions=(0, 1)))
    across = only_map(op("reduce", (full, ()), row, dimensions=(2,)))
    return [same, same, down, across, same, same, down, across, same, same, same, same]


def timed(name: str, run: Callable[[], object], times: int = 1) -> None:
    SESSION.clear()
    start = perf_counter()
    for _ in range(times):
        run()
    seconds = (perf_counter() - start) / times
    print(f"{name:58} {seconds * 1e3:10.3f} ms")


def main() -> None:
    chains = [reshapes(50, seed) for seed in range(5)]
    print(f"reshapes of {prod(PRIMES)} elements")
    for seed, chain in enumerate(chains):
        timed(
            f"50 reshapes, rank 6, simplified at each step, seed {seed}",
            lambda c=chain: composed(c, at_each_step=True),
        )
    for seed, chain in enumerate(chains):
        timed(
            f"10 reshapes, rank 6, simplified once, seed {seed}",
            lambda c=chain: composed(c[:10], at_each_step=False),
        )
    paths = [softmax_chain(60 + k, 120) for k in range(100)]
    timed("100 softmax paths of 12 compositions", lambda: [composed(p, at_each_step=True) for p in paths])
    records = [op("reshape", (random_shape(Random(k)),), random_shape(Random(k + 1))) for k in range(100)]
    timed("100 reshapes, output to input", lambda: [output_to_input(r) for r in records])
    timed("100 reshapes, input to output", lambda: [input_to_output(r) for r in records])


if __name__ == "__main__":
    main()
