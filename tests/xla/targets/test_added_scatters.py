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


def test_a_second_scatter_is_not_into_the_first() -> None:
    """As XLA compiles x + scatter(0, a) + scatter(0, a): x alone is gathered, for the first."""
    text = _PROGRAM.replace("-> tensor<4096x256xf32>", f"-> (tensor<4096x256xf32> {_ROWS})", 1)
    text = text.replace("@main(", f"@main(%t: tensor<4096x256xf32> {_ROWS}, ")
    text = text.replace(
        "%2 = stablehlo.add %0", "%y = stablehlo.add %t, %0 : tensor<4096x256xf32>\n  %2 = stablehlo.add %y"
    )
    result = propagate(Program.parse(text), progress=False)
    sent = [use.kind for use in result.communication(target="tpu-v5p").sending]
    assert sorted(sent) == ["all_gather", "all_reduce"], "the sums are one op, gathers would be two"


_UPDATES = """
sdy.mesh @mesh = <["x"=4]>
func.func @main(%u: tensor<8x32xf32>, %i: tensor<8x1xi32>)
    -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = sdy.manual_computation(%u) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>]
      manual_axes={"x"} (%a: tensor<8x32xf32>) {
    %sine = stablehlo.sine %a : tensor<8x32xf32>
    %p = "stablehlo.all_reduce"(%sine) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) : (tensor<8x32xf32>) -> tensor<8x32xf32>
    sdy.return %p : tensor<8x32xf32>
  } : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
  %1 = "stablehlo.scatter"(%zeros, %i, %0) ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<16x32xf32>, tensor<8x1xi32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}"""


def test_updates_are_sliced_as_the_table_is() -> None:
    """So XLA:GPU scatters a sum of updates."""
    result = propagate(Program.parse(_UPDATES), progress=False)
    assert [use.kind for use in result.communication(target="h100").sending] == ["reduce_scatter"]
