"""Memory of programs of real size as forecast for H100, beside what its compiler allocates.

    python -m tests.xla.buffers.on_large [NAME ...]        prints both, and how many are near
    python -m tests.xla.buffers.on_large --lower FOLDER    writes the programs, for the compiler

`compiled_large.json` has what XLA:GPU of jax 0.10.2 allocates, without autotuning, as
`tests/xla/targets/compile_models.py` compiles programs: for others, compile the written ones alike.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax

from shardy_py import Program, propagate
from tests.xla.buffers import large_others, large_schedules
from tests.xla.buffers.large_models import LARGE

MODULES = (large_others, large_schedules)
"""Their programs are in `LARGE`, too."""
COMPILED: dict[str, dict[str, int]] = json.loads(Path(__file__).with_name("compiled_large.json").read_text())[
    "h100"
]


def lowered(name: str, platform: str = "cuda") -> Any:
    """A program as JAX lowers it, for GPUs or TPUs."""
    each = LARGE[name]
    mesh = jax.make_mesh(each.sizes, each.axes, axis_types=(jax.sharding.AxisType.Auto,) * len(each.axes))
    function, arguments = each.make(mesh)
    traced = jax.jit(function, donate_argnums=each.donated).trace(*arguments)
    return traced.lower(lowering_platforms=(platform,))


def ratios(names: list[str]) -> Iterator[tuple[str, int, int]]:
    """For each program the bytes that are allocated, and those forecast."""
    for name in names:
        known = COMPILED[name]
        estimate = propagate(Program.from_jax(lowered(name)), progress=False).memory("h100").estimate
        held = known["argument"] + known["output"] - known["alias"] + known["temp"]
        yield name, held, estimate.total_bytes


def main() -> None:
    """Prints the forecasts, or writes the programs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--lower", type=Path)
    given = parser.parse_args()
    if given.lower is not None:
        for name in given.names or LARGE:
            (given.lower / f"{name}.mlir").write_text(lowered(name).as_text())
        return
    found: list[float] = []
    for name, held, forecast in ratios(given.names or [*COMPILED]):
        found.append(forecast / held)
        print(f"{name:28}{held / 2**20:10.1f}{forecast / 2**20:10.1f}{found[-1]:7.2f}", flush=True)
    close, near = (sum(low <= ratio <= high for ratio in found) for low, high in ((0.9, 1.1), (0.8, 1.25)))
    print(f"{len(found)} programs: {close} within 10 %, {near} within 0.8 and 1.25")


if __name__ == "__main__":
    main()
