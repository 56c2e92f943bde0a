"""XLA's steps before propagation that changed between releases."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.base import releases

ERF = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = chlo.erf %arg0 : tensor<8xf32> -> tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""
PRIORITIES = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {?}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}p0, {?}]>}) ->
                tensor<8x8xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}p1, {?}p2]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(("release", "sharding"), [("0.10", "None"), ("0.12", '<@mesh, [{"x"}]>')])
def test_shardings_pass_through_erf(release: str, sharding: str) -> None:
    program = Program.parse(ERF, as_compiled=True, jax=release)
    assert str(propagate(program).program["%1"].sharding) == sharding


@pytest.mark.parametrize(("release", "sharding"), [("0.10", '<@mesh, [{"y"}, {}]>'), ("0.12", "None")])
def test_jax_compiles_without_priorities(release: str, sharding: str) -> None:
    """Without them, no operand decides."""
    program = Program.parse(PRIORITIES, as_compiled=True, jax=release)
    assert ("p1" in program.text()) == (release == "0.10")
    assert str(propagate(program).program["%0"].sharding) == sharding


def test_priorities_stay_in_programs_as_written() -> None:
    with releases.of("0.12"):
        assert "p1" in Program.parse(PRIORITIES, as_compiled=False).text()
