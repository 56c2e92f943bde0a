"""Feeds mutated programs to the reader and the pipeline: each must give a located diagnostic or valid output.

    python benchmarks/fuzz.py [--count 2000] [--seed 0] [--seconds 10]

A mutation drops, doubles or swaps characters or tokens of a program of the corpus (or of examples/). Faults
are exceptions other than `ShardyError`, diagnostics without a location, output that cannot be parsed, and
inputs that exceed the time limit. Inputs with faults are written to build/fuzz.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from programs import CORPUS, EXAMPLE, ROOT
from xdsl.dialects.builtin import ModuleOp

from shardy_py import pipeline
from shardy_py.errors import ShardyError

LARGEST_BYTES = 60_000
SOURCE, OUTPUT = "mutated.mlir", "printed.mlir"
_TOKEN = re.compile(r'"[^"\n]*"|[\w.$#@%!^-]+|\s+|.', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault found with one input."""

    kind: str
    detail: str


class OutOfTime(Exception):
    """The time limit of one input was exceeded."""


def mutate(text: str, random_: random.Random) -> str:
    """Applies one to three mutations of characters or tokens."""
    for _ in range(random_.choice((1, 1, 1, 2, 3))):
        pieces: list[str] = list(text) if random_.random() < 0.5 else _TOKEN.findall(text)
        random_.choice(MUTATIONS)(pieces, random_)
        text = "".join(pieces)
    return text


def _drop(pieces: list[str], random_: random.Random) -> None:
    start = random_.randrange(len(pieces))
    del pieces[start : start + random_.choice((1, 1, 1, 2, 5))]


def _double(pieces: list[str], random_: random.Random) -> None:
    start = random_.randrange(len(pieces))
    pieces.insert(start, pieces[start])


def _swap(pieces: list[str], random_: random.Random) -> None:
    one, other = random_.randrange(len(pieces)), random_.randrange(len(pieces))
    pieces[one], pieces[other] = pieces[other], pieces[one]


def _swap_near(pieces: list[str], random_: random.Random) -> None:
    one = random_.randrange(len(pieces))
    other = min(one + random_.choice((1, 2, 3)), len(pieces) - 1)
    pieces[one], pieces[other] = pieces[other], pieces[one]


MUTATIONS: tuple[Callable[[list[str], random.Random], None], ...] = (_drop, _double, _swap, _swap_near)


def examine(text: str, *, seconds: float) -> Fault | Literal["output", "diagnostic"]:
    """Returns the outcome of one input: valid output, a located diagnostic, or a fault."""
    try:
        with time_bound(seconds):
            module = pipeline.read(text, SOURCE)
            return _unstable(module) or _unstable(_sharded(module)) or "output"
    except ShardyError as error:
        position = error.diagnostics[0].where
        return "diagnostic" if position and position.file == SOURCE else Fault("no place", str(error))
    except OutOfTime:
        return Fault("hang", f"more than {seconds} s")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Fault(type(error).__name__, f"{error} ({Path(place.filename).name}:{place.lineno})")


def _sharded(module: ModuleOp) -> ModuleOp:
    return pipeline.finish(pipeline.propagate(pipeline.prepare(module)))


def _unstable(module: ModuleOp) -> Fault | None:
    """Returns a fault if the printed program does not parse to the same program."""
    printed = pipeline.write(module)
    again = pipeline.write(pipeline.read(printed, OUTPUT))
    return None if again == printed else Fault("unstable", "what is printed reads back as something else")


@contextmanager
def time_bound(seconds: float) -> Iterator[None]:
    """Raises `OutOfTime` if the body takes longer."""

    def ring(*_: object) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def source_texts() -> list[tuple[str, str]]:
    """Returns names and texts of the programs to mutate, without the large ones."""
    paths = sorted(CORPUS.glob("*.mlir")) or [EXAMPLE]
    texts = [(path.name, path.read_text()) for path in paths]
    return [(name, text) for name, text in texts if len(text) <= LARGEST_BYTES] or texts


def mutated_inputs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yields `count` inputs; their names contain the seed to reproduce them."""
    texts = source_texts()
    for index in range(count):
        random_ = random.Random(f"{seed}/{index}")
        name, text = random_.choice(texts)
        yield f"{seed}-{index}-{name}", mutate(text, random_)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="bound of one input")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    faults = 0
    for name, text in mutated_inputs(options.count, options.seed):
        outcome = examine(text, seconds=options.seconds)
        if isinstance(outcome, Fault):
            faults += 1
            folder = ROOT / "build" / "fuzz"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            print(f"{name}: {outcome.kind}: {outcome.detail}")
        kinds[outcome.kind if isinstance(outcome, Fault) else outcome] += 1
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(f"{options.count} mutated inputs, seed {options.seed}: {faults} faults ({counts})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
