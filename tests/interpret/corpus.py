"""Runs the programs of the corpus, and compares with XLA: `python -m tests.interpret.corpus [NAME...]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import ml_dtypes
import numpy as np

from shardy_py import Program
from shardy_py.compute import Array
from shardy_py.errors import InternalError, ShardyError
from shardy_py.graph.plain import tensor_type
from shardy_py.layout.element_types import element_type
from shardy_py.ops import TensorType
from tests.conftest import corpus_names, corpus_text
from tests.interpret.compiled import compiled_results
from tests.interpret.custom_functions import register, with_exact_top_k, without_callbacks
from tests.interpret.small import SIZES, with_sizes

DEVICES: Final = {"shard_map_collectives": 8}
"""Devices that XLA runs a program with manual computations on; it compiles the others for one device."""


FOR_XLA: Final = {"custom_rules": without_callbacks, "lowered_for_tpu": with_exact_top_k}
"""Programs with custom calls that the CPU does not have: their texts without them."""
SCALE: Final = 0.1
"""Of the normal floats that go in: activations neither overflow nor saturate."""
LARGEST_ERROR: Final = 8
"""In units of what rounding may do to a result: see `_allowed`."""


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


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _epsilon(array: Array) -> float:
    return float(ml_dtypes.finfo(array.dtype).eps)


def _perturbed(inputs: Sequence[Array], seed: int) -> list[Array]:
    """Returns inputs of which each float is wrong by up to its rounding error."""
    random = np.random.default_rng(seed)
    return [
        x
        if x.dtype.kind in "iub"
        else (_wide(x) * (1 + _epsilon(x) * random.choice((-1, 1), x.shape))).astype(x.dtype)
        for x in inputs
    ]


def _largest(array: Array) -> float:
    size = np.abs(array)
    return float(np.max(size, initial=0, where=np.isfinite(size)))


def _error(got: Array, expected: Array, moved: Sequence[Array]) -> float:
    """The largest difference over what rounding may do; integers, NaNs and infinities must be equal.

    A result may be wrong by what one rounding of the inputs does to it, seen in runs on inputs that are
    perturbed so (the condition), and by one rounding of its largest element, each `LARGEST_ERROR` times:
    sums of n terms in another order differ by about sqrt(n) roundings, n being at most 4,096 in the programs.
    """
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if got.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, expected) else np.inf
    ours, theirs = _wide(got), _wide(expected)
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return np.inf
    condition = max(_largest((_wide(x) - ours)[finite]) for x in moved)
    allowed = LARGEST_ERROR * (condition + _epsilon(got) * _largest(theirs))
    difference = _largest((ours - theirs)[finite])
    return difference / allowed if difference else 0.0


def compared(name: str) -> Compared:
    """Runs a program here and by XLA."""
    text = with_sizes(corpus_text(name), SIZES.get(name, {}))
    register()
    try:
        program = Program.parse(text, f"{name}.mlir")
        inputs = inputs_of(program)
        moved = [program.run(_perturbed(inputs, seed)).arrays for seed in (1, 2)]
        start = perf_counter()
        got = program.run(inputs).arrays
        seconds = perf_counter() - start
        for_xla = FOR_XLA.get(name, str)(text)
        expected, compiled_seconds = compiled_results(for_xla, inputs, DEVICES.get(name, 1))
    except (ShardyError, InternalError, AssertionError) as error:
        return Compared(name, fault=f"{type(error).__name__}: {error}")
    errors = [
        _error(ours, theirs, others) for ours, theirs, *others in zip(got, expected, *moved, strict=True)
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
