"""Runs local programs by XLA on CPU devices, and compares with the simulator, in this process.

`python -m tests.partition.on_xla [--corpus NAME...] [--random N] [--seed S] [FILE...]`: programs of the
corpus, random ones, files with whole programs. Results agree up to what rounding in f32 may do.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from shardy_py import Program, propagate
from shardy_py.compute import Array
from shardy_py.errors import ShardyError
from tests.conftest import corpus_text
from tests.interpret.corpus import inputs_of
from tests.interpret.small import SIZES, with_sizes
from tests.partition.random import REJECTED, found, program

DEVICES = 16
TOLERANCE = 1e-3
"""Of the largest element: sums in another order, elementary functions of other precision."""


def difference(got: Array, expected: Array) -> float:
    """The largest difference as a part of the largest element; infinite for other types, shapes, integers."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if got.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, expected) else np.inf
    ours, theirs = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (got, expected))
    finite = np.isfinite(ours)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return np.inf
    scale = float(np.max(np.abs(ours), initial=0.0, where=finite)) or 1.0
    return float(np.max(np.abs(ours - theirs), initial=0.0, where=finite)) / scale


def compared(text: str, name: str) -> str:
    """How the results of XLA and the simulator compare; "" if they agree."""
    source = Program.parse(text, name)
    local = propagate(source).partition()
    inputs = inputs_of(source)
    with np.errstate(all="ignore"):
        ours, theirs = local.run(inputs), local.run_on_jax(inputs)
        errors = [difference(*pair) for pair in zip(ours.arrays, theirs.arrays, strict=True)]
    wrong = [n for n, error in enumerate(errors) if not error <= TOLERANCE]
    return f"results {wrong} differ by {max(errors)}" if wrong else ""


def main() -> int:
    """Prints a line for each program that differs; fails if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*")
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    programs = [(file, Path(file).read_text()) for file in options.files]
    programs += [(name, with_sizes(corpus_text(name), SIZES.get(name, {}))) for name in options.corpus]
    for seed in range(options.seed, options.seed + options.random):
        if found(text := program(seed), seed).kind != REJECTED:
            programs.append((f"seed {seed}", text))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_num_cpu_devices", DEVICES)
    equal = 0
    for name, text in programs:
        try:
            fault = compared(text, name)
        except (ShardyError, RuntimeError, ValueError, NotImplementedError) as error:
            fault = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        equal += not fault
        if fault:
            print(f"{name}: {fault}", flush=True)
    print(f"{len(programs)} programs, {equal} equal")
    return int(equal < len(programs))


if __name__ == "__main__":
    sys.exit(main())
