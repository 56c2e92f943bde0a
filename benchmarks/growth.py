"""How the cost of a program grows with it: `growth.py [FAMILY ...] [--sizes 500,2000] [--until STEP]`.

Each family (`families.py`, `sharded_families.py`) grows one quantity of a program: arguments, rank, uses,
results, groups, ... Each step (`surfaces.py`) is something that users do with a program. The table shows the
CPU seconds of each step that takes longer than 0.1 s at the sizes, one four times the other, and after ^ the
exponent e of seconds ~ size^e between the last two. Bound: 1.2.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import math
import pstats
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time

from families import FAMILIES
from sharded_families import SHARDED_FAMILIES
from surfaces import Steps, steps

from shardy_py import ShardyError

BOUND = 1.2
FACTOR = 4
NOISE = 0.1
"""Seconds below which an exponent says nothing."""
LONGEST = 60
"""CPU seconds after which a step is stopped."""
ALL: dict[str, tuple[Callable[[int], str], int]] = {**FAMILIES, **SHARDED_FAMILIES}
BEFORE = ("read", "propagate")
"""Steps that all others need."""


class Slow(BaseException):
    """A step that takes longer than `LONGEST`."""


def seconds(text: str, wanted: Iterable[str], profiled: bool = False) -> dict[str, float | str]:
    """Returns the CPU seconds of each step; the message of one that refuses the program."""
    times: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        todo: Steps = steps(text, Path(folder))
        for name in wanted:
            gc.collect()
            times[name] = _measured(name, todo[name], profiled)
            if isinstance(times[name], str) and name in BEFORE:
                break
    return times


def _measured(name: str, step: Callable[[], object], profiled: bool) -> float | str:
    def stop(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    profile = cProfile.Profile()
    start = process_time()
    try:
        profile.runcall(step) if profiled else step()
    except ShardyError as error:
        return str(error)
    except Slow:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        took = process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        if profiled:
            print(f"--- {name}", file=sys.stderr)
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)
    return took


def measured(
    name: str, sizes: Iterable[int], wanted: list[str], profiled: bool
) -> dict[int, dict[str, float | str]]:
    """Returns the seconds of each step at each size."""
    program, _ = ALL[name]
    gc.disable()  # as the commands do
    seconds(program(2), wanted)  # loads what is loaded on use
    return {size: seconds(program(size), wanted, profiled) for size in sizes}


def exponent(first: float, second: float, factor: float) -> float:
    """The exponent of growth between two sizes."""
    return math.log(max(second, 1e-3) / max(first, 1e-3)) / math.log(factor)


def _rows(family: str, found: dict[str, dict[str, float | str]], is_all: bool) -> Iterable[tuple[bool, str]]:
    """The lines of the table on a family, and whether each is above the bound."""
    sizes = [*found]
    for name, last in found[sizes[-1]].items():
        each = [found[size].get(name, "not run") for size in sizes]
        numbers = [value for value in each if isinstance(value, float)]
        if len(numbers) < len(each) or isinstance(last, str):
            why = next(value for value in each if isinstance(value, str))
            yield False, f"{family:20}{name:20} {' '.join(why.split())[:100]}"
            continue
        power = exponent(numbers[-2], last, int(sizes[-1]) / int(sizes[-2])) if len(numbers) > 1 else 0.0
        says = last > NOISE
        if says or is_all:
            above = says and (power > BOUND or last > LONGEST)
            shown = "".join(f"{value:9.2f}" for value in numbers)
            yield above, f"{family:20}{name:20}{shown}  ^{power:4.2f}{' *' if above else ''}"


def main() -> int:
    """Prints the table; returns 1 if an exponent is above the bound."""
    names = [*steps("", Path())]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="*", help=f"of {', '.join(ALL)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all sizes")
    parser.add_argument("--sizes", help="instead of those of the family, separated by commas")
    parser.add_argument("--until", choices=names, metavar="STEP", help=f"the last of {', '.join(names)}")
    parser.add_argument("--only", help="these steps, and those before every other, separated by commas")
    parser.add_argument("--all", action="store_true", help="rows of steps that take no time, too")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = names[: names.index(options.until) + 1] if options.until else names
    if options.only:
        names = [name for name in names if name in (*BEFORE, *options.only.split(","))]

    def sizes(family: str) -> list[int]:
        if options.sizes:
            return [int(size) for size in options.sizes.split(",")]
        small = max(2, round(ALL[family][1] * options.scale))
        return [small, FACTOR * small]

    if options.here:
        family = options.families[0]
        print(json.dumps(measured(family, sizes(family), names, options.profile)))
        return 0
    above: list[str] = []
    for family in options.families or ALL:
        listed = sizes(family)
        command = [sys.executable, __file__, family, "--here", "--sizes", ",".join(map(str, listed))]
        command += ["--only", ",".join(names), *["--profile"] * options.profile]
        print(f"{family:20}{'':20}" + "".join(f"{size:9,}" for size in listed))
        ran = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if ran.returncode:
            print(f"{family:20}failed: {ran.returncode}", flush=True)
            above.append(family)
            continue
        for is_above, row in _rows(family, json.loads(ran.stdout), options.all):
            print(row, flush=True)
            above += [row[:40].strip()] * is_above
    print("above the bound:", "; ".join(" ".join(row.split()) for row in above) or "none")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
