"""Reshapes and results whose axes do not divide a dimension: the divisor is said, and what fits."""

from __future__ import annotations

from shardy_py import Program, propagate
from shardy_py.check import Choice, Limits, check
from shardy_py.check.indivisible import indivisible

HEADS = """
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%arg0: tensor<8x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [BATCH, {}]>},
                %arg1: tensor<192x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> tensor<8x6x32xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
    : (tensor<8x192xf32>, tensor<192x192xf32>) -> tensor<8x192xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x192xf32>) -> tensor<8x6x32xf32>
  return %1 : tensor<8x6x32xf32>
}
"""
DIVISOR = '6 is not divisible by 4 ("model"): pad it to 8 where it is created'


def test_a_number_of_heads_that_the_axis_does_not_divide() -> None:
    """XLA of JAX 0.10.2 sends 491,520 B in attention with 6 heads, 196,608 B with 8."""
    result = propagate(Program.parse(HEADS.replace("BATCH", '{"data"}')), record=True, progress=False)
    found = check(result, Choice(selected=("SDY003",)), Limits(reshard_bytes=1, partitioner="xla"))
    words = [finding.remedy for finding in found]
    assert any(f"{DIVISOR}, or write" in each for each in words), words
    assert any(
        'cannot express sub-axes such as "model":(1)2 in out_shardings: constrain' in each for each in words
    )


def test_axes_that_divide_it_are_named() -> None:
    result = propagate(Program.parse(HEADS.replace("BATCH", "{}")), record=True, progress=False)
    found = {indivisible(result, use) for use in result.communication(partitioner="xla").collectives}
    assert f'{DIVISOR}, or shard it along "data" of size 2' in found


def test_nothing_is_said_of_heads_that_it_divides() -> None:
    text = HEADS.replace("BATCH", "{}").replace("192x192", "192x256").replace("8x192xf32>\n", "8x256xf32>\n")
    text = text.replace("(tensor<8x192xf32>) -> tensor<8x6x32", "(tensor<8x256xf32>) -> tensor<8x8x32")
    result = propagate(Program.parse(text.replace("8x6x32", "8x8x32")), record=True, progress=False)
    found = check(result, Choice(selected=("SDY003",)), Limits(reshard_bytes=1, partitioner="xla"))
    assert not any("divisible" in finding.remedy for finding in found)
