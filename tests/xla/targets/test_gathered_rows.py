"""What XLA:GPU sends for rows that indices number, and for gathers of broadcasts and of factors.

The bytes are those of the HLO that jax 0.10.2 makes of such programs for an H100.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.hardware import hardware_of
from shardy_py.xla.targets.compiled import compiler_of
from shardy_py.xla.targets.of_program import CompiledProgram

_MESH = 'sdy.mesh @mesh = <["x"=8]>'
_ROWS = 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}'
_NUMBERS = (
    "#stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, "
    "slice_sizes = array<i64: 1, 1>"
)
_PICKED = f"""{_MESH}
func.func @main(%x: tensor<64x32xf32> {{{_ROWS}, {{}}]>}}, %i: tensor<64xi32> {{{_ROWS}]>}})
    -> (tensor<64xf32> {{{_ROWS}]>}}) {{
  %rows = stablehlo.iota dim = 0 : tensor<64xi32>
  %zero = stablehlo.constant dense<BOUND> : tensor<64xi32>
  %size = stablehlo.constant dense<64> : tensor<64xi32>
  %below = stablehlo.compare LT, %rows, %zero, SIGNED : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %after = stablehlo.add %rows, %size : tensor<64xi32>
  %chosen = stablehlo.select %below, %after, %rows : tensor<64xi1>, tensor<64xi32>
  %a = stablehlo.reshape %chosen : (tensor<64xi32>) -> tensor<64x1xi32>
  %b = stablehlo.reshape %i : (tensor<64xi32>) -> tensor<64x1xi32>
  %both = stablehlo.concatenate %a, %b, dim = 1 : (tensor<64x1xi32>, tensor<64x1xi32>) -> tensor<64x2xi32>
  %0 = "stablehlo.gather"(%x, %both) {{dimension_numbers = {_NUMBERS}}}
    : (tensor<64x32xf32>, tensor<64x2xi32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}}"""
_SPREAD = f"""{_MESH}
func.func @main(%x: tensor<64x16xf32> {{{_ROWS}, {{}}]>}})
    -> (tensor<64x4x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}, {{}}]>}}) {{
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2]
    {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}, {{}}, {{}}]>]>}}
    : (tensor<64x16xf32>) -> tensor<64x4x16xf32>
  return %0 : tensor<64x4x16xf32>
}}"""


def sent(text: str) -> list[tuple[str, int]]:
    """The kinds and bytes of results of the collectives of a program, as compiled for an H100."""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    compiler = compiler_of(hardware_of("h100"))
    assert compiler is not None
    made = CompiledProgram(result.forecasts.spmd("xla"), compiler)
    return [(each.kind, each.result_bytes) for each in made.plan(made.program.entries[0]).issued]


def test_rows_that_indices_number_are_not_sent() -> None:
    """JAX writes so for `x[arange(n), i]`: places are not below 0."""
    assert sent(_PICKED.replace("BOUND", "0")) == []


@pytest.mark.parametrize(
    ("bound", "chosen"), [("3", "%below, %after, %rows"), ("0", "%below, %rows, %after")]
)
def test_rows_that_may_be_others_are_sent(bound: str, chosen: str) -> None:
    text = _PICKED.replace("BOUND", bound).replace("%below, %after, %rows", chosen)
    assert sent(text)


def test_what_is_broadcast_is_gathered() -> None:
    assert sent(_SPREAD) == [("all_gather", 64 * 16 * 4)]


@pytest.mark.parametrize("other", ["%y", "%x"])
def test_factors_of_a_scalar_product_are_multiplied_before_they_are_gathered(other: str) -> None:
    columns = 'sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>'
    text = f"""{_MESH}
func.func @main(%x: tensor<16x64xf32> {{{columns}}}, %y: tensor<16x64xf32> {{{columns}}}) -> tensor<f32> {{
  %a = stablehlo.reshape %x : (tensor<16x64xf32>) -> tensor<1024xf32>
  %b = stablehlo.reshape {other} : (tensor<16x64xf32>) -> tensor<1024xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
    : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"""
    assert sent(text) == [("all_gather", 16 * 64 * 4)]
    made = propagate(Program.parse(text, as_compiled=True), progress=False).memory("h100").estimate
    assert made.temporaries < 2 * 16 * 64 * 4, "what is gathered is summed in any order"
