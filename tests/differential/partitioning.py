"""Compares the partitioner's passes with the C++ Shardy of JAX 0.10.

`python -m tests.differential.partitioning N [--suite SHARDY] [--seed S]`

N random programs a pass, each brought there by our passes; with a checkout of Shardy also the programs of its
tests of these passes. Its jaxlib has the passes `PASSES`, without the counts of replicas and partitions.

Programs with two results must be equal byte for byte, but for the causes of `CAUSES`. What C++ refuses, or
does not survive, is counted by its message: it partitions few programs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.cli.driver import split_chunks
from shardy_py.cli.flags import SPLIT_MARKER
from tests.differential import references
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
"""Shardy's partitioner, with the propagation before it."""

TESTS = "shardy/dialect/sdy/transforms/export/test"
WIDTH = Width(replicated=0.0, annotated=0.4)
_FLAG = re.compile(r"""--?(sdy-[\w-]+)(?:=(?:"([^"]*)"|'([^']*)'))?""")
_GATHERED = re.compile(
    r"(%\w+) = sdy\.all_(?:gather|to_all) [^\n]*\n(?:[^\n]*\n)*?[^\n]*stablehlo\.slice \1 \[[^\n]*\{\""
)
_PLAIN_MASK = re.compile(r"stablehlo\.compare LT, %\w+, %\w+ : ")
_NAMES = re.compile(r'"-":\d+:\d+: |%\w+(#\d+)?|-?\d+|<[^<>]*>')


@dataclass(frozen=True)
class Cause:
    """Why results of a pass differ; `holds` for the program, our result and that of C++."""

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
    Cause(
        "C++ offsets indices into dimensions that a scatter updates whole",
        LOCAL,
        lambda text, ours, theirs: (
            "stablehlo.scatter" in text
            and theirs.count("= stablehlo.subtract") > ours.count("= stablehlo.subtract")
        ),
    ),
    Cause(
        "C++ pads each part by itself, though parts need elements of others; an error here",
        LOCAL,
        lambda text, ours, theirs: "needs elements of other devices is unsupported" in ours,
    ),
)
"""The causes, each looked into at a program or more. `of`: the pass."""


def explained(name: str, outcome: Outcome) -> Outcome:
    """The outcome with its cause, if results differ and it is known; two refusals may name other ops."""
    if outcome.kind != DIFFERENT:
        return outcome
    ours, _, theirs = outcome.detail.partition("\ntheirs: ")
    if not ours.startswith("ours: module") and not theirs.startswith("module"):
        return Outcome(REFUSED, "", *_rest(outcome))
    causes = [
        cause.name for cause in CAUSES if cause.of == name and cause.holds(outcome.program, ours, theirs)
    ]
    return Outcome(DIFFERENT, causes[0] if causes else "", *_rest(outcome))


def _rest(outcome: Outcome) -> tuple[str, str]:
    return outcome.program, outcome.detail


def random_cases(count: int, seed: int = 0) -> Iterator[tuple[str, Step, str]]:
    """The name, the pass and the program before it, for each seed and pass until ours refuses it."""
    for number in range(seed, seed + count):
        text = wide_program(random.Random(number), WIDTH)
        for step in STAGES:
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
    return explained(step[0], compare(mode, text, reference, explains=False))


def _reason(outcome: Outcome) -> str:
    """Why C++ gives no result, without names and numbers."""
    lines = outcome.detail.removeprefix("theirs: ").splitlines() or [""]
    line = next((line for line in lines if "error: " in line or "Check failed" in line), lines[0])
    return _NAMES.sub("_", line.split("Check failed: ")[-1])[:110]


def main() -> int:
    """Prints the table; fails if a difference is unexplained."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--suite", type=Path, help="a checkout of Shardy")
    options = parser.parse_args()
    sources = [("random", random_cases(options.count, options.seed))]
    if options.suite:
        sources.append(("tests", suite_cases(options.suite)))
    unexplained = 0
    print(f"{'programs, pass':40}" + "".join(f"{name:>14}" for name in OUTCOMES))
    pythons = references.found()
    if releases.JAX_0_10 not in pythons:
        parser.error(references.missing(releases.JAX_0_10))
    with releases.of(releases.JAX_0_10), ReferenceProcess(pythons[releases.JAX_0_10]) as reference:
        for source, cases in sources:
            kinds = {name: Counter[str]() for name in PASSES}
            reasons = Counter[str]()
            for name, step, text in cases:
                outcome = outcome_of(step, text, reference)
                kinds[step[0]][outcome.kind] += 1
                if outcome.kind == DIFFERENT and not outcome.cause:
                    unexplained += 1
                    print(f"=== {name}, {step[0]}\n{outcome.program}\n{outcome.detail}", file=sys.stderr)
                if outcome.kind not in (SAME, REFUSED):
                    why = outcome.cause if outcome.kind == DIFFERENT else _reason(outcome)
                    reasons[f"{step[0]}, {outcome.kind}: {why or 'unexplained'}"] += 1
            for name, counts in kinds.items():
                print(f"{f'{source}, {name}':40}" + "".join(f"{counts[kind]:14}" for kind in OUTCOMES))
            for reason, number in reasons.most_common():
                print(f"    {number:5} {reason}")
            sys.stdout.flush()
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
