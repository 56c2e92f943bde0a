"""Compares the partitioner's passes with the C++ Shardy of JAX 0.10, or of another release.

`python -m tests.differential.partitioning N [--release 0.11] [--suite SHARDY] [--seed S]`

N random programs a pass, each brought there by our passes: C++ does not get far with most. With a checkout of
Shardy also the programs of its tests of these passes. The jaxlib of JAX 0.10 has the passes `PASSES`, without
the counts of replicas and partitions.

Programs with two results must be equal byte for byte, and what C++ refuses or does not survive must be
explained, as in the modes of `partitioner_modes.py`; what these do not explain is in `CAUSES`.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.cli.chunks import SPLIT_MARKER, split_chunks
from tests.differential import references
from tests.differential.explained import UNKNOWN
from tests.differential.meshes import Width
from tests.differential.modes import (
    DIFFERENT,
    OUTCOMES,
    REFUSED,
    SAME,
    Mode,
    Outcome,
    Step,
    compare,
    run_ours,
)
from tests.differential.partitioner_modes import RESHARDS
from tests.differential.programs import wide_program
from tests.differential.reference_process import ReferenceProcess

RESOLVE, PAD, LOCAL = PASSES = (
    "sdy-resolve-permutation-factors",
    "sdy-pad-for-divisibility",
    "sdy-convert-global-to-local",
)
"""The passes that are compared."""

STAGES: tuple[Step, ...] = (
    ("sdy-propagation-pipeline", ""),
    ("sdy-insert-explicit-reshards", "enable-full-version=true"),
    (RESOLVE, "enable-halo-exchange=false"),
    ("sdy-reshard-to-collectives", ""),
    (PAD, ""),
    (LOCAL, ""),
)
"""Shardy's partitioner in JAX 0.10, with the propagation before it."""

TESTS = "shardy/dialect/sdy/transforms/export/test"
WIDTH = Width(replicated=0.0, annotated=0.4)
_FLAG = re.compile(r"""--?(sdy-[\w-]+)(?:=(?:"([^"]*)"|'([^']*)'))?""")
_GATHERED = re.compile(
    r"(%\w+) = sdy\.all_(?:gather|to_all) [^\n]*\n(?:[^\n]*\n)*?[^\n]*stablehlo\.slice \1 \[[^\n]*\{\""
)
_PLAIN_MASK = re.compile(r"stablehlo\.compare LT, %\w+, %\w+ : \(tensor<[\dx]+xi\d+>")


@dataclass(frozen=True)
class Cause:
    """Why results of a pass differ, where no program or imitation proves it.

    holds: for the program, our result and that of C++.
    """

    name: str
    of: str
    holds: Callable[[str, str, str], object]


CAUSES = (
    Cause(
        "C++ leaves casts between types of other sizes behind",
        PAD,
        lambda text, ours, theirs: "unrealized_conversion_cast" in theirs,
    ),
    Cause(
        "C++ pads or slices a dimension that is still sharded, between uneven parts that do not line up",
        PAD,
        lambda text, ours, theirs: (
            _GATHERED.search(theirs) or ours.count("sdy.all_gather") > theirs.count("sdy.all_gather")
        ),
    ),
    Cause(
        "jaxlib's masks are older: in another order, without shardings; Shardy's tests decide",
        PAD,
        lambda text, ours, theirs: _PLAIN_MASK.search(theirs) and not _PLAIN_MASK.search(ours),
    ),
    Cause(
        "set_dimension_size of an uneven dimension is an error here",
        PAD,
        lambda text, ours, theirs: "'stablehlo.set_dimension_size' op inferred" in ours,
    ),
    Cause(
        "with enable-rgv3 C++ writes axes of its own dialect into replica groups, which are StableHLO's here",
        LOCAL,
        lambda text, ours, theirs: "#sdy<axis_ref" in theirs,
    ),
    Cause(
        "C++ starts updates of parts where those of the whole start",
        LOCAL,
        lambda text, ours, theirs: (
            "stablehlo.dynamic_update_slice" in text
            and ours.count("= stablehlo.clamp") > theirs.count("= stablehlo.clamp")
        ),
    ),
)
"""The causes, each looked into at a program or more. `of`: the pass."""


