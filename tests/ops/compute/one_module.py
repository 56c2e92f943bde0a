"""Random ops against XLA on a CPU: many ops in one program, which is compiled once.

    compare_ops([Case(lambda x: ops.reverse(x, [0]), [array])])

Cases are functions of the builder with the operands of their ops; operands have a lane axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.frontends.builder import build, tensor
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.precision import kind_of
from tests.ops.compute.against_jax import OPTIONS, run_text

INTEGERS = tuple(map(np.dtype, ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")))
FLOATS = tuple(map(np.dtype, (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)))
NARROW = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    )
)
"""Floats of 8 bits and less. XLA's CPU compiler does not take those of 6 bits."""
SMALL = tuple(np.dtype(getattr(ml_dtypes, name)) for name in ("int2", "uint2", "int4", "uint4"))
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
BOOL = (np.dtype(np.bool_),)
NUMBERS = (*INTEGERS, *FLOATS, *COMPLEX)
ALL = (*BOOL, *NUMBERS)


@dataclass(frozen=True)
class Case:
    """An op: its function, operands, and tolerance in units of the last place, relative to the largest 1."""

    function: Callable[..., Any]
    operands: Sequence[Array]
    units: float = 0


def shape(random: Random, low: int = 0, high: int = 3, least: int = 1) -> tuple[int, ...]:
    """Returns a shape of `low` to `high` dimensions."""
    return tuple(random.randint(least, 5) for _ in range(random.randint(low, high)))


def array(random: Random, sizes: Sequence[int], dtype: np.dtype[Any], scale: float = 2) -> Array:
    """Returns numbers around 0, or integers of all sizes, in one lane or two."""
    rng, full = np.random.default_rng(random.getrandbits(32)), (random.choice((1, 2)), *sizes)
    kind = kind_of(dtype)
    if kind == "b":
        return rng.random(full) < 0.5
    if kind in "iu":
        info = ml_dtypes.iinfo(dtype)
        whole = rng.integers(int(info.min), int(info.max), full, np.dtype(f"{kind}8"), endpoint=True)
        return np.where(rng.random(full) < 0.5, whole, whole % 7).astype(dtype)
    parts = rng.standard_normal((2, *full)) * scale
    with np.errstate(over="ignore"):
        return (parts[0] + 1j * parts[1] if kind == "c" else parts[0]).astype(dtype)


def _run_compiled(text: str, lanes: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Returns the results of each lane, as XLA computes them without optimizations."""
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax  # pyright: ignore[reportPrivateImportUsage]
    from jaxlib.mlir import ir

    device = jax.devices("cpu")[0]
    options = compiler.get_compile_options(1, 1, env_options_overrides=OPTIONS)
    with mlir.make_ir_context():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    with jax.enable_x64(True):
        executable = device.client.compile_and_load(code, _jax.DeviceList((device,)), options)
        return [
            [np.asarray(value) for value in executable.execute([jax.device_put(x, device) for x in lane])]
            for lane in lanes
        ]


def _assert_equal(got: Array, expected: Array, units: float, case: str) -> None:
    assert got.dtype == expected.dtype, case
    assert got.shape == expected.shape, case
    if kind_of(got.dtype) in "biu" or not got.size:
        assert (got == expected).all(), (case, got, expected)
        return
    wide = np.complex128 if kind_of(got.dtype) == "c" else np.float64
    with np.errstate(invalid="ignore"):  # bits may be those of signalling NaN
        left, right = got.astype(wide), expected.astype(wide)
    if not units:
        np.testing.assert_array_equal(left, right, err_msg=case)
        return
    error = units * float(ml_dtypes.finfo(got.dtype).eps)
    scale = np.abs(right[np.isfinite(right)]).max(initial=1)
    np.testing.assert_allclose(left, right, rtol=error, atol=error * scale, err_msg=case)


def compare_ops(cases: Sequence[Case]) -> None:
    """Compares all results of the cases with XLA's, lane by lane.

    Raises:
        AssertionError: a result differs; the message has the op.
    """
    operands = [operand for case in cases for operand in case.operands]
    ends = np.cumsum([0, *(len(case.operands) for case in cases)]).tolist()
    counts: list[int] = []

    def main(*values: Any) -> tuple[Any, ...]:
        results: list[Any] = []
        for case, (start, end) in zip(cases, pairwise(ends), strict=True):
            made = case.function(*values[start:end])
            made = made if isinstance(made, tuple) else (made,)
            results += made
            counts.append(len(made))
        return tuple(results)

    types = [tensor(x.shape[1:], x.dtype) for x in operands]
    text = build(main, *types).text()
    lanes = max(map(len, operands), default=1)
    picked = [[x[min(lane, len(x) - 1)] for x in operands] for lane in range(lanes)]
    expected = _run_compiled(text, picked)
    with np.errstate(all="ignore"):
        got = run_text(text, *operands)
    owners = [case for case, count in zip(cases, counts, strict=True) for _ in range(count)]
    returned = text.rsplit("return ", 1)[1].split(" :")[0].split(", ")
    for place, (value, case) in enumerate(zip(got, owners, strict=True)):
        name = returned[place].split("#")[0]
        line = next(
            (line for line in text.splitlines() if line.strip().startswith((f"{name} ", f"{name}:"))), ""
        )
        for lane in range(lanes):
            here = value[min(lane, len(value) - 1)]
            _assert_equal(here, expected[lane][place], case.units, line)


def compare_random_ops(makers: Sequence[Callable[[Random], Case]], seed: int, count: int) -> None:
    """Compares a program of that many random ops with XLA's results."""
    random = Random(seed)
    compare_ops([makers[number % len(makers)](random) for number in range(count)])
