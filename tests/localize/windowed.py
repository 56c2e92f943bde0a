"""Runs a sharded op before and after `sdy-resolve-permutation-factors`, on simulated devices.

Not here: the tests (`test_windows.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.errors import collected_warnings
from shardy_py.localize.permutation_factors import resolve_permutation_factors
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.passes.options import ResolvePermutationFactorsOptions
from shardy_py.run.interpret import Executable

Array = NDArray[np.generic]


def compare(text: str, inputs: list[Array], *, windowed: bool = True) -> tuple[str, list[str]]:
    """Runs a program, and the one that the pass makes of it; the results must be equal.

    Returns the names of the ops of the latter, in a string, and the warnings.
    """
    lanes = [array[None] for array in inputs]
    whole = Executable(parse_module(text, "whole.mlir")).run(lanes)
    module = parse_module(text, "local.mlir")
    options = ResolvePermutationFactorsOptions(
        enable_windowed_halo_exchange=windowed, rng_bit_generator_unsafe=False
    )
    with collected_warnings() as warnings:
        resolve_permutation_factors(module, options)
    verify_module(module)
    made = Executable(module).run(lanes)
    for expected, got in zip(whole, made, strict=True):
        np.testing.assert_array_equal(got, expected)
    return " ".join(op.name for op in module.walk()), [str(warning) for warning in warnings]


def tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    """The text of a type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def numbers(shape: tuple[int, ...], element: type = np.float32) -> Array:
    """Small integers, so that sums are exact, none of them 0."""
    return (np.arange(np.prod(shape), dtype=np.int64) % 13 + 1).reshape(shape).astype(element)
