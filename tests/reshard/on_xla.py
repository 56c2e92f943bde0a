"""Runs local programs by XLA on CPU devices, and compares with the simulator.

`python -m tests.reshard.on_xla [--corpus [NAME...]] [--random N] [--seed S] [--suite SHARDY] [FILE...]`:
programs of the corpus with small shapes (all without a name), random ones, the local functions of Shardy's
executable tests, files with whole programs. Prints a row for each. Floats agree up to what rounding may do,
all else exactly.

Programs run in a process of their own, which is replaced when XLA aborts or takes too long.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from shardy_py import Program, propagate
from shardy_py.api.run_results import RunResults
from shardy_py.base.errors import ShardyError
from shardy_py.frontends.jax_devices import run_on_devices
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.values import is_array
from tests.conftest import corpus_names, corpus_text
from tests.reshard.executables import Execution, executions
from tests.reshard.on_replicas import run_on_replicas
from tests.reshard.random import REJECTED, found, program
from tests.run.interpret.corpus import FOR_XLA, POSITIVE, are_random, inputs_of
from tests.run.interpret.custom_functions import register
from tests.run.interpret.small import SIZES, with_sizes

DEVICES = 32
TOLERANCE = 1e-3
"""Of the largest element: sums in another order, elementary functions of other precision."""
ROUNDINGS = 16
"""Results may differ by what so many roundings of each input change: the angle of a small number does."""
TIMEOUT_SECONDS = 600
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES} --xla_allow_excess_precision=false",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    # Threads of LAPACK, called by several devices at a time, would wait for each other for minutes.
    "OPENBLAS_NUM_THREADS": "1",
}
"""Of the process that runs programs."""
FAULTS = (ShardyError, RuntimeError, ValueError, NotImplementedError)


@dataclass(frozen=True)
class Compared:
    """A local program: its devices and results, the largest difference of floats, the fault ("" if equal)."""

    devices: int = 0
    results: int = 0
    error: float = 0.0
    fault: str = ""

    def row(self, name: str) -> str:
        """The row of the table."""
        verdict = self.fault or "equal"
        return f"{name:60} {self.devices:7} {self.results:7} {self.error:10.1e}  {verdict}"


Case = tuple[str, Callable[[], Compared]]
"""A name, and the comparison to run in the other process."""


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


def tolerance(array: Array) -> float:
    """What rounding may change, as a part of the largest element: 16 roundings of a narrow float."""
    is_narrow = array.dtype.kind not in "iubc" and array.dtype.itemsize < 4
    return max(TOLERANCE, 16 * float(ml_dtypes.finfo(array.dtype).eps)) if is_narrow else TOLERANCE


def _verdict(devices: int, pairs: list[tuple[Array, Array]], effects: list[float] | None = None) -> Compared:
    """Compares pairs of XLA's and our results; effects: what one rounding of inputs changes in them."""
    errors = [difference(*pair) for pair in pairs]
    allowed = [tolerance(ours) for _, ours in pairs]
    if effects is not None:
        allowed = [max(each, ROUNDINGS * effect) for each, effect in zip(allowed, effects, strict=True)]
    wrong = [n for n, (error, most) in enumerate(zip(errors, allowed, strict=True)) if not error <= most]
    fault = f"results {wrong} differ" if wrong else ""
    return Compared(devices, len(pairs), max(errors, default=0.0), fault)


def whole(text: str, name: str, *, positive: bool = False) -> Compared:
    """Partitions a program, and compares its results by XLA and in the simulator."""
    register()
    source = Program.parse(text, name)
    local = propagate(source).partition()
    inputs = [np.abs(x) if positive else x for x in inputs_of(source)]
    try:
        with np.errstate(all="ignore"):
            is_open = are_random(source)
            ours, theirs = (_arrays(run(inputs), is_open) for run in (local.run, local.run_on_jax))
            pairs = list(zip(theirs, ours, strict=True))
            compared = _verdict(local.devices, pairs)
            if not compared.fault:
                return compared
            changed = _arrays(local.run([_rounded(x) for x in inputs]), is_open)
            effects = [difference(*pair) for pair in zip(changed, ours, strict=True)]
            return _verdict(local.devices, pairs, [each if np.isfinite(each) else 0.0 for each in effects])
    except FAULTS as error:
        return Compared(local.devices, fault=_message(error))


