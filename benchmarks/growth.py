"""How the cost of a program grows with it: `growth.py [FAMILY ...] [--scale 1.0] [--until STEP]`.

Each family (`families.py`) grows one quantity of a program: arguments, rank, uses, results, groups, ... The
table shows the CPU seconds of each step at the larger of two sizes, one four times the other, and after ^ the
exponent e of seconds ~ size^e between them, of each step that takes longer than 0.1 s. Bound: 1.2.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import process_time

from families import FAMILIES

from shardy_py import Program, Result, ShardyError, propagate
from shardy_py.check import check
from shardy_py.dialects import parse_module, print_module
from shardy_py.dialects.verification import verify_module
from shardy_py.graph.value_table import ValueTable
from shardy_py.passes.pipelines import stablehlo_export_passes
from shardy_py.passes.runner import run_passes
from shardy_py.report.difference import Figures, difference, difference_text

BOUND = 1.2
FACTOR = 4
NOISE = 0.1
"""Seconds below which an exponent says nothing."""

Steps = dict[str, Callable[[], object]]


def steps(text: str) -> Steps:
    """The steps of reading a program and of all that follows, to be called in this order."""
    modules = [parse_module("module {}")]
    results: list[Result] = []

    def read() -> None:
        modules[0] = parse_module(text)

    def propagated() -> None:
        results.append(propagate(Program.from_module(modules[0]), progress=False))

    def diff() -> None:
        before, after = results[0].source, results[0].program
        figures = Figures.of(results[0].communication(), results[0].memory())
        delta = difference(ValueTable(before.module), ValueTable(after.module))
        difference_text(delta, figures, figures)

    return {
        "read": read,
        "verify": lambda: verify_module(modules[0]),
        "propagate": propagated,
        "print": lambda: print_module(results[0].program.module),
        "communication": lambda: str(results[0].communication()),
        "memory": lambda: str(results[0].memory("tpu")),
        "summary": lambda: results[0].summary(),
        "shapes": lambda: [value.local_shape for value in results[0].values],
        "check": lambda: check(results[0]),
        "diff": diff,
        "explain": lambda: str(results[0].explain(results[0].values[-1])),
        "export": lambda: run_passes(results[0].program.copy().module, stablehlo_export_passes()),
    }


def seconds(text: str, until: str | None = None) -> dict[str, float]:
    """Returns the CPU seconds of each step up to `until`; 0 after one that refuses the program."""
    todo = dict(_until(steps(text), until))
    times = dict.fromkeys(todo, 0.0)
    with suppress(ShardyError):
        for name, step in todo.items():
            gc.collect()
            start = process_time()
            try:
                step()
            finally:
                times[name] = process_time() - start
    return times


def _until(todo: Steps, last: str | None) -> Iterator[tuple[str, Callable[[], object]]]:
    for name, step in todo.items():
        yield name, step
        if name == last:
            return


def measured(name: str, scale: float, until: str | None) -> tuple[int, dict[str, float], dict[str, float]]:
    """Returns the larger size of a family, and the seconds at both."""
    program, size = FAMILIES[name]
    gc.disable()  # as the commands do
    seconds(program(2), until)  # loads what is loaded on use
    small = max(2, round(size * scale))
    return FACTOR * small, seconds(program(small), until), seconds(program(FACTOR * small), until)


def exponent(first: float, second: float) -> float:
    """The exponent of growth between the two sizes."""
    return math.log(max(second, 1e-3) / max(first, 1e-3)) / math.log(FACTOR)


def main() -> int:
    """Prints the table; returns 1 if an exponent is above the bound."""
    names = [*steps("")]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes")
    parser.add_argument("--until", choices=names, metavar="STEP", help=f"the last of {', '.join(names)}")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.families[0], options.scale, options.until)))
        return 0
    above: list[str] = []
    names = [name for name, _ in _until(steps(""), options.until)]
    print(f"{'family':20}{'n':>7}" + "".join(f"{name:>15}" for name in names))
    for family in options.families or FAMILIES:
        command = [sys.executable, __file__, family, "--here", "--scale", str(options.scale)]
        command += ["--until", names[-1]]
        size, first, second = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        row = f"{family:20}{size:7}"
        for name in names:
            power = exponent(first[name], second[name])
            says = second[name] > NOISE
            row += f"{second[name]:9.2f} ^{power:4.2f}" if says else f"{second[name]:9.2f}      "
            if says and power > BOUND:
                above.append(f"{family}, {name}: {power:.2f}")
        print(row, flush=True)
    print("above the bound:", "; ".join(above) or "none")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
