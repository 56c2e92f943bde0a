"""The cost of recording: CPU seconds of propagation with and without a record, medians of interleaved runs.

python benchmarks/recording.py [PROGRAM.mlir[.gz]] [--runs N]
"""

from __future__ import annotations

import argparse
import gc
import gzip
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pipelines
from shardy_py.passes.runner import recording

PROGRAM = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "transformer_train_48.mlir.gz"
PROPAGATE = "sdy-user-priority-propagate"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", type=Path, default=PROGRAM)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    text = read(arguments.program)
    seconds: dict[str, list[float]] = {"off": [], "on": [], "passes off": [], "passes on": []}
    for _ in range(arguments.runs):
        for name in ("off", "on"):
            propagation, passes = measure(text, is_recorded=name == "on")
            seconds[name].append(propagation)
            seconds[f"passes {name}"].append(passes)
    off, on, passes_off, passes_on = (median(seconds[name]) for name in seconds)
    print(f"{arguments.program.name}, medians of {arguments.runs} interleaved runs")
    print(f"propagation:  off {off:.3f} s  on {on:.3f} s  ratio {on / off:.3f}  (bound 1.15)")
    print(f"all passes:   off {passes_off:.3f} s  on {passes_on:.3f} s  ratio {passes_on / passes_off:.3f}")


def read(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def measure(text: str, *, is_recorded: bool) -> tuple[float, float]:
    """Returns seconds of the propagation pass and of all passes."""
    module = parse_module(text)
    gc.collect()
    gc.disable()
    try:
        if not is_recorded:
            return run(module)
        with recording():
            return run(module)
    finally:
        gc.enable()


def run(module: ModuleOp) -> tuple[float, float]:
    propagation, total = 0.0, 0.0
    for call in pipelines.propagation_passes():
        import_module(call.row.module_name)
        start = process_time()
        call.run(module)
        spent = process_time() - start
        total += spent
        propagation += spent if call.row.name == PROPAGATE else 0.0
    return propagation, total


if __name__ == "__main__":
    main()
