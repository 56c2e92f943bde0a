"""What the numbers of the search are worth: `python benchmarks/search_limits.py [--tries N] [NAME...]`.

Each number that is a choice of ours (no source gives it) is halved and doubled. For each: the step of the
best plan as a multiple of that with the number as it is, the worst over the programs, and the CPU seconds
likewise. A number that loses nothing at half, in less time, is too large; one that loses at half is needed.
docs/design/suggest.md has the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from math import prod
from time import process_time

from suggest import Case, cases

PROGRAMS = ("mlp_train", "transformer_train", "moe", "convnet_train", "decode_kv_cache")
NUMBERS = {
    "suggesting": ("_STARTS", "_COARSE_MESHES", "_FAR"),
    "suggest_coarse": ("_SOLUTIONS", "_RESTARTS", "_FURTHER_GAP", "_MOST_PAIRS", "_MOST_PROVED"),
    "suggest.coarse": ("_SMALL",),
    "suggest.coarse_costs": ("_STORED",),
    "suggest.moves": ("_NEGLIGIBLE",),
    "suggest.roles": ("_LEAST_SHARE",),
    "suggest.results": ("_MOST",),
    "suggest.points": ("_MOST",),
    "assignment.descent": ("_PENALTY", "_ROUNDS", "_DISTURBED"),
}
"""By the module below `shardy_py.search`. Limits of time and of memory are not here: they are the user's."""
FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Outcome:
    """The step of the best plan, choices scored, and CPU seconds."""

    step: float
    tried: int
    seconds: float


def outcome(case: Case, tries: int) -> Outcome:
    """Returns what the search finds on a mesh of all devices of the program, without a limit of time."""
    start = process_time()
    found = case.program.suggest(case.meshes, hardware="tpu-v5p", tries=tries, time_limit=1e6, progress=False)
    return Outcome(found.best.cost.serial, found.tried, process_time() - start)


def altered(module: str, name: str, factor: float) -> Iterator[float]:
    """Sets a number to a multiple; sets it back when the caller is done with it."""
    found = import_module(f"shardy_py.search.{module}")
    own = getattr(found, name)
    value = own * factor if isinstance(own, float) else max(1, round(own * factor))
    if name == "_FAR":
        value = 1 + (own - 1) * factor
    setattr(found, name, value)
    try:
        yield value
    finally:
        setattr(found, name, own)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tries", type=int, default=400)
    given = parser.parse_args()
    programs = [*cases(given.names or PROGRAMS)]
    outcome(programs[0], 5)  # loads what is loaded on use
    own = [outcome(case, given.tries) for case in programs]
    for case, each in zip(programs, own, strict=True):
        print(f"{case.name}: {each.tried} choices, {each.seconds:.1f} s of CPU")
    print(f"{'number':<36}{'value':>10}{'step, worst':>13}{'step, mean':>12}{'CPU':>7}")
    for module, names in NUMBERS.items():
        for name in names:
            for factor in FACTORS:
                for value in altered(module, name, factor):
                    found = [outcome(case, given.tries) for case in programs]
                    steps = [new.step / old.step for new, old in zip(found, own, strict=True)]
                    time = sum(each.seconds for each in found) / sum(each.seconds for each in own)
                    mean = prod(steps) ** (1 / len(steps))
                    row = f"{value:>10.4g}{max(steps):>13.4f}{mean:>12.4f}{time:>7.2f}"
                    print(f"{module + '.' + name:<36}{row}", flush=True)


if __name__ == "__main__":
    main()
