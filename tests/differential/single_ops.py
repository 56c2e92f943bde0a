"""Compares `sdy-per-instruction-partitioning` with C++ op by op: each op of a program alone is partitioned.

python -m tests.differential.single_ops --count 300 [--seed S]

Half of all programs have an op that both refuse, and what comes after it is not compared then. Here a refusal
hides nothing but its op. The table has the outcomes, and of what both refuse the ops, whether the messages
are the same, and where they are not, both.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from tests.differential import references
from tests.differential.modes import REFUSED, Mode, Outcome, compare, made_small, run_ours, spelled
from tests.differential.partitioner_modes import PROGRAM, SINGLE, STAGES
from tests.differential.reference_process import ReferenceProcess
from tests.differential.refusals import first_fact

_NUMBERS = re.compile(r"\d+")


def single(number: int) -> Mode:
    """The mode that partitions the op with that number."""
    options = f"filter='selectLow={number},selectHigh={number}'"
    return Mode(f"op {number}", lambda rng: "", ((SINGLE[0], options),))


def outcomes(text: str, reference: ReferenceProcess) -> Iterator[tuple[Mode, Outcome]]:
    """How each op of a program with reshards fares."""
    for number in count():
        mode = single(number)
        try:
            if run_ours(text, mode.steps) == run_ours(text, ()):
                return
        except ShardyError:
            pass
        yield mode, compare(mode, text, reference)


def facts(outcome: Outcome) -> tuple[str, str]:
    """What is said here and there of a program that both refuse, without places and numbers."""
    ours, _, theirs = outcome.detail.removeprefix("ours: ").partition("\ntheirs: ")
    return _fact(ours), _fact(theirs)


def _fact(message: str) -> str:
    return _NUMBERS.sub("n", first_fact(message))[:150] or "no message"


def main() -> int:
    """The tables; fails if anything is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow it")
    options = parser.parse_args()
    release = releases.JAX_0_12
    if release not in references.found():
        parser.error(references.missing(release))
    kinds, refused, unexplained, ops = Counter[str](), Counter[tuple[str, str]](), 0, 0
    with releases.of(release), ReferenceProcess(references.found()[release]) as reference:
        for seed in range(options.seed, options.seed + options.count):
            status, text = reference.run(PROGRAM(random.Random(seed)), spelled(STAGES[:2]))
            if status:
                kinds["not reached (programs)"] += 1
                continue
            for mode, outcome in outcomes(text, reference):
                ops += 1
                kinds[str(outcome)] += 1
                if outcome.kind == REFUSED:
                    refused[facts(outcome)] += 1
                if not outcome.is_explained:
                    unexplained += 1
                    small = made_small(mode, text, outcome, reference) if unexplained < 6 else outcome
                    print(
                        f"=== {small}: seed {seed}, {mode.name}\n{small.program}\n{small.detail}",
                        file=sys.stderr,
                        flush=True,
                    )
    print(f"{release}: {ops} ops of {options.count} programs")
    for kind, number in kinds.most_common():
        print(f"{number:8} {kind}")
    alike = sum(number for (ours, theirs), number in refused.items() if ours == theirs)
    print(f"{alike:8} of {sum(refused.values())} that both refuse have the same message; the others:")
    for (ours, theirs), number in refused.most_common():
        if ours != theirs:
            print(f"{number:8} here:  {ours}\n         there: {theirs}")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
