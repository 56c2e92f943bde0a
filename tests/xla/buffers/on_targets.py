"""Memory as forecast for accelerators, beside what their compilers allocated.

    python -m tests.xla.buffers.on_targets [--target h100 ...] [--set jax ...] [--least BYTES] [NAME ...]

The programs, and what the compilers made of them, are those of ../shared/targets, or of sets of
tests/xla/spmd (`tests/xla/targets/compile_models.py`). A row: arguments + results - aliased + temporaries of
the compiler and ours, and temporaries alone. Programs count whose compiler allocates at least so many bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, Result, propagate
from shardy_py.base import releases
from tests.xla.targets.compile_models import compiled_sets, lowered

TARGETS = Path(__file__).parents[4] / "shared" / "targets"
CHIPS = {"h100": "h100", "v5e": "tpu-v5e", "v5p": "tpu-v5p", "v6e": "tpu-v6e"}
LEAST, MOST = 0.8, 1.25
SMALL = 1 << 18
"""The bytes of what compilers add that is not of the program: XLA:TPU's 32 bytes for each copy into VMEM,
which it places 16 KiB apart."""
INTERVALS = ("v5e", "v6e")
"""The targets whose temporaries may be in VMEM, so that the forecast is an interval."""
SETS = (
    "jax",
    "parallel",
    "kinds",
    "flax",
    "equinox",
    "further",
    "target",
    "unseen",
    "large",
    "resident",
    "held",
    "blind",
    "decoders",
    "scanned",
    "users",
    "single",
    "strangers",
)
"""Sets of tests/xla/spmd, and the programs of `on_large.py`."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """The bytes that a compiler allocates for a program, and ours: in all, and temporaries."""

    name: str
    target: str
    compiled: int
    forecast: int
    compiled_temporaries: int
    forecast_temporaries: int
    least: int

    @property
    def ratio(self) -> float:
        """The forecast over what was allocated."""
        return self.forecast / max(self.compiled, 1)

    @property
    def is_near(self) -> bool:
        """Whether the forecast is within 0.8 and 1.25 of what was allocated."""
        return LEAST <= self.ratio <= MOST

    @property
    def is_close(self) -> bool:
        """Whether the forecast is within 10 % of what was allocated."""
        return 0.9 <= self.ratio <= 1.1

    @property
    def is_held(self) -> bool:
        """Whether what was allocated is from `least` to the forecast, but for small buffers."""
        return self.least - SMALL <= self.compiled <= self.forecast + SMALL

    @property
    def is_narrow(self) -> bool:
        """Whether the interval is at most 1.5 wide."""
        return self.forecast <= 1.5 * self.least


def programs() -> Any:
    """The table of programs: name -> (make, sizes, axis names, donated arguments, what it shows)."""
    spec = spec_from_file_location("target_programs", TARGETS / "programs.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROGRAMS


def propagated(name: str, targets: list[str], part: str) -> Iterator[tuple[str, Result, Any]]:
    """A program for each target whose compiler's `part` of the figures is known: with these."""
    import jax

    found = json.loads((TARGETS / "compiled.json").read_text())[name]
    make, sizes, names, donated, _ = programs()[name]
    mesh = jax.make_mesh(sizes, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))
    function, arguments = make(mesh)
    traced = jax.jit(function, donate_argnums=donated).trace(*arguments)
    for target in targets:
        known = found.get(target, {}).get(part)
        if known is None and part == "memory":
            known = _own_memory(target, name)
        if known is not None:
            platform = "cuda" if target == "h100" else "tpu"
            program = Program.from_jax(traced.lower(lowering_platforms=(platform,)))
            yield target, propagate(program, progress=False), known


def _own_memory(target: str, name: str) -> dict[str, int] | None:
    """The memory of a program of ../shared/targets that was compiled for a target here."""
    known = compiled_sets(target).get("shared", {}).get(name)
    return known and {f"{part}_size_in_bytes": size for part, size in known["memory"].items()}


def propagated_models(set_: str, target: str, names: list[str]) -> Iterator[tuple[str, Result, Any]]:
    """The programs of a set of tests/xla/spmd, with what the compiler of a target made of each."""
    known = compiled_sets(target).get(set_, {})
    with releases.of(releases.JAX_0_10):
        for name, text in lowered(set_, "cuda" if target == "h100" else "tpu"):
            if name in known and (not names or name in names):
                yield name, propagate(Program.parse(text, as_compiled=True), progress=False), known[name]


def allocated(name: str, targets: list[str]) -> Iterator[Allocated]:
    """Forecasts a program for each target that compiled it."""
    for target, result, memory in propagated(name, targets, "memory"):
        sizes = {part: memory[f"{part}_size_in_bytes"] for part in ("argument", "output", "alias", "temp")}
        yield beside(name, target, result, sizes)


def of_models(set_: str, target: str, names: list[str]) -> Iterator[Allocated]:
    """Forecasts the programs of a set of tests/xla/spmd for a target."""
    for name, result, known in propagated_models(set_, target, names):
        yield beside(name, target, result, known["memory"])


def beside(name: str, target: str, result: Result, sizes: Mapping[str, int]) -> Allocated:
    """The forecast for a program beside what was allocated: of arguments, results, aliased, temporaries."""
    estimate = result.memory(CHIPS[target]).estimate
    held = sizes["argument"] + sizes["output"] - sizes["alias"]
    own = estimate.arguments + estimate.results - estimate.aliased
    return Allocated(
        name,
        target,
        held + sizes["temp"],
        own + estimate.temporaries,
        sizes["temp"],
        estimate.temporaries,
        estimate.least_bytes,
    )


def main() -> None:
    """Prints the programs that are not near, and how many are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=[*CHIPS])
    parser.add_argument("--set", nargs="*", choices=SETS, default=[])
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--json")
    given = parser.parse_args()
    rows: list[Allocated] = []
    for set_, target in product(given.set, given.target):
        rows += of_models(set_, target, given.names)
    for name in given.names or programs() if not given.set else ():
        try:
            rows += allocated(name, given.target)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    rows = [row for row in rows if row.compiled >= given.least]
    mib = 2**20
    for row in rows:
        if not row.is_near:
            sizes = (row.compiled, row.forecast, row.compiled_temporaries, row.forecast_temporaries)
            cells = "".join(f"{size / mib:>10.1f}" for size in sizes)
            print(f"{row.name:<28}{row.target:<6}{cells}{row.ratio:>8.2f}")
    for target in given.target:
        own = [row for row in rows if row.target == target]
        close, near = (sum(row.is_close for row in own), sum(row.is_near for row in own))
        held, narrow = (sum(row.is_held for row in own), sum(row.is_narrow for row in own))
        print(f"{target}, {len(own)}: within 10 % {close}, within {LEAST} and {MOST} {near}")
        if target in INTERVALS:
            print(f"  in the interval {held}, which is at most 1.5 wide for {narrow}")
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
