"""Feeds damaged inputs to every reader: each must give output or a diagnostic, soon and in little memory.

python -m tests.fuzz.run [TARGET ...] [--count 10000] [--seed 0] [--seconds 60] [--show TARGET/INDEX]

Targets are listed in `targets.py`. Faults are exceptions other than `ShardyError`, exit codes other than 0
and 1, diagnostics without a place, control characters in the output, more than 10 s of processor time, more
than 1 GB. `--seconds` ends the run early. Inputs with faults are written to build/fuzz, named by target, seed
and index.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.judging import Target
from tests.fuzz.targets import ROOT, targets
from tests.fuzz.worker import Limits, Verdict, input_of, verdicts

LISTED = 12
"""Faults of one kind and place that are listed; the others are counted."""


def main(arguments: list[str] | None = None) -> int:
    """Prints faults and counts; returns 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--count", type=int, default=10_000, help="inputs of all targets together")
    parser.add_argument("--start", type=int, default=0, help="index of the first input of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="budget of the whole run")
    parser.add_argument("--limit-seconds", type=float, default=10.0, help="limit of one input")
    parser.add_argument("--show", metavar="TARGET/INDEX", help="write one input to standard output")
    options = parser.parse_args(arguments)
    if options.show:
        name, index = options.show.split("/")
        sys.stdout.buffer.write(input_of(next(targets([name])), options.seed, int(index))[0])
        return 0
    chosen = list(targets(options.targets))
    shares = sum(target.share for target in chosen)
    limits = Limits(seconds=options.limit_seconds)
    faults = 0
    for target in chosen:
        part = target.share / shares
        first = options.start
        indices = range(first, first + max(1, round(options.count * part)))
        faults += _run(target, options.seed, indices, limits, options.seconds * part)
    return 1 if faults else 0


def _run(target: Target, seed: int, indices: range, limits: Limits, seconds: float) -> int:
    """Runs one target, prints its line, returns the number of faults."""
    start, kinds, listed = time.monotonic(), Counter[str](), Counter[str]()
    for verdict in verdicts(target, seed, indices, limits):
        kinds[verdict.kind] += 1
        if verdict.is_fault:
            listed[key := f"{verdict.kind} {verdict.detail[:60]}"] += 1
            if listed[key] <= 2 and len(listed) <= 200:
                _report(target, seed, verdict)
        if time.monotonic() - start > seconds:
            break
    total = sum(kinds.values())
    faults = total - kinds["output"] - kinds["diagnostic"]
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    seconds = time.monotonic() - start
    print(f"{target.name:14}{total:9} inputs, {seconds:6.1f} s: {faults} faults ({counts})", flush=True)
    return faults


def _report(target: Target, seed: int, verdict: Verdict) -> None:
    folder = Path(os.environ.get("FUZZ_OUTPUT", ROOT / "build" / "fuzz"))
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{target.name}-{seed}-{verdict.index}"
    (folder / name).write_bytes(input_of(target, seed, verdict.index)[0])
    print(f"{name}: {verdict.kind}: {verdict.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
