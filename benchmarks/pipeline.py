"""Time and memory of the propagation pipeline, compared with the C++ Shardy in jaxlib.

    python benchmarks/pipeline.py [--runs 5]

Every measurement is a process of its own (`measure.py`), as from the command line: no table is warm. Runs of
ours and of the reference alternate, so that a busy machine is unfair to both. Shown are medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from programs import Program, large_and_small

from shardy_py.report.tables import table

PHASES = ("parse", "passes", "print")
HAS_REFERENCE = importlib.util.find_spec("jaxlib") is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="processes per figure (default 5)")
    runs = parser.parse_args().runs
    print(f"Python {platform.python_version()}, {platform.machine()}, median of {runs} processes each\n")
    with tempfile.TemporaryDirectory() as folder:
        large, small = large_and_small(Path(folder))
        sides = ("ours", "reference") if HAS_REFERENCE else ("ours",)
        measured: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
        for _ in range(runs):
            for program in (large, small):
                for side in sides:
                    measured[side, program.name].append(measure(side, program))
    figures = {key: _medians(runs_) for key, runs_ in measured.items()}
    print(beside_reference(large, figures) if HAS_REFERENCE else alone(large, figures))
    print(f"\n{linearity(large, small, figures)}")
    script = shutil.which("sdy-opt", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if script is not None:
        seconds = median(help_cpu_seconds(script) for _ in range(runs))
        print(f"\nsdy-opt --help: {seconds:.3f} s of CPU (bound 0.300)")


def measure(side: str, program: Program) -> dict[str, float]:
    """Returns seconds per phase, the number of ops and the peak memory of one process."""
    command = [sys.executable, str(Path(__file__).with_name("measure.py")), side, str(program.path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def beside_reference(program: Program, figures: dict[tuple[str, str], dict[str, float]]) -> str:
    """Prints seconds per phase for both, with ratios; requires jaxlib."""
    ours, reference = figures["ours", program.name], figures["reference", program.name]
    rows = [(f"{program.name}, {ours['ops']:.0f} ops", "ours", "C++", "ratio", "bound")]
    bounds = {"parse": "3.00", "passes": "0.55", "total": "0.75"}
    for phase in (*PHASES, "total"):
        ratio = ours[phase] / reference[phase]
        rows.append(
            (
                phase,
                f"{ours[phase]:.3f} s",
                f"{reference[phase]:.3f} s",
                f"{ratio:.2f}",
                bounds.get(phase, ""),
            )
        )
    rows.append(("peak memory", _megabytes(ours), _megabytes(reference), "", "400 MB"))
    return table(rows)


def alone(program: Program, figures: dict[tuple[str, str], dict[str, float]]) -> str:
    """Prints our figures only, if jaxlib is missing."""
    ours = figures["ours", program.name]
    rows = [(f"{program.name}, {ours['ops']:.0f} ops", "ours")]
    rows += [(phase, f"{ours[phase]:.3f} s") for phase in (*PHASES, "total")]
    return table([*rows, ("peak memory", _megabytes(ours))]) + "\n(no jaxlib: nothing to compare with)"


def linearity(large: Program, small: Program, figures: dict[tuple[str, str], dict[str, float]]) -> str:
    """Prints the ratios of the large program to the small one."""
    ours = figures["ours", large.name], figures["ours", small.name]
    rows = [(f"{large.name} / {small.name}", large.name, small.name, "ratio", "bound")]
    rows.append(
        (
            "ops",
            f"{ours[0]['ops']:.0f}",
            f"{ours[1]['ops']:.0f}",
            f"{ours[0]['ops'] / ours[1]['ops']:.2f}",
            "",
        )
    )
    for phase in (*PHASES, "total"):
        ratio = ours[0][phase] / ours[1][phase]
        bound = "4.30" if phase == "total" else ""
        rows.append((phase, f"{ours[0][phase]:.3f} s", f"{ours[1][phase]:.3f} s", f"{ratio:.2f}", bound))
    return table(rows)


def help_cpu_seconds(script: str) -> float:
    """Returns the CPU seconds of one `sdy-opt --help`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([script, "--help"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    figures = {name: median(run[name] for run in runs) for name in runs[0]}
    return {**figures, "total": median(sum(run[phase] for phase in PHASES) for run in runs)}


def _megabytes(figures: dict[str, float]) -> str:
    return f"{figures['peak_bytes'] / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
