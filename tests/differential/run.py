"""Compares N random programs a mode with the C++ Shardy and prints a table.

python -m tests.differential.run 2000 [MODE ...]       programs that fare otherwise go to standard error
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from tests.differential.modes import DIFFERENT, MODES, OUTCOMES, Mode, compare
from tests.differential.reference_process import ReferenceProcess


def run(mode: Mode, count: int, reference: ReferenceProcess) -> Counter[str]:
    """How often which outcome was met; seeds are 0, 1, ..."""
    outcomes: Counter[str] = Counter()
    for seed in range(count):
        outcome, detail = compare(mode, mode.program(random.Random(seed)), reference)
        outcomes[outcome] += 1
        if detail:
            print(f"=== {outcome}: {mode.name}, seed {seed}\n{detail}", file=sys.stderr, flush=True)
    return outcomes


def main() -> int:
    """The table; fails if anything is different."""
    count, *names = sys.argv[1:] or ["100"]
    print(f"{'mode':28}" + "".join(f"{name:>18}" for name in OUTCOMES))
    differences = 0
    with ReferenceProcess() as reference:
        for mode in MODES:
            if not names or mode.name in names:
                outcomes = run(mode, int(count), reference)
                differences += outcomes[DIFFERENT]
                row = "".join(f"{outcomes[name]:18}" for name in OUTCOMES)
                print(f"{mode.name:28}{row}", flush=True)
    return differences > 0


if __name__ == "__main__":
    sys.exit(main())
