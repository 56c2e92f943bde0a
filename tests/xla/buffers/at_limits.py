"""What `fits` says of programs whose memory is near a limit, beside what their compilers allocate.

    python -m tests.xla.buffers.at_limits [--target h100 v5e ...] [NAME ...]

The programs are those of `on_targets.py` and, for H100, `on_large.py`. The limits are 0.9 to 1.1 times what
the compiler allocates. A verdict is wrong if the program is said to fit and does not, or not to fit and does;
"may fit" is neither, and counted apart.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, propagate
from shardy_py.report.memory import MemoryReport
from tests.xla.buffers.on_large import COMPILED, lowered
from tests.xla.buffers.on_targets import CHIPS, programs, propagated

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


def expected(report: MemoryReport) -> tuple[int, int]:
    """The bytes that a report expects at least and at most."""
    return report.expected_bytes


def stored(names: list[str], targets: list[str]) -> Iterator[AtLimits]:
    """The programs whose compilers' figures are stored."""
    for name in names or programs():
        try:
            for target, result, memory in propagated(name, targets, "memory"):
                parts = {
                    part: memory[f"{part}_size_in_bytes"] for part in ("argument", "output", "alias", "temp")
                }
                held = parts["argument"] + parts["output"] - parts["alias"] + parts["temp"]
                yield AtLimits(name, target, held, *expected(result.memory(CHIPS[target])))
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    for name in COMPILED if "h100" in targets and not names else ():
        known = COMPILED[name]
        report = propagate(Program.from_jax(lowered(name)), progress=False).memory("h100")
        held = known["argument"] + known["output"] - known["alias"] + known["temp"]
        yield AtLimits(name, "h100, real size", held, *expected(report))


def summary(rows: list[AtLimits]) -> Iterator[str]:
    """By target how many verdicts are right, and how many of these are certain."""
    for target in dict.fromkeys(row.target for row in rows):
        own = [(row, limit * row.compiled) for row in rows if row.target == target for limit in LIMITS]
        right = sum(row.is_right(limit) for row, limit in own)
        certain = sum(row.verdict(limit) != "may fit" and row.is_right(limit) for row, limit in own)
        yield f"{target}: {right / len(own):.1%} right, {certain / len(own):.1%} certain ({len(own)} verdicts)"


def main() -> None:
    """Prints the programs with wrong verdicts, and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=[*CHIPS])
    given = parser.parse_args()
    rows: list[AtLimits] = []
    for row in stored(given.names, given.target):
        rows.append(row)
        wrong = [limit for limit in LIMITS if not row.is_right(limit * row.compiled)]
        if wrong:
            near = f"{row.least / row.compiled:.2f}..{row.most / row.compiled:.2f}"
            print(f"{row.name:28}{row.target:16}{near:14} wrong at {wrong}", flush=True)
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
