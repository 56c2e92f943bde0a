"""What `fits` says of programs whose memory is near a limit, beside what their compilers allocate.

    python -m tests.xla.buffers.at_limits [--target h100 v5e ...] [NAME ...]

The programs are those of `on_targets.py` and, for H100, `on_large.py`. The limits are 0.9 to 1.1 times what
the compiler allocates. A verdict is wrong if the program is said to fit and does not, or not to fit and does;
"may fit" is neither, and counted apart.

`compiled_at_limits.json` has steps of `tests/hardware/` at batches for which an H100 is forecast to have 0.9
to 2 times its memory allocated: what XLA:GPU of jax 0.10.2 allocates ahead of time, without autotuning. From
60 % of the memory on it computes values again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, propagate
from shardy_py.xla.buffers.chips import CHIPS as CHIPS_BY_NAME
from tests.hardware.steps import STEPS
from tests.hardware.varied_steps import VARIED
from tests.xla.buffers.on_large import COMPILED, lowered
from tests.xla.buffers.on_targets import CHIPS, programs, propagated

PROGRAMS = {**STEPS, **VARIED}
SCALED = Path(__file__).with_name("compiled_at_limits.json")
LARGE = "h100, real size"
LIMITS = (0.9, 0.93, 0.96, 0.99, 1.01, 1.04, 1.07, 1.1)


@dataclass(frozen=True, slots=True)
class AtLimits:
    """A program: the bytes that its compiler allocates, and those that are expected at least and at most."""

    name: str
    target: str
    compiled: int
    least: int
    most: int

    def verdict(self, limit: float) -> str:
        """The verdict for a device with so many bytes: as of a report on it."""
        return "fits" if self.most <= limit else "may fit" if self.least <= limit else "does not fit"

    def is_right(self, limit: float) -> bool:
        """False if the verdict is wrong."""
        return self.verdict(limit) != ("does not fit" if self.compiled <= limit else "fits")


def stored(names: list[str], targets: list[str]) -> Iterator[AtLimits]:
    """The programs whose compilers' figures are stored."""
    for name in names or programs():
        try:
            for target, result, memory in propagated(name, targets, "memory"):
                parts = {
                    part: memory[f"{part}_size_in_bytes"] for part in ("argument", "output", "alias", "temp")
                }
                held = parts["argument"] + parts["output"] - parts["alias"] + parts["temp"]
                yield AtLimits(name, target, held, *result.memory(CHIPS[target]).expected_bytes)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    for name in COMPILED if "h100" in targets and not names else ():
        known = COMPILED[name]
        report = propagate(Program.from_jax(lowered(name)), progress=False).memory("h100")
        held = known["argument"] + known["output"] - known["alias"] + known["temp"]
        yield AtLimits(name, LARGE, held, *report.expected_bytes)


def scaled(names: Iterable[str] = ()) -> Iterator[AtLimits]:
    """Steps at batches that need about the memory of an H100."""
    known = json.loads(SCALED.read_text())
    for name in names or known:
        size, compiled = known[name]["size"], known[name]["compiled"]
        for value, held in compiled.items():
            step = replace(PROGRAMS[name], sizes={**PROGRAMS[name].sizes, size: int(value)})
            report = propagate(Program.from_jax(step.lowered("cuda")), progress=False).memory("h100")
            yield AtLimits(f"{name} {size}={value}", "h100, its own limit", held, *report.expected_bytes)


def summary(rows: list[AtLimits]) -> Iterator[str]:
    """By target how many verdicts are right, and how many of these are certain."""
    for target in dict.fromkeys(row.target for row in rows):
        own = [(row, limit) for row in rows if row.target == target for limit in limits_of(row)]
        right = sum(row.is_right(limit) for row, limit in own)
        certain = sum(row.verdict(limit) != "may fit" and row.is_right(limit) for row, limit in own)
        shares = f"{right / len(own):.1%} right, {certain / len(own):.1%} certain"
        yield f"{target}: {shares} ({len(own)} verdicts)"


def limits_of(row: AtLimits) -> list[float]:
    """The limits that a program is compared with, in bytes."""
    if row.target in CHIPS or row.target == LARGE:
        return [limit * row.compiled for limit in LIMITS]
    return [float(CHIPS_BY_NAME["h100"].memory_bytes)]


def main() -> None:
    """Prints the programs with wrong verdicts, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=[*CHIPS])
    given = parser.parse_args()
    rows: list[AtLimits] = []
    own = scaled() if "h100" in given.target and not given.names else ()
    for row in chain(own, stored(given.names, given.target)):
        rows.append(row)
        wrong = [round(limit / row.compiled, 2) for limit in limits_of(row) if not row.is_right(limit)]
        if wrong:
            near = f"{row.least / row.compiled:.2f}..{row.most / row.compiled:.2f}"
            print(f"{row.name:28}{row.target:16}{near:14} wrong at {wrong}", flush=True)
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
