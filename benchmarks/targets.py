"""The time of reports on the program as a device's compiler leaves it, over those on it as partitioned.

    python benchmarks/targets.py [--target h100 tpu-v5p] [--rounds 3] [NAME ...]

Each report is made of a result that has none yet, and then all of them of one: its propagation is not
counted, XLA's plan is. Rounds with and without a target take turns, and the least processor time of each
counts. The programs are those of ../shared/corpus, or copies of the example.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from math import inf
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory
from time import process_time

from programs import corpus_program, large_and_small

from shardy_py import Program, Result, propagate

_REPORTS: dict[str, Callable[[Result, str | None], object]] = {
    "communication": lambda result, target: result.communication(target=target, partitioner="xla").total,
    "time": lambda result, target: result.time(target or "h100", target=target, partitioner="xla").serial,
    "memory": lambda result, target: result.memory(target or "linear", partitioner="xla").estimate,
    "check": lambda result, target: result.check(target=target),
}
_ALL = "all of one result"


def all_reports(result: Result, target: str | None) -> object:
    """Each report, of one result, as users make them: what several need is made once."""
    return [make(result, target) for make in _REPORTS.values()]


def seconds(text: str, make: Callable[[Result, str | None], object], target: str | None) -> float:
    """The processor time of a report on a fresh result."""
    result = propagate(Program.parse(text), progress=False)
    gc.collect()
    start = process_time()
    make(result, target)
    return process_time() - start


def least(
    text: str, make: Callable[[Result, str | None], object], targets: tuple[str | None, ...], rounds: int
) -> dict[str | None, float]:
    """The least time by target, each of them tried once in each round."""
    found = dict.fromkeys(targets, inf)
    for _ in range(rounds):
        for target in found:
            found[target] = min(found[target], seconds(text, make, target))
    return found


def main() -> None:
    """Prints seconds without and with a target, and the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=["h100"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ratios: dict[tuple[str, str], list[float]] = {}
    with TemporaryDirectory() as folder:
        found = [each for each in map(corpus_program, given.names) if each is not None]
        for program in found or (large_and_small(Path(folder))[1],):
            for name, make in (*_REPORTS.items(), (_ALL, all_reports)):
                times = least(program.text, make, (None, *given.target), given.rounds)
                without = times[None]
                for target in map(str, given.target):
                    taken = times[target]
                    ratios.setdefault((name, target), []).append(taken / without)
                    row = f"{without:8.3f} s {taken:8.3f} s {taken / without:6.2f}"
                    print(f"{program.name:30} {name:17} {target:8} {row}", flush=True)
    for (name, target), each in ratios.items():
        print(f"{name} for {target}: {geometric_mean(each):.2f} times, at most {max(each):.2f}")


if __name__ == "__main__":
    main()
