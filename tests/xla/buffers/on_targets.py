"""Memory as forecast for accelerators, beside what their compilers allocated.

    python -m tests.xla.buffers.on_targets [--target h100 ...] [--json FILE] [NAME ...]

The programs, and what the compilers made of them, are those of ../shared/targets. A row: arguments + results
- aliased + temporaries of the compiler and ours, and temporaries alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from shardy_py import Program, Result, propagate

TARGETS = Path(__file__).parents[4] / "shared" / "targets"
CHIPS = {"h100": "h100", "v5e": "tpu-v5e", "v5p": "tpu-v5p", "v6e": "tpu-v6e"}
LEAST, MOST = 0.8, 1.25


@dataclass(frozen=True, slots=True)
class Allocated:
    """The bytes that a compiler allocates for a program, and ours: in all, and temporaries."""

    name: str
    target: str
    compiled: int
    forecast: int
    compiled_temporaries: int
    forecast_temporaries: int

    @property
    def ratio(self) -> float:
        """The forecast over what was allocated."""
        return self.forecast / max(self.compiled, 1)

    @property
    def is_near(self) -> bool:
        """Whether the forecast is within 0.8 and 1.25 of what was allocated."""
        return LEAST <= self.ratio <= MOST


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
        if part in found.get(target, {}):
            platform = "cuda" if target == "h100" else "tpu"
            program = Program.from_jax(traced.lower(lowering_platforms=(platform,)))
            yield target, propagate(program, progress=False), found[target][part]


def allocated(name: str, targets: list[str]) -> Iterator[Allocated]:
    """Forecasts a program for each target that compiled it."""
    for target, result, memory in propagated(name, targets, "memory"):
        estimate = result.memory(CHIPS[target]).estimate
        held = sum(memory[f"{part}_size_in_bytes"] for part in ("argument", "output"))
        held -= memory["alias_size_in_bytes"]
        own = estimate.arguments + estimate.results - estimate.aliased
        temporaries = memory["temp_size_in_bytes"]
        yield Allocated(
            name,
            target,
            held + temporaries,
            own + estimate.temporaries,
            temporaries,
            estimate.temporaries,
        )


def main() -> None:
    """Prints the programs that are not near, and how many are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", nargs="*", default=[*CHIPS])
    parser.add_argument("--json")
    given = parser.parse_args()
    rows: list[Allocated] = []
    for name in given.names or programs():
        try:
            rows += allocated(name, given.target)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    mib = 2**20
    for row in rows:
        if not row.is_near:
            sizes = (row.compiled, row.forecast, row.compiled_temporaries, row.forecast_temporaries)
            cells = "".join(f"{size / mib:>10.1f}" for size in sizes)
            print(f"{row.name:<28}{row.target:<6}{cells}{row.ratio:>8.2f}")
    for target in given.target:
        own = [row for row in rows if row.target == target]
        print(f"{target}: {sum(row.is_near for row in own)} of {len(own)} within {LEAST} and {MOST}")
    if given.json:
        Path(given.json).write_text(json.dumps([asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
