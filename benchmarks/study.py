"""What a set of annotations costs in a study, beside C++: `python benchmarks/study.py [--count 50]`.

For `transformer_train_48`: seconds of a what-if of arguments (changed shardings, collectives and memory) as a
share of the time in which C++ propagates the program once. For `transformer_train_12`: seconds for many
candidates, of which some are compared with propagating from scratch.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from pipeline import measure
from programs import large_and_small

from shardy_py import P, Program, Result, Study, propagate
from shardy_py.base.session import without_collection
from shardy_py.report.difference import Figures


def main() -> None:
    parser = argparse.ArgumentParser(description="What a set of annotations costs.")
    parser.add_argument("--count", type=int, default=50, help="candidates (default 50)")
    parser.add_argument("--checked", type=int, default=5, help="candidates compared (default 5)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, without_collection():
        large, small = large_and_small(Path(folder))
        program = Program.parse(large.text, as_compiled=True)
        start = perf_counter()
        result = propagate(program, progress=False)
        propagated = perf_counter() - start
        edits = candidates(program, 1)
        first = _seconds(lambda: _what_if(result, next(edits)))
        single = median([_seconds(lambda: _what_if(result, next(edits))) for _ in range(7)])
        print(
            f"{large.name}: propagated in {propagated:.3f} s; first what-if of arguments {first:.3f} s, then"
        )
        print(f"{single:.3f} s each, with changed shardings, bill and memory")
        if importlib.util.find_spec("jaxlib") is not None:
            figures = [measure("reference", large) for _ in range(3)]
            whole = median([f["parse"] + f["passes"] for f in figures])
            passes = median([f["passes"] for f in figures])
            print(f"C++: passes {passes:.3f} s, ratio {single / passes:.2f}; with parse {single / whole:.2f}")
        program = Program.parse(small.text, as_compiled=True)
        study = Study(program)
        study.score()
        tried = [next(candidates(program, seed)) for seed in range(given.count)]
        start, cpu_start = perf_counter(), process_time()
        scored = [study.score(each) for each in tried]
        taken, cpu = perf_counter() - start, process_time() - cpu_start
        thousand = 1000 * cpu / given.count
        print(f"{small.name}: {given.count} candidates in {taken:.2f} s, {cpu:.2f} s of CPU", end="")
        print(f" (1,000: {thousand:.0f} s); {sum(not each.from_scratch for each in scored)} by the study")
        equal = sum(
            _from_scratch(program, each) == found.figures
            for each, found in zip(tried[: given.checked], scored, strict=False)
        )
        print(f"{equal} of {given.checked} compared equal those from scratch")


def candidates(program: Program, seed: int) -> Iterator[dict[str, Any]]:
    """Shardings of some arguments along some axes."""
    rng = random.Random(seed)
    axes = list(next(iter(program.meshes.values())).order)
    arguments = [v for v in program.values if v.role == "argument" and v.shape]
    while True:
        edits: dict[str, Any] = {}
        for value in rng.sample(arguments, rng.choice([1, 1, 2, 4])):
            dims: list[str | None] = [None] * len(value.shape or ())
            dims[rng.randrange(len(dims))] = rng.choice(axes)
            edits[value.name] = P(*dims)
        yield edits


def _what_if(result: Result, edits: dict[str, Any]) -> None:
    """All that a what-if says; the result itself is known before."""
    found = result.what_if(edits, partitioner="xla")
    _ = found.changes, found.figures


def _from_scratch(program: Program, edits: dict[str, Any]) -> Figures:
    result = propagate(program.annotate(edits), progress=False)
    return Figures.of(result.communication(partitioner="xla"), result.memory())


def _seconds(work: Any) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    main()
