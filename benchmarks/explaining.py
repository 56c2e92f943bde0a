"""Time to ask why of all values: `python benchmarks/explaining.py [--values 40000]`.

Explains values of the training step of a transformer, and asks of each why its first dimension is not sharded
along the last axis; CPU seconds, and what 40,000 values would take.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from programs import large_and_small

from shardy_py import Program, Result, Value, propagate

ALL = 40_000
"""The number of values that the table extrapolates to."""


def explain(result: Result, value: Value) -> None:
    result.explain(value)


def why_not(result: Result, value: Value) -> None:
    if value.shape:
        result.why_not(value, 0, next(reversed(next(iter(result.program.meshes.values())).order)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--values", type=int, default=ALL, help="ask of at most so many values")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        programs = large_and_small(Path(folder))
        print(f"{'program':24} {'question':8} {'values':>6} {'seconds':>8} {'for 40,000':>10}")
        for program in programs:
            result = propagate(Program.parse(program.text), progress=False)
            values = result.values[:: max(1, len(result.values) // options.values)]
            for question in (explain, why_not):
                start = process_time()
                for value in values:
                    question(result, value)
                seconds = process_time() - start
                row = f"{program.name:24} {question.__name__:8} {len(values):6} {seconds:8.1f}"
                print(f"{row} {seconds / len(values) * ALL:10.1f}")


if __name__ == "__main__":
    main()
