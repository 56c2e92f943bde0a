"""Functions of JAX on single ops: compiled by XLA, and run by the functions of ops on all lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shardy_py.api.pipeline import read
from shardy_py.ops.compute import Array
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.interpret import Executable, Settings

OPTIONS = {"xla_backend_optimization_level": 0, "xla_allow_excess_precision": False}
"""XLA compiles twice as fast, and rounds the result of each op."""


def run_text(text: str, *arguments: Array) -> list[Array]:
    """Runs the function @main of a program; arguments have one lane, or all have the same number."""
    lanes = max(map(len, arguments), default=1)
    return Executable(read(text), settings=Settings(grid=Grid(lanes))).run(arguments)


def compare(
    function: Callable[..., Any], *arguments: Array, rtol: float = 1e-5, atol: float = 1e-5, x64: bool = False
) -> None:
    """Compares with XLA's results on a CPU, lane by lane; a tolerance of 0 compares bits.

    arguments: with lanes, one or the same number for all.
    """
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(x64):
        lowered = jax.jit(function, keep_unused=True).lower(*(argument[0] for argument in arguments))
        text = lowered.as_text()
        compiled = lowered.compile(compiler_options=OPTIONS)
        got = run_text(text, *arguments)
        for lane in range(max(map(len, arguments), default=1)):
            mine = [argument[min(lane, len(argument) - 1)] for argument in arguments]
            expected = jax.tree.leaves(compiled(*mine))
            assert len(got) == len(expected)
            for value, right in zip(got, map(np.asarray, expected), strict=True):
                here = value[min(lane, len(value) - 1)]
                assert here.dtype == right.dtype, text
                assert here.shape == right.shape, text
                if rtol == atol == 0:
                    assert here.tobytes() == right.tobytes(), text
                else:
                    precise = np.complex128 if right.dtype.kind == "c" else np.float64
                    np.testing.assert_allclose(
                        here.astype(precise), right.astype(precise), rtol=rtol, atol=atol, err_msg=text
                    )
