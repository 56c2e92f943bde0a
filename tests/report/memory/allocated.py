"""The estimate of memory beside what XLA allocates: `python -m tests.report.memory.allocated [NAME...]`.

The programs are those of `tests/spmd/SET_models.py`, compiled for 8 devices on the host; `--set flax`.
Prints for each program the estimate, XLA's arguments and temporaries (`memory_analysis()`) and their ratio;
then the share of ratios from 0.8 to 1.25. `--cache FILE` keeps what XLA allocates.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from shardy_py.api import Program, propagate
from shardy_py.xla.buffers.estimate import MemoryEstimate
from tests.differential import references
from tests.eight_devices import run_on_eight_devices
from tests.xla.spmd.models import SETS

CLOSE = 0.8, 1.25
"""The ratios of a good estimate."""

_SCRIPT = """
import json, sys
import jax
from tests.xla.spmd.{set}_models import programs

names, found = json.load(sys.stdin), dict()
for name, (function, arguments, results) in programs():
    if names and name not in names:
        continue
    if not hasattr(function, "lower"):
        function = jax.jit(function) if results is None else jax.jit(function, out_shardings=results)
    lowered = function.lower(*arguments)
    sizes = lowered.compile().memory_analysis()
    found[name] = dict(
        text=lowered.as_text(),
        arguments=sizes.argument_size_in_bytes,
        results=sizes.output_size_in_bytes,
        aliased=sizes.alias_size_in_bytes,
        temporaries=sizes.temp_size_in_bytes,
    )
print(json.dumps(found))
"""


class Allocated(NamedTuple):
    """A program as JAX lowers it, and the bytes that XLA allocates on each device."""

    text: str
    arguments: int
    results: int
    aliased: int
    temporaries: int

    @property
    def size_bytes(self) -> int:
        """Arguments and temporaries."""
        return self.arguments + self.temporaries


def allocated(names: Sequence[str] = (), set_: str = "jax") -> dict[str, Allocated]:
    """The programs of a set by name, by default all; skips a test without the packages of the set."""
    for package in SETS[set_]:
        pytest.importorskip(package)
    script = _SCRIPT.format(set=set_)
    found: Mapping[str, dict[str, int]] = run_on_eight_devices(script, [*names])
    return {name: Allocated(**each) for name, each in found.items()}  # pyright: ignore[reportArgumentType]


def estimated(text: str) -> int:
    """The estimate for the same, for a program as JAX lowers it."""
    return estimate(text).peak_bytes


def estimate(text: str) -> MemoryEstimate:
    """The estimate for a program as JAX lowers it, by the rules of the jaxlib that is here."""
    release = references.installed()
    program = Program.parse(text, as_compiled=True, jax=release.name if release is not None else None)
    return propagate(program).memory().estimate


def _read(cache: Path | None, names: Sequence[str], set_: str) -> dict[str, Allocated]:
    if cache is None or not cache.exists():
        found = allocated(names, set_)
        if cache is not None:
            cache.write_text(json.dumps({name: each._asdict() for name, each in found.items()}))
        return found
    return {name: Allocated(**each) for name, each in json.loads(cache.read_text()).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--set", choices=SETS, default="jax")
    options = parser.parse_args()
    ratios: list[float] = []
    for name, xla in _read(options.cache, options.names, options.set).items():
        estimate = estimated(xla.text)
        ratios.append(estimate / xla.size_bytes)
        print(f"{name:30} {estimate:>10,} {xla.size_bytes:>10,} {ratios[-1]:5.2f}", flush=True)
    close = sum(CLOSE[0] <= ratio <= CLOSE[1] for ratio in ratios)
    print(f"{len(ratios)} programs: ratio {CLOSE[0]} to {CLOSE[1]} in {close}, median {median(ratios):.2f}")


if __name__ == "__main__":
    main()
