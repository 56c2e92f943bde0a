"""Collectives as compiled, beside those in the programs that the compilers of devices made.

    python -m tests.xla.targets.on_compilers [--target h100 ...] [--set jax] [NAME ...]

The programs are those of ../shared/targets, or of a set of tests/xla/spmd, which `compile_models.py` compiled
for H100. A program counts if bytes and runs of each kind are within 5 %; those that do not are printed: kind,
runs and bytes of ours, and of the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, Result, propagate
from shardy_py.base import releases
from shardy_py.hardware import hardware_of
from shardy_py.xla.targets.compiled import compiler_of
from shardy_py.xla.targets.of_program import CompiledProgram
from tests.xla.buffers.on_targets import CHIPS, programs, propagated
from tests.xla.targets.compile_models import lowered

SENT = tuple[int, int]
"""Runs of collectives of a kind, and the bytes of their results in all runs."""
CLOSE = 0.05


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


def of_models(set_: str, names: list[str]) -> Iterator[Compared]:
    """Forecasts the programs of a set of tests/xla/spmd; `compiled_h100.json` has what XLA:GPU made."""
    known = json.loads((Path(__file__).parent / "compiled_h100.json").read_text())[set_]
    with releases.of(releases.JAX_0_10):
        for name, text in lowered(set_).items():
            if name in known and (not names or name in names):
                result = propagate(Program.parse(text, as_compiled=True), progress=False)
                yield Compared(name, "h100", of_json(known[name]["collectives"]), forecast(result, "h100"))


def shown(sent: Mapping[str, SENT]) -> str:
    """Kinds with their runs and bytes, in one line."""
    return ", ".join(f"{kind} {runs}/{size / 1e6:.3f} MB" for kind, (runs, size) in sorted(sent.items()))


def main() -> None:
    """Prints the programs that are not close, and how many are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=["h100"])
    parser.add_argument("--set", choices=("jax", "parallel", "kinds", "flax", "equinox"))
    given = parser.parse_args()
    rows: list[Compared] = []
    if given.set is not None:
        rows += of_models(given.set, given.names)
    else:
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
        size = sum(row.is_close(1) for row in own)
        print(f"{target}: bytes and runs within 5 % {both} of {len(own)}; bytes {size} of {len(own)}")


if __name__ == "__main__":
    main()
