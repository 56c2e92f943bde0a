"""Reshards of random programs as collectives, beside the C++ Shardy, and where that fails by themselves."""

from __future__ import annotations

import re

import pytest

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes
from tests.differential.reference_process import ReferenceError, ReferenceProcess
from tests.passes.reshard_programs import MIXED, ReshardProgram

SEEDS = range(80)
PASSES = "func.func(sdy-reshard-to-collectives{{keep-redundant-reshards={}}})"


def as_collectives(text: str, *, keeps: bool = False) -> str:
    module = parse_module(text)
    call = pass_call("sdy-reshard-to-collectives", keep_redundant_reshards=keeps)
    return print_module(run_passes(module, (call,), verify="never"))


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_collectives(seed: int, keeps: bool, process: ReferenceProcess) -> None:
    text = ReshardProgram(seed).text()
    ours = as_collectives(text, keeps=keeps)
    assert ours == process.output(text, PASSES.format(str(keeps).lower())), text


@pytest.mark.parametrize("seed", range(300))
def test_same_collectives_on_axes_of_any_size(seed: int, process: ReferenceProcess) -> None:
    """Axes may not fit into each other: C++ ends in a wrong sharding or an error once in a hundred."""
    text = ReshardProgram(seed, MIXED, functions=1).text()
    ours = as_collectives(text)
    assert process.output(ours) == ours, "a collective is not valid"
    try:
        theirs = process.output(text, PASSES.format("false"))
    except ReferenceError:
        return
    if ours != theirs:
        assert last_dimensions(theirs) != last_dimensions(ours) == wanted_dimensions(text)


def last_dimensions(text: str) -> str | None:
    """How the value returned is sharded by the last collective."""
    found = re.findall(r"out_sharding=<@\w+, (\[.*\])>", text)
    return found[-1] if found else None


def wanted_dimensions(text: str) -> str:
    """How the last reshard shards it, closed."""
    found = re.findall(r"sdy.reshard %\w+ <@\w+, (\[.*\])>", text)[-1]
    return found.replace(", ?}", "}").replace("{?}", "{}")


@pytest.mark.parametrize("sizes", [None, MIXED], ids=["powers", "mixed"])
@pytest.mark.parametrize("seed", range(20))
def test_no_reshard_is_left(seed: int, sizes: tuple[int, ...] | None) -> None:
    text = (ReshardProgram(seed, sizes) if sizes else ReshardProgram(seed)).text()
    assert "sdy.reshard" not in as_collectives(text)


def test_reduction_is_kept() -> None:
    sharding = 'unreduced=max{"y"}>'
    tensor = "tensor<8x8xf32>"
    text = f"""sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
  %arg0: {tensor} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}], {sharding}}}
) -> {tensor} {{
  %0 = sdy.reshard %arg0 <@mesh, [{{}}, {{"x"}}], {sharding} : {tensor}
  return %0 : {tensor}
}}
"""
    expected = f'all_to_all [{{"x"}}: 0->1] %arg0 out_sharding=<@mesh, [{{}}, {{"x"}}], {sharding}'
    assert expected in as_collectives(text)
