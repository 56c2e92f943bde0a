"""The programs of the corpus, run and compared with XLA: `python -m tests.run.interpret.corpus [NAME...]`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import ml_dtypes
import numpy as np

from shardy_py import Program
from shardy_py.base.errors import InternalError, ShardyError
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.ir import terminator_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import function_name, functions_of
from shardy_py.ops import TensorType
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.values import is_array
from tests.conftest import corpus_names, corpus_text
from tests.run.interpret.compiled import compiled_results
from tests.run.interpret.custom_functions import register, with_exact_top_k, without_callbacks
from tests.run.interpret.double import as_argument, in_double, wide
from tests.run.interpret.small import SIZES, with_sizes

DEVICES: Final = {"shard_map_collectives": 8}
"""Devices that XLA runs a program with manual computations on; it compiles the others for one device."""


FOR_XLA: Final = {"custom_rules": without_callbacks, "lowered_for_tpu": with_exact_top_k}
"""Programs with custom calls that the CPU does not have: their texts without them."""
SCALE: Final = 0.1
"""Of the normal floats that go in: activations neither overflow nor saturate."""
POSITIVE: Final = {"transformer_train", "transformer_train_12", "transformer_train_48"}
"""Programs whose inputs are positive: the optimizer takes the root of some."""
LARGEST_ERROR: Final = 8
"""In units of XLA's own error: see `_error`."""


@dataclass(frozen=True)
class Compared:
    """A program: seconds of a run by XLA and here, largest error as a share of the tolerance, fault."""

    name: str
    compiled_seconds: float = 0.0
    seconds: float = 0.0
    error: float = 0.0
    fault: str = ""


def inputs_of(program: Program, seed: int = 0) -> list[Array]:
    """Returns inputs for @main, without tokens: normal floats, integers from 0 to 9."""
    random = np.random.default_rng(seed)

    def made(tensor: TensorType) -> Array:
        dtype = np.dtype(element_type(tensor.element).dtype)
        if dtype.kind in "iu":
            return random.integers(0, 10, tensor.shape).astype(dtype)
        values = random.standard_normal(tensor.shape) * SCALE
        if dtype.kind == "c":
            values = values + 1j * random.standard_normal(tensor.shape) * SCALE
        return np.asarray(values).astype(dtype)

    types = [tensor_type(argument.entry.type) for argument in program.values.arguments(None)]
    return [made(tensor) for tensor in types if tensor is not None]


def _largest(array: Array) -> float:
    size = np.abs(array)
    return float(np.max(size, initial=0, where=np.isfinite(size)))


def _error(got: Array, expected: Array, precise: Array) -> float:
    """Returns the largest difference over the tolerance; integers, NaNs and infinities must be equal.

    The tolerance is `LARGEST_ERROR` times the error of XLA itself, which a run in f64 shows, and one rounding
    of the largest element. Two results of that error differ by twice as much if they are off in opposite
    directions, and by more where XLA sums by another tree: prefixes of 4,096 elements are here off by 5.5
    times its error (`signal`), gradients of convolutions by twice.
    """
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if got.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, expected) else np.inf
    ours, theirs = wide(got), wide(expected)
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return np.inf
    error = _largest((theirs - wide(precise))[finite])
    rounding = float(ml_dtypes.finfo(got.dtype).eps) * _largest(theirs)
    difference = _largest((ours - theirs)[finite])
    return difference / (LARGEST_ERROR * (error + rounding)) if difference else 0.0


def _random_error(got: Array, expected: Array) -> float:
    """Returns the difference of means over that of two samples, for numbers that are not specified."""
    ours, theirs = wide(got), wide(expected)
    spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(ours.size)
    return float(abs(ours.mean() - theirs.mean()) / (LARGEST_ERROR * spread))


def are_random(program: Program) -> list[bool]:
    """Returns whether each result of @main is random, its numbers being open."""
    (main,) = (f for f in functions_of(program.module) if function_name(f) == "main")
    end = terminator_of(main.body)
    assert end is not None
    return [getattr(value.owner, "name", "") == "stablehlo.rng" for value in end.operands]


def compared(name: str) -> Compared:
    """Runs a program here and by XLA."""
    text = with_sizes(corpus_text(name), SIZES.get(name, {}))
    register()
    try:
        program = Program.parse(text, f"{name}.mlir")
        inputs = inputs_of(program)
        if name in POSITIVE:
            inputs = [np.abs(x) for x in inputs]
        start = perf_counter()
        got = program.run(inputs).arrays
        seconds = perf_counter() - start
        precise = Program.parse(in_double(text), name).run(list(map(as_argument, inputs))).arrays
        for_xla = FOR_XLA.get(name, str)(text)
        expected, compiled_seconds = compiled_results(for_xla, inputs, DEVICES.get(name, 1))
    except (ShardyError, InternalError, AssertionError) as error:
        return Compared(name, fault=f"{type(error).__name__}: {error}")
    rows = [row for row in zip(got, precise, are_random(program), strict=True) if is_array(row[0])]
    errors = [
        _random_error(ours, theirs) if is_random else _error(ours, theirs, exact)
        for (ours, exact, is_random), theirs in zip(rows, expected, strict=True)
    ]
    wrong = [number for number, error in enumerate(errors) if not error <= 1]
    fault = f"results {wrong} differ" if wrong else ""
    return Compared(name, compiled_seconds, seconds, max(errors), fault)


def main() -> int:
    """Prints a line for each program; returns 1 if one differs."""
    failed = 0
    names = sys.argv[1:] or corpus_names()
    for name in names:
        found = compared(name)
        failed += bool(found.fault)
        times = f"here {found.seconds:.3f} s, XLA {found.compiled_seconds:.3f} s"
        print(
            f"{name}: {found.fault or 'equal'}; error {found.error:.3f} of what is allowed; {times}",
            flush=True,
        )
    print(f"{len(names)} run, {len(names) - failed} equal")
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
