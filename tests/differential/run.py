"""Compares N random programs a mode with the C++ Shardy and prints a table, with the causes of crashes.

python -m tests.differential.run 2000 [MODE ...]      what is unexplained goes to standard error, made small
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests.differential.modes import MODES, OUTCOMES, Mode, compare, made_small
from tests.differential.reference_process import ReferenceProcess

PROGRESS = 250
"""After how many programs standard error tells how it stands."""
SHRUNK = 5
"""How many unexplained programs of a mode are made small."""


def run(mode: Mode, count: int, reference: ReferenceProcess) -> tuple[Counter[str], Counter[str], int]:
    """How often which outcome was met, and which cause; how many are unexplained. Seeds are 0, 1, ..."""
    kinds, causes, unexplained = Counter[str](), Counter[str](), 0
    for seed in range(count):
        if seed and not seed % PROGRESS:
            print(
                f"--- {mode.name}: {seed} programs, {dict(kinds)}, {dict(causes)}",
                file=sys.stderr,
                flush=True,
            )
        text = mode.program(random.Random(seed))
        outcome = compare(mode, text, reference)
        kinds[outcome.kind] += 1
        if outcome.cause:
            causes[str(outcome)] += 1
        if not outcome.is_explained:
            unexplained += 1
            small = made_small(mode, text, outcome, reference) if unexplained <= SHRUNK else outcome
            heading = f"=== {small}: {mode.name}, seed {seed}"
            print(f"{heading}\n{small.program}\n{small.detail}", file=sys.stderr, flush=True)
    return kinds, causes, unexplained


def main() -> int:
    """The table; fails if anything is unexplained."""
    count, *names = sys.argv[1:] or ["100"]
    print(f"{'mode':28}" + "".join(f"{name:>14}" for name in OUTCOMES))
    total = 0
    with ReferenceProcess() as reference:
        for mode in MODES:
            if not names or mode.name in names:
                kinds, causes, unexplained = run(mode, int(count), reference)
                total += unexplained
                print(f"{mode.name:28}" + "".join(f"{kinds[name]:14}" for name in OUTCOMES))
                for cause, number in sorted(causes.items()):
                    print(f"    {number} {cause}")
                sys.stdout.flush()
    return total > 0


if __name__ == "__main__":
    sys.exit(main())
