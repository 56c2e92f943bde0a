"""Gradients of a table that is read twice, as XLA:GPU and XLA:TPU compiled them for eight devices."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_SCATTER = """"stablehlo.scatter"(%zeros, {places}, %a) ({{
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
    : (tensor<4096x256xf32>, tensor<65536x1xi32>, tensor<65536x256xf32>) -> tensor<4096x256xf32>"""
_ROWS = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
_PROGRAM = f"""
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<65536x1xi32> {_ROWS}, %j: tensor<65536x1xi32> {_ROWS},
                %a: tensor<65536x256xf32> {_ROWS}) -> tensor<4096x256xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4096x256xf32>
  %0 = {_SCATTER.format(places="%i")}
  %1 = {_SCATTER.format(places="%j")}
  %2 = stablehlo.add %0, %1 : tensor<4096x256xf32>
  return %2 : tensor<4096x256xf32>
}}"""


@pytest.mark.parametrize("target", ["h100", "tpu-v5p"])
def test_two_scatters_of_many_rows_are_added_before_they_are_summed(target: str) -> None:
    """Neither is scattered into the other, and they are not one scatter, whose rows would move."""
    result = propagate(Program.parse(_PROGRAM), progress=False)
    sent = [(use.kind, use.held_bytes) for use in result.communication(target=target).sending]
    assert sent == [("all_reduce", 4096 * 256 * 4)]
