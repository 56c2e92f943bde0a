"""Conversions behind slices in programs for GPUs, as XLA's pass convert-mover leaves them."""

from __future__ import annotations

from shardy_py import Program, propagate

_LOSS = """
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<8x256x256xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}},
    %w: tensor<256x2048xbf16>) -> (tensor<8x255xf32>, tensor<8x255x2048xf32>) {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
    : (tensor<8x256x256xbf16>, tensor<256x2048xbf16>) -> tensor<8x256x2048xbf16>
  {0}
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
    : (tensor<8x255x2048xf32>, tensor<f32>) -> tensor<8x255xf32>
  %b = stablehlo.broadcast_in_dim %max, dims = [0, 1] : (tensor<8x255xf32>) -> tensor<8x255x2048xf32>
  %d = stablehlo.subtract %s, %b : tensor<8x255x2048xf32>
  return %max, %d : tensor<8x255xf32>, tensor<8x255x2048xf32>
}}"""
_WIDE = """%c = stablehlo.convert %p : (tensor<8x256x2048xbf16>) -> tensor<8x256x2048xf32>
  %s = stablehlo.slice %c [0:8, 0:255, 0:2048] : (tensor<8x256x2048xf32>) -> tensor<8x255x2048xf32>"""
_NARROW = """%n = stablehlo.slice %p [0:8, 0:255, 0:2048]
    : (tensor<8x256x2048xbf16>) -> tensor<8x255x2048xbf16>
  %s = stablehlo.convert %n : (tensor<8x255x2048xbf16>) -> tensor<8x255x2048xf32>"""


def test_a_slice_of_what_is_converted_is_stored_as_what_is_converted() -> None:
    """It makes no difference which of the two the program does first."""
    sizes = [
        propagate(Program.parse(_LOSS.format(each), as_compiled=False), progress=False)
        .memory("h100")
        .estimate.temporaries
        for each in (_WIDE, _NARROW)
    ]
    assert sizes[0] == sizes[1]
    assert sizes[0] < 3 * 256 * 2048 * 2
