"""Breaks partitioned programs on purpose, one change each, and asks the proof.

    python -m tests.run.proof.mutations --count 2 --seed 0          2 changes of each kind in each program
    python -m tests.run.proof.mutations --program embedding --kind 'index offset'
    python -m tests.run.proof.mutations --random 20 --repeat 3      in 20 random programs, 3 proofs of each
    python -m tests.run.proof.mutations --right 100                 random programs as they are: all are right
    python -m tests.run.proof.mutations --right 10000 --small --prove exact       the same with four ops each

A mutant is different if a device returns another result for one of many inputs (`difference.py`). One that
is different and accepted is a fault of the proof, and fails the command; the proof in floats is known to
accept some. Equal ones have a reason (`reasons.py`), and the exact proof finds results equal: one without is
listed, to be looked at, as it may differ for inputs that were not tried. "caught": of those that are
different; "rejected": of the others, in which a value differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from shardy_py.base.errors import ShardyError
from tests.run.proof.mutations.broken import KINDS, NAMES, RANDOM, SMALL, Subject
from tests.run.proof.mutations.campaign import PROOFS, Prove, Table, outcome, outcomes, proof_by
from tests.run.proof.mutations.difference import TIMES, Runs

_SHOWN = 50


def main() -> int:
    """Prints the table."""
    options = _parser().parse_args()
    proofs = {name: PROOFS[name] for name in options.prove or PROOFS}
    proofs |= {f"seed {seed}": proof_by(seed=seed) for seed in range(1, options.repeat)}
    if options.right:
        seeds = range(options.seed, options.seed + options.right)
        return _right([f"{SMALL if options.small else RANDOM}{seed}" for seed in seeds], proofs)
    names = options.program or [*NAMES]
    if options.random:
        names = [f"{RANDOM}{seed}" for seed in range(options.seed, options.seed + options.random)]
    if options.site is not None:
        return _one(names[0], options.kind[0], options.site, proofs)
    strict = [proof for proof in proofs if proof != "floats"] or [*proofs]
    table, rejected = Table(tuple(proofs)), 0
    for name in names:
        try:
            for found in outcomes(
                name, options.kind or KINDS, options.count, options.seed, proofs, options.inputs
            ):
                table.add(found)
                if any(found.is_missed(proof) for proof in strict):
                    print(found, flush=True)
        except (ShardyError, AssertionError) as error:
            rejected += isinstance(error, AssertionError)
            if not options.random or isinstance(error, AssertionError):
                print(f"{name}: {error}", flush=True)
    print(table)
    print("\nwhy those that are not different are equal:")
    for reason, number in table.reasons.most_common():
        print(f"{number:6} {reason}")
    if table.unexplained:
        print("\nno difference found, and not shown to be equal:")
        print("\n".join(map(str, table.unexplained)))
    missed = {proof: sum(found.is_missed(proof) for found in table.missed) for proof in proofs}
    print("\naccepted and different: " + ", ".join(f"{proof} {number}" for proof, number in missed.items()))
    return int(rejected > 0 or any(missed[proof] for proof in strict))


def _one(name: str, kind: str, number: int, proofs: Mapping[str, Prove]) -> int:
    subject = Subject.named(name)
    mutant = subject.broken(kind, number)
    if mutant is None:
        print("invalid")
        return 1
    print(subject.whole.local, mutant.partitioned.local, sep="\n")
    found = outcome(subject, Runs.of(subject.whole), mutant, proofs)
    print(found)
    return int(any(found.is_missed(proof) for proof in proofs))


def _right(names: Sequence[str], proofs: Mapping[str, Prove]) -> int:
    """Proves programs that nothing was done to."""
    proven, refused, faults = 0, 0, 0
    for number, name in enumerate(names):
        if number and number % _SHOWN == 0:
            print(f"{name}: {proven} proven equal, {faults} rejected so far", flush=True)
        try:
            made = Subject.named(name).whole
        except ShardyError:
            refused += 1
            continue
        for proof, verdict in proofs.items():
            text = verdict(made)
            proven += not text
            if text.startswith("cannot run"):
                refused += 1
            elif text:
                faults += 1
                print(f"{name}, {proof}: {text}", flush=True)
    print(f"{proven} proven equal, {faults} rejected, {refused} not partitioned or cannot run")
    return int(faults > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.run.proof.mutations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=1, help="mutants of a kind and program; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of places, and of random programs")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument(
        "--program", action="append", help=f"a file, {RANDOM}SEED, {SMALL}SEED, or one of {', '.join(NAMES)}"
    )
    parser.add_argument("--prove", action="append", choices=tuple(PROOFS))
    parser.add_argument("--site", type=int, help="the place of one mutant, which is printed")
    parser.add_argument("--inputs", type=int, default=TIMES, help="on which equal mutants are equal")
    parser.add_argument("--repeat", type=int, default=1, help="seeds of exact proofs of each mutant")
    parser.add_argument("--random", type=int, metavar="N", help="mutants of N random programs")
    parser.add_argument("--small", action="store_true", help="programs of `--right` have few ops")
    parser.add_argument("--right", type=int, metavar="N", help="N random programs as they are")
    return parser


if __name__ == "__main__":
    sys.exit(main())
