"""Functions of JAX on single ops: compiled by XLA, and run by the functions of ops on all lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shardy_py.compute import Array, compute_of
from shardy_py.graph.record import record_of
from shardy_py.pipeline import read


def run_text(text: str, *arguments: Array) -> list[Array]:
    """Runs a function @main without control flow and calls; arrays have lanes."""
    (main,) = (op for op in read(text).ops if op.properties["sym_name"].data == "main")  # pyright: ignore
    block = main.regions[0].blocks[0]
    values: dict[Any, Any] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        record = record_of(op)
        if op.name == "func.return":
            return [values[operand] for operand in op.operands]
        if op.name == "stablehlo.constant":
            attribute: Any = op.properties["value"]
            type_ = attribute.type
            values[op.results[0]] = np.reshape(np.array(attribute.get_values()), (1, *type_.get_shape()))
            continue
        with np.errstate(all="ignore"):
            result = compute_of(record)(record, *(values[operand] for operand in op.operands))
        results = result if isinstance(result, tuple) else (result,)
        values |= dict(zip(op.results, results, strict=True))
    raise AssertionError("@main does not return")


def compare(
    function: Callable[..., Any], *arguments: Array, rtol: float = 1e-5, atol: float = 1e-5, x64: bool = False
) -> None:
    """Compares with XLA's results on a CPU, lane by lane; a tolerance of 0 compares bits.

    arguments: with lanes, one or the same number for all.
    """
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(x64):
        lowered = jax.jit(function).lower(*(argument[0] for argument in arguments))
        text = lowered.as_text()
        compiled = lowered.compile()
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
