"""Collectives as compiled, beside those in the programs that the compilers of devices made.

    python -m tests.xla.targets.on_compilers [--target h100 ...] [--set jax ...] [NAME ...]

The programs are those of ../shared/targets, or of sets of tests/xla/spmd, which `compile_models.py` compiled.
A program counts if bytes and runs of each kind are within 5 %; those that do not are printed: kind, runs and
bytes of ours, and of the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Result
from shardy_py.hardware import hardware_of
from shardy_py.xla.targets.compiled import compiler_of
from shardy_py.xla.targets.of_program import CompiledProgram
from tests.xla.buffers.on_targets import CHIPS, SETS, programs, propagated, propagated_models

SENT = tuple[int, int]
"""Runs of collectives of a kind, and the bytes of their results in all runs."""
CLOSE, NEAR = 0.05, 0.1


@dataclass(frozen=True, slots=True)
class Compared:
    """What a target's compiler sends for a program, by kind, and our forecast of it."""

    name: str
    target: str
    compiled: Mapping[str, SENT]
    forecast: Mapping[str, SENT]

    def is_close(self, index: int, most: float = CLOSE) -> bool:
        """Whether the runs (0) or bytes (1) of each kind are at most that share apart."""
        nothing = (0, 0)
        for kind in {*self.compiled, *self.forecast}:
            ours, theirs = self.forecast.get(kind, nothing)[index], self.compiled.get(kind, nothing)[index]
            if abs(ours - theirs) > most * theirs:
                return False
        return True


def forecast(result: Result, target: str) -> dict[str, SENT]:
    """The collectives of a program as compiled for a target, by kind."""
    compiler = compiler_of(hardware_of(CHIPS.get(target, target)))
    assert compiler is not None
    made = CompiledProgram(result.forecasts.spmd("xla"), compiler)
    found: dict[str, SENT] = {}
    for function in made.program.entries:
        for each in made.plan(function).issued:
            runs, size = found.get(each.kind, (0, 0))
            found[each.kind] = runs + each.times, size + each.times * each.result_bytes
    return found


def of_json(collectives: Mapping[str, Any]) -> dict[str, SENT]:
    """The collectives of a compiled program as its file has them: kind -> ops, runs, bytes."""
    return {kind.replace("-", "_"): (runs, size) for kind, (_, runs, size) in collectives.items()}


def compared(name: str, targets: list[str]) -> Iterator[Compared]:
    """Forecasts a program of ../shared/targets for each target that compiled it.

    There, loops count an iteration a step; `loop_models.py` counted those of two steps each again.
    """
    again = json.loads((Path(__file__).parent / "compiled_loops.json").read_text())["recounted"].get(name, {})
    for target, result, collectives in propagated(name, targets, "collectives"):
        yield Compared(name, target, of_json(again.get(target, collectives)), forecast(result, target))


def of_models(set_: str, target: str, names: list[str]) -> Iterator[Compared]:
    """Forecasts the programs of a set of tests/xla/spmd that the compiler of a target compiled."""
    for name, result, known in propagated_models(set_, target, names):
        yield Compared(name, target, of_json(known["collectives"]), forecast(result, target))


def shown(sent: Mapping[str, SENT]) -> str:
    """Kinds with their runs and bytes, in one line."""
    return ", ".join(f"{kind} {runs}/{size / 1e6:.3f} MB" for kind, (runs, size) in sorted(sent.items()))


def main() -> None:
    """Prints the programs that are not close, and how many are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=["h100"])
    parser.add_argument("--set", nargs="*", choices=SETS, default=[])
    given = parser.parse_args()
    rows: list[Compared] = []
    for set_, target in product(given.set, given.target):
        rows += of_models(set_, target, given.names)
    if not given.set:
        for name in given.names or programs():
            try:
                rows += compared(name, given.target)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    for row in rows:
        if not (row.is_close(0) and row.is_close(1)):
            print(
                f"{row.name} {row.target}\n  ours     {shown(row.forecast)}\n  compiled {shown(row.compiled)}"
            )
    for target in given.target:
        own = [row for row in rows if row.target == target]
        both = sum(row.is_close(0) and row.is_close(1) for row in own)
        size, wide = (sum(row.is_close(1, most) for row in own) for most in (CLOSE, NEAR))
        print(f"{target}, {len(own)}: bytes and runs within 5 % {both}, bytes {size}, within 10 % {wide}")


if __name__ == "__main__":
    main()