def explained(name: str, outcome: Outcome) -> Outcome:
    """The outcome with its cause, if results differ and it is known; two refusals may name other ops."""
    if outcome.kind != DIFFERENT or outcome.cause not in ("", UNKNOWN):
        return outcome
    ours, _, theirs = outcome.detail.partition("\ntheirs: ")
    if not ours.startswith("ours: module") and not theirs.startswith("module"):
        return replace(outcome, kind=REFUSED, cause="")
    causes = [
        cause.name for cause in CAUSES if cause.of == name and cause.holds(outcome.program, ours, theirs)
    ]
    return replace(outcome, cause=causes[0]) if causes else outcome


def _stages() -> tuple[Step, ...]:
    """The stages, where releases since 0.11 need partial results marked."""
    marked = RESHARDS if Behaviour.EXPORT_OPTIMIZES.holds else STAGES[1]
    return (STAGES[0], marked, *STAGES[2:])


def random_cases(count: int, seed: int = 0) -> Iterator[tuple[str, Step, str]]:
    """The name, the pass and the program before it, for each seed and pass until ours refuses it."""
    for number in range(seed, seed + count):
        text = wide_program(random.Random(number), WIDTH)
        for step in _stages():
            if step[0] in PASSES:
                yield f"seed {number}", step, text
            try:
                text = run_ours(text, (step,))
            except ShardyError:
                break


def suite_cases(suite: Path) -> Iterator[tuple[str, Step, str]]:
    """The name, the pass and the program of each test of a pass."""
    for path in sorted((suite / TESTS).glob("**/*.mlir")):
        text = path.read_text()
        for line in re.findall(r"// RUN:.*", text):
            found = _FLAG.findall(line)
            options = " ".join(found[0][1:]).strip() if found else ""
            if len(found) == 1 and found[0][0] in PASSES and "-count" not in options:
                marker = SPLIT_MARKER if "-split-input-file" in line else None
                for chunk in split_chunks(text, marker):
                    yield f"{path.parent.name}/{path.stem}", (found[0][0], options), chunk.text


def outcome_of(step: Step, text: str, reference: ReferenceProcess) -> Outcome:
    """How a program fares in a pass."""
    mode = Mode(step[0], lambda rng: "", (step,))
    return explained(step[0], compare(mode, text, reference))


def table(source: str, cases: Iterable[tuple[str, Step, str]], reference: ReferenceProcess) -> int:
    """Prints the table of programs, and the causes; returns the number of unexplained outcomes."""
    kinds = {name: Counter[str]() for name in PASSES}
    causes, unexplained = Counter[str](), 0
    for name, step, text in cases:
        outcome = outcome_of(step, text, reference)
        kinds[step[0]][outcome.kind] += 1
        if not outcome.is_explained:
            unexplained += 1
            print(f"=== {outcome}: {name}, {step[0]}\n{outcome.program}\n{outcome.detail}", file=sys.stderr)
        if outcome.kind not in (SAME, REFUSED):
            causes[f"{step[0]}, {outcome}"] += 1
    for name, counts in kinds.items():
        print(f"{f'{source}, {name}':40}" + "".join(f"{counts[kind]:14}" for kind in OUTCOMES))
    for cause, number in causes.most_common():
        print(f"    {number:5} {cause}")
    sys.stdout.flush()
    return unexplained


def main() -> int:
    """Prints the tables; fails if an outcome is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--release", default="0.10", help="of JAX")
    parser.add_argument("--suite", type=Path, help="a checkout of Shardy")
    options = parser.parse_args()
    release, pythons = releases.named(options.release), references.found()
    if release not in pythons:
        parser.error(references.missing(release))
    unexplained = 0
    print(f"{f'{release}: programs, pass':40}" + "".join(f"{name:>14}" for name in OUTCOMES))
    with releases.of(release), ReferenceProcess(pythons[release]) as reference:
        unexplained += table("random", random_cases(options.count, options.seed), reference)
        if options.suite:
            unexplained += table("tests", suite_cases(options.suite), reference)
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
