"""Forecasts of the steps of `steps.py` and `varied_steps.py` beside what was measured on an H100.

    python -m tests.hardware.compared_steps [NAME ...]      prints the table; `varied`: of that table
    python -m tests.hardware.compared_steps --device h200   on an H200, where fewer were measured

    step = compared("product_bf16_4096")
    step.ratio                      forecast over measured

Single ops are compared with the time of their kernels: enqueueing a run takes 50 us, longer than short ones
run. Models are compared with the time of a step, launches included.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shardy_py import Program, propagate
from tests.hardware.steps import STEPS
from tests.hardware.varied_steps import VARIED

PROGRAMS = {**STEPS, **VARIED}
MEASURED = Path(__file__).with_name("measured")
OF_H200 = "h200_varied.json"
MODELS = ("attention", "block", "decode", "optimizer", "recurrence", "training", "remat training", "convnet")
"""The kinds that are compared with the time of a step."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One step.

    forecast_us: at full rates, and at the least of them. measured_held, forecast_held: the bytes
    of arguments, and of results that are not in their memory. measured_temporaries, forecast_temporaries: the
    bytes beside.
    """

    name: str
    kind: str
    measured_us: float
    forecast_us: tuple[float, float]
    bound: str
    measured_held: int
    forecast_held: int
    measured_temporaries: int
    forecast_temporaries: int

    @property
    def ratio(self) -> float:
        """The forecast at full rates over the measured time."""
        return self.forecast_us[0] / self.measured_us

    @property
    def is_inside(self) -> bool:
        """Whether the measured time is in the interval."""
        return self.forecast_us[0] <= self.measured_us <= self.forecast_us[1]

    @property
    def measured_bytes(self) -> int:
        """All bytes of the compiled program."""
        return self.measured_held + self.measured_temporaries

    @property
    def forecast_bytes(self) -> int:
        """All bytes of the forecast."""
        return self.forecast_held + self.forecast_temporaries

    @property
    def bytes_ratio(self) -> float:
        """The forecast over the compiled program's bytes."""
        return self.forecast_bytes / self.measured_bytes

    @property
    def line(self) -> str:
        """A line of the table."""
        low, high = self.forecast_us
        forecast = f"{low:.1f}..{high:.1f}{'' if self.is_inside else ' !'}"
        sizes = (
            *(self.measured_bytes, self.forecast_bytes),
            *(self.measured_temporaries, self.forecast_temporaries),
        )
        mib = " ".join(f"{size / 2**20:9.1f}" for size in sizes)
        return (
            f"{self.name:26} {self.kind:18} {self.measured_us:9.1f} {forecast:>22} {self.ratio:7.2f} "
            f"{self.bound:8} {mib} {self.bytes_ratio:6.2f}"
        )


HEAD = (
    f"{'step':26} {'kind':18} {'us':>9} {'forecast':>22} {'ratio':>7} {'bound':8} "
    f"{'MiB':>9} {'forecast':>9} {'temp':>9} {'forecast':>9} {'ratio':>6}"
)


@cache
def measurements(*files: str) -> dict[str, Any]:
    """The figures of the steps that were measured, of an H100 by default; the first file counts."""
    found: dict[str, Any] = {}
    for file in files or ("h100.json", "h100_varied.json"):
        found = json.loads((MEASURED / file).read_text())["steps"] | found
    return found


def compared(name: str, device: str = "h100") -> Compared:
    """A step as forecast for one device beside what was measured."""
    step = PROGRAMS[name]
    figures = measurements(*((OF_H200,) if device == "h200" else ()))[name]
    result = propagate(Program.from_jax(step.lowered("cuda")), progress=False)
    time, estimate = result.time(device, target=device), result.memory(device).estimate
    memory = figures["memory"]
    least, most = time.expected
    return Compared(
        name,
        step.kind,
        figures["wall_us" if step.kind in MODELS else "kernel_us"],
        (least * 1e6, most * 1e6),
        time.bound,
        memory["argument"] + memory["output"] - memory["alias"],
        estimate.arguments + estimate.results - estimate.aliased,
        memory["temp"],
        estimate.temporaries,
    )


def main() -> None:
    """Prints the table."""
    print(HEAD)
    found: list[Compared] = []
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--device", default="h100", choices=("h100", "h200"))
    options = parser.parse_args()
    every = PROGRAMS if options.device == "h100" else measurements(OF_H200)
    given: list[str] = options.names or [*every]
    for name in (each for one in given for each in (VARIED if one == "varied" else (one,))):
        step = compared(name, options.device)
        found.append(step)
        print(step.line, flush=True)
    inside = sum(each.is_inside for each in found)
    print(f"inside the interval (others: !): {inside} of {len(found)}")


if __name__ == "__main__":
    main()