def _arrays(results: RunResults, is_open: list[bool]) -> list[Array]:
    """The results but tokens, and random numbers whose algorithm StableHLO leaves open."""
    rows = zip(results.arrays, is_open, strict=True)
    return [array for array, is_random in rows if is_array(array) and not is_random]


def _rounded(array: Array) -> Array:
    """Floats, every other one larger by one rounding."""
    if array.dtype.kind in "iub":
        return array
    factor = np.ones(array.shape)
    factor.reshape(-1)[::2] += float(ml_dtypes.finfo(array.dtype).eps)
    return (array * factor).astype(array.dtype)


def executed(execution: Execution) -> Compared:
    """Compares the results of a local function by XLA with those that the simulator had."""
    devices = execution.replicas * execution.partitions
    text, function, parts = execution.text, execution.function, execution.inputs
    try:
        if execution.replicas > 1 and execution.partitions > 1:
            return Compared(devices, fault="JAX runs no grid of replicas and partitions")
        if execution.replicas > 1:
            got = run_on_replicas(text, function, parts, devices)
        else:
            types = tuple((array.shape[1:], array.dtype.name) for array in execution.results)
            got = run_on_devices(text, function, types, parts, devices)
    except FAULTS as error:
        return Compared(devices, fault=_message(error))
    return _verdict(devices, list(zip(got, execution.results, strict=True)))


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    for file in options.files:
        yield file, partial(whole, Path(file).read_text(), file)
    for name in _corpus(options.corpus):
        text = with_sizes(FOR_XLA.get(name, str)(corpus_text(name)), SIZES.get(name, {}))
        yield name, partial(whole, text, name, positive=name in POSITIVE)
    for seed in range(options.seed, options.seed + options.random):
        if found(text := program(seed), seed).kind != REJECTED:
            yield f"seed {seed}", partial(whole, text, f"seed {seed}")
    for each in executions(options.suite) if options.suite else ():
        if isinstance(each, Execution):
            yield each.name, partial(executed, each)
        else:
            yield each[0], partial(Compared, fault=each[1])


def _corpus(names: list[str] | None) -> list[str]:
    """The programs of the corpus that are asked for: none without the option, all without a name."""
    return [] if names is None else names or corpus_names()


class Worker:
    """A process that has JAX's devices; a new one after a fault that ends it."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def run(self, work: Callable[[], Compared]) -> Compared:
        """The result of the work; an abort, an error or a timeout is its fault."""
        if self._process is None:
            os.environ |= ENVIRONMENT
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        self._connection.send(work)
        if not self._connection.poll(TIMEOUT_SECONDS):
            self.stop()
            return Compared(fault=f"takes more than {TIMEOUT_SECONDS} s")
        try:
            return self._connection.recv()
        except EOFError:
            self.stop()
            return Compared(fault="XLA aborts")

    def stop(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(connection: Any) -> None:
    """Does the work that comes, until the other end is closed."""
    while True:
        try:
            work = connection.recv()
        except EOFError:
            return
        try:
            connection.send(work())
        except FAULTS as error:
            connection.send(Compared(fault=_message(error)))


def main() -> int:
    """Prints the table; fails if a program differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*")
    parser.add_argument("--corpus", nargs="*", default=None, help="all without a name")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--suite", type=Path, help="a checkout of Shardy: its executable tests")
    options = parser.parse_args()
    print(f"{'program':60} {'devices':>7} {'results':>7} {'difference':>10}")
    worker, count, equal = Worker(), 0, 0
    for name, work in _cases(options):
        one = worker.run(work)
        count, equal = count + 1, equal + (not one.fault)
        print(one.row(name), flush=True)
    worker.stop()
    print(f"{count} programs, {equal} equal")
    return int(equal < count)


if __name__ == "__main__":
    sys.exit(main())
