"""Compares random programs with the C++ Shardy of each release that is found, and prints a table for each.

python -m tests.differential.releases --count 2000 [--seed S] [--release 0.12] [MODE ...]

The tables have the causes of crashes; what is unexplained goes to standard error, made small.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from shardy_py.base import releases
from tests.differential import references
from tests.differential.modes import MODES, OUTCOMES, Mode, compare, made_small
from tests.differential.partitioner_modes import PARTITIONER_MODES
from tests.differential.reference_process import ReferenceProcess

PROGRESS = 250
"""After how many programs standard error tells how it stands."""
SHRUNK = 5
"""How many unexplained programs of a mode are made small, unless `--shrink` says it."""


def run(
    mode: Mode, seeds: range, reference: ReferenceProcess, shrunk: int = SHRUNK
) -> tuple[Counter[str], Counter[str], int]:
    """How often which outcome was met, and which cause; how many are unexplained."""
    kinds, causes, unexplained = Counter[str](), Counter[str](), 0
    for number, seed in enumerate(seeds):
        if number and not number % PROGRESS:
            print(
                f"--- {mode.name}: {number} programs, {dict(kinds)}, {dict(causes)}",
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
            small = made_small(mode, text, outcome, reference) if unexplained <= shrunk else outcome
            heading = f"=== {small}: {mode.name}, seed {seed}, {releases.current()}"
            print(f"{heading}\n{small.program}\n{small.detail}", file=sys.stderr, flush=True)
    return kinds, causes, unexplained


def table(release: releases.Release, python: str, seeds: range, names: list[str], shrunk: int) -> int:
    """Prints the table of a release; returns the number of unexplained programs."""
    print(f"{release!s:28}" + "".join(f"{name:>14}" for name in OUTCOMES))
    total = 0
    with releases.of(release), ReferenceProcess(python) as reference:
        for mode in MODES + PARTITIONER_MODES:
            if mode.is_registered and (not names or mode.name in names):
                kinds, causes, unexplained = run(mode, seeds, reference, shrunk)
                total += unexplained
                print(f"{mode.name:28}" + "".join(f"{kinds[name]:14}" for name in OUTCOMES))
                for cause, number in sorted(causes.items()):
                    print(f"    {number} {cause}")
                sys.stdout.flush()
    return total


def main() -> int:
    """The tables; fails if anything is unexplained, or no reference is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="programs a mode")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow it")
    parser.add_argument("--release", help="only this one")
    parser.add_argument("--shrink", type=int, default=SHRUNK, help="programs a mode that are made small")
    parser.add_argument("modes", nargs="*", metavar="MODE", help="only these")
    options = parser.parse_args()
    wanted = [releases.named(options.release)] if options.release else releases.RELEASES
    pythons, total = references.found(), 0
    for release in wanted:
        if release not in pythons:
            print(references.missing(release), file=sys.stderr)
            total += release.name == options.release or not pythons
            continue
        seeds = range(options.seed, options.seed + options.count)
        total += table(release, pythons[release], seeds, options.modes, options.shrink)
    return total > 0


if __name__ == "__main__":
    sys.exit(main())
