"""Measures which behaviours a jaxlib has.

python -m tests.differential.behaviours PYTHON --count N [--from RELEASE] [MODE ...]

A program tells of a behaviour if our result with it and that without it differ, and one of them is that of
C++. All other behaviours are as the programs before it said, at first as in the release of `--from`. The
table has, for each behaviour, how many programs say so, and how many deny it.

`--files` are programs whose first line has their pass, as `// sdy-opt -sdy-close-shardings='options'`.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from shardy_py.base import releases
from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from tests.differential.modes import MODES, Mode, Step, run_ours, spelled
from tests.differential.partitioner_modes import PARTITIONER_MODES
from tests.differential.reference_process import ReferenceProcess

Held = frozenset[Behaviour]
_FLAG = re.compile(r" --?((?:sdy-|symbol-|canonicalize)[\w-]*)(?:='([^']*)')?")
ENOUGH = 20
"""After how many programs that agree a behaviour is not tried any more."""


class Trials:
    """Releases with any set of behaviours; `asked` has those that were asked for since it was cleared."""

    def __init__(self) -> None:
        self.asked: set[Behaviour] = set()
        self._releases: dict[Held, releases.Release] = {}
        self._held: dict[releases.Release, Held] = {}

    def of(self, held: Held) -> releases.Release:
        """The release with these behaviours: one for each set, since memo tables have it in their keys."""
        if held not in self._releases:
            number = 1000 + len(self._releases)
            made = releases.Release(f"trial-{number}", number)
            self._releases[held], self._held[made] = made, held
        return self._releases[held]

    def holds(self, behaviour: Behaviour) -> bool:
        """What `Behaviour.holds` is while releases are tried."""
        self.asked.add(behaviour)
        current = releases.current()
        if current in self._held:
            return behaviour in self._held[current]
        return behaviour.value.since.order <= current.order

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Within, `Behaviour.holds` is that of the releases here."""
        with mock.patch.object(Behaviour, "holds", property(self.holds)):
            yield


def files(folder: Path) -> Iterator[Mode]:
    """A mode for each program of a folder."""
    for path in sorted(folder.glob("*.mlir")):
        text = path.read_text()
        steps = tuple(_FLAG.findall(text.splitlines()[0]))
        if steps:
            yield Mode(path.stem, lambda rng, text=text: text, steps)


def _ours(text: str, steps: tuple[Step, ...], release: releases.Release) -> str:
    with releases.of(release):
        try:
            return run_ours(text, steps)
        except ShardyError as error:
            return f"error: {error}"
        except Exception as error:  # a set of behaviours that no release has
            return f"no result: {error!r}"


class Measurement:
    """What the programs so far say, as `votes[behaviour, has it]`.

    unexplained: how many programs C++ has another result for, whichever behaviour is changed.
    """

    def __init__(self, held: Held, trials: Trials) -> None:
        self.held = held
        self.votes: Counter[tuple[Behaviour, bool]] = Counter()
        self.compared = self.unexplained = 0
        self._trials = trials

    def take(self, mode: Mode, text: str, reference: ReferenceProcess) -> None:
        """Looks at a program, if C++ has a result."""
        with releases.of(self._trials.of(self.held)):
            before, passes = spelled(mode.shared), spelled(mode.steps)
        if before:
            status, text = reference.run(text, before)
            if status:
                return
        status, theirs = reference.run(text, passes)
        if status:
            return
        self.compared += 1
        self._trials.asked.clear()
        is_same = _ours(text, mode.steps, self._trials.of(self.held)) == theirs
        asked = sorted(self._trials.asked, key=lambda behaviour: behaviour.name)
        tells = False
        for behaviour in asked:
            if is_same and self.votes[behaviour, behaviour in self.held] >= ENOUGH:
                continue
            flipped = self.held ^ {behaviour}
            if (_ours(text, mode.steps, self._trials.of(flipped)) == theirs) != is_same:
                self.votes[behaviour, (behaviour in self.held) == is_same] += 1
                tells = True
                if not is_same:
                    self.held = flipped
                    break
        self.unexplained += not (is_same or tells)

    def print(self) -> None:
        """The table."""
        print(f"{self.compared} programs, {self.unexplained} unexplained")
        for behaviour in Behaviour:
            yes, no = (self.votes[behaviour, has_it] for has_it in (True, False))
            answer = "?" if not yes + no else "yes" if yes > no else "no"
            print(f"{behaviour.name:44}{behaviour.value.since!s:20}{answer:6}{yes:6}{no:6}")


def main() -> int:
    """Prints the table after each mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="the interpreter that has the jaxlib")
    parser.add_argument("--count", type=int, default=50, help="programs a mode")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow it")
    parser.add_argument(
        "--from", dest="start", default=releases.RELEASES[0].name, help="the release to start from"
    )
    parser.add_argument("--files", type=Path, help="a folder of programs, before the random ones")
    parser.add_argument("modes", nargs="*", metavar="MODE", help="only these")
    options = parser.parse_intermixed_args()
    start, trials = releases.named(options.start), Trials()
    held = frozenset(b for b in Behaviour if b.value.since.order <= start.order)
    measurement = Measurement(held, trials)
    with trials.tried(), ReferenceProcess(options.python) as reference:
        for mode in files(options.files) if options.files else ():
            measurement.take(mode, mode.program(random.Random(0)), reference)
        for mode in MODES + PARTITIONER_MODES:
            if options.modes and mode.name not in options.modes:
                continue
            for seed in range(options.seed, options.seed + options.count):
                measurement.take(mode, mode.program(random.Random(seed)), reference)
            print(f"--- {mode.name}", flush=True)
    measurement.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
