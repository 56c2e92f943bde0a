"""Partitions random programs and proves them: `python -m tests.reshard.random N [--seed S]`.

Programs are those of the comparison with C++ (`tests/differential/`), with more ops, which only run: even and
uneven sizes, calls, loops and branches by run-time values, partial sums, manual collectives, sub-axes, orders
of devices. Prints how many were equal, and the first failures, made smaller. What they shard: `coverage.py`.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from shardy_py import Options, Program, propagate
from shardy_py.base.errors import InternalError, ShardyError
from shardy_py.run.proof import ProofOptions, prove
from tests.differential.meshes import Width
from tests.differential.programs import wide_program
from tests.differential.shrink import shrink
from tests.run.interpret.custom_functions import register

SHOWN = 5
_NAMES = re.compile(r"<@\w+, [^>]*>|tensor<[^>]*>|%\w+(#\d+)?|-?\d[\d.e+-]*|\[[^\]]*\]")
WIDTHS = (
    Width(runs=True, replicated=0.05),
    Width(runs=True, replicated=0.05, annotated=0.5, closed=0.8),
    Width(runs=True, annotated=0.4, replicated=0.0, meshes=False),
    Width(runs=True, named=True, calls=False),
)
EQUAL, DIFFERENT, CANNOT_RUN, REJECTED, REFUSED, CRASHED = (
    "equal",
    "different",
    "cannot run",
    "invalid before",
    "not partitioned",
    "traceback",
)


@dataclass(frozen=True)
class Found:
    """How a program fares, with the reason."""

    kind: str
    detail: str = ""

    @property
    def cause(self) -> str:
        """The reason without names and numbers."""
        if not self.detail:
            return ""
        line = self.detail.splitlines()[-1 if self.kind == CRASHED else 0]
        return _NAMES.sub("_", line.split("error: ")[-1])[:150]


def program(seed: int, ops: int = Width.ops) -> str:
    """The random program of a seed. ops: the most that main has, beside what they need as operands."""
    rng = random.Random(seed)
    return wide_program(rng, replace(WIDTHS[seed % len(WIDTHS)], ops=ops))


def found(text: str, seed: int = 0) -> Found:
    """Partitions and proves a program."""
    register()
    try:
        source = Program.parse(text)
        source.run(_inputs(source, seed))
    except (ShardyError, InternalError) as error:
        return Found(REJECTED, str(error))
    try:
        result = propagate(source, Options(update_non_divisible_input_output_shardings=bool(seed % 2)))
    except ShardyError as error:
        return Found(REJECTED, str(error))
    try:
        local = result.partition()
    except ShardyError as error:
        return Found(REFUSED, str(error))
    except Exception:
        return Found(CRASHED, traceback.format_exc())
    try:
        answer = prove(local.partitioned, ProofOptions(seed=seed))
    except ShardyError as error:
        return Found(CANNOT_RUN, str(error))
    except Exception:
        return Found(CRASHED, traceback.format_exc())
    return Found(EQUAL) if answer.is_equal else Found(DIFFERENT, str(answer.fault))


def _inputs(source: Program, seed: int) -> dict[str, np.ndarray]:
    from shardy_py.api.execution import random_inputs

    return random_inputs(source.values, None, seed)


def made_small(text: str, failure: Found, seed: int) -> str:
    """A smaller program that fails alike."""
    key = failure.kind, failure.cause.split(":")[-1][:30]

    def fails(smaller: str) -> bool:
        other = found(smaller, seed)
        return (other.kind, other.cause.split(":")[-1][:30]) == key

    return shrink(text, fails, 300)


def main() -> int:
    """Prints the counts; fails if a program was not equal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shrink", action="store_true", help="print the first failures, made smaller")
    options = parser.parse_args()
    kinds, causes = Counter[str](), Counter[tuple[str, str]]()
    first: dict[tuple[str, str], int] = {}
    for seed in range(options.seed, options.seed + options.count):
        text = program(seed)
        one = found(text, seed)
        kinds[one.kind] += 1
        if one.kind not in (EQUAL, REJECTED):
            key = one.kind, one.cause
            causes[key] += 1
            if key not in first:
                first[key] = seed
                print(f"=== seed {seed}: {one.kind}: {one.cause}", flush=True)
                if options.shrink and len(first) <= SHOWN:
                    print(made_small(text, one, seed), found(text, seed).detail, sep="\n", flush=True)
    for (kind, cause), count in causes.most_common():
        print(f"{count:6} {kind}: {cause} (seed {first[kind, cause]})")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    return int(bool(causes))


if __name__ == "__main__":
    sys.exit(main())
