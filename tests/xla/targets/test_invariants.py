"""Collectives of unchanged values in loops: on the host one before the loop, elsewhere one an iteration.

The figures of the host are those of XLA:CPU, of jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, Result, propagate

_SHARDED = 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>'
_WHILE = f"""
sdy.mesh @mesh = <["x"=8]>
func.func @main(%w: tensor<256x256xf32> {{{_SHARDED}}}, %x: tensor<128x256xf32> {{{_SHARDED}}})
    -> tensor<128x256xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<128x256xf32>
  cond {{
    %end = stablehlo.constant dense<TRIPS> : tensor<i32>
    %more = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %scale = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %scaled = stablehlo.multiply %w, %scale : tensor<256x256xf32>
    %product = stablehlo.dot_general %h, WEIGHT, contracting_dims = [1] x [0]
        : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
    %new = stablehlo.tanh %product : tensor<128x256xf32>
    stablehlo.return %next, %new : tensor<i32>, tensor<128x256xf32>
  }}
  return %0#1 : tensor<128x256xf32>
}}
"""


def _result(weight: str, trips: int = 10) -> Result:
    text = _WHILE.replace("WEIGHT", weight).replace("TRIPS", str(trips))
    return propagate(Program.parse(text, jax="0.10"), progress=False)


@pytest.mark.parametrize(
    ("weight", "target", "runs"),
    [("%w", "cpu", 1), ("%scaled", "cpu", 10), ("%w", "h100", 10), ("%w", "tpu-v5p", 10)],
)
def test_the_host_gathers_unchanged_weights_before_the_loop(weight: str, target: str, runs: int) -> None:
    (use,) = _result(weight).communication(target=target).sending
    assert (use.kind, use.times) == ("all_gather", runs)
    passes = [change.made_by for change in use.changes]
    assert ("while-loop-invariant-code-motion" in passes) == (runs == 1)


def test_what_it_gathers_is_alive_in_the_whole_loop() -> None:
    # XLA allocates 278,596 and 294,980 bytes of temporaries.
    assert _result("%w").memory().estimate.temporaries == pytest.approx(278_596, rel=0.001)
    assert _result("%scaled").memory().estimate.temporaries == pytest.approx(294_980, rel=0.001)


def test_a_loop_that_runs_once_keeps_what_it_gathers() -> None:
    (use,) = _result("%w", trips=1).communication(target="cpu").sending
    assert use.times == 1
    assert not use.changes
