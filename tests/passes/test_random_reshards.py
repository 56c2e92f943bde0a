"""Reshards of random programs beside the C++ Shardy, and what must hold of them whatever it does."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from tests.differential.reference_process import ReferenceError, ReferenceProcess
from tests.passes.sharded_programs import ShardedProgram

SEEDS = range(60)


def resharded(text: str, *, is_full: bool, is_canonical: bool = False) -> str:
    module = parse_module(text)
    calls = [pass_call("sdy-insert-explicit-reshards", enable_full_version=is_full)]
    if is_canonical:
        calls.append(pass_call("canonicalize"))
    return print_module(run_passes(module, calls, verify="never"))


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "minimal"])
@pytest.mark.parametrize("unreduced", [0.0, 0.15])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_reshards(seed: int, unreduced: float, is_full: bool, process: ReferenceProcess) -> None:
    text = ShardedProgram(seed, unreduced).text()
    try:
        ours = resharded(text, is_full=is_full, is_canonical=True)
    except ShardyError:
        pytest.skip("unreduced axes that C++ ends the process on")
    option = f"enable-full-version={str(is_full).lower()}"
    passes = f"func.func(sdy-insert-explicit-reshards{{{option}}}),canonicalize"
    try:
        theirs = process.output(text, passes)
    except ReferenceError:
        pytest.skip("unreduced axes that make C++ write what it refuses to read")
    assert ours == theirs, text


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left_to_reshard(seed: int) -> None:
    text = ShardedProgram(seed).text()
    if "stablehlo.reshape" in text:
        pytest.skip("Shardy may leave a reshape with axes that do not fit its factors")
    once = resharded(text, is_full=True)
    assert resharded(once, is_full=True).count("sdy.reshard") == once.count("sdy.reshard")
