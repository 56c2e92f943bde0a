"""Convolutions on v5p: what XLA:TPU allocates for small programs, but for 64 bytes of tuples.

Each is of 16 images on 8 devices, so that a device has two, which are spread over rows of tiles; or of 128.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
_IMAGES = '{sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}, {}]>}'
_SAME = """dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"""
_SUM = """
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0, 1, 2]
      : ({made}, tensor<f32>) -> {result}"""


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


def _convolution(shape: str, made: str, rest: str, *, result: str = "", element: str = "f32") -> str:
    """A convolution of 3 x 3, and what is made of it: %2, which is sharded like the images unless stated."""
    given, images, features = f"tensor<{shape}x{element}>", shape.split("x")[-1], made.split("x")[-1]
    kernel, made = f"tensor<3x3x{images}x{features}x{element}>", f"tensor<{made}x{element}>"
    returned = result or made
    sharding = "" if result else _IMAGES
    return f"""
  func.func @main(%x: {given} {_IMAGES}, %w: {kernel}) -> ({returned} {sharding}) {{
    %0 = stablehlo.convolution(%x, %w) {_SAME} : ({given}, {kernel}) -> {made}
    {rest.format(made=made, result=returned)}
    return %2 : {returned}
  }}"""


_TANH = "%2 = stablehlo.tanh %0 : {made}"


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        (_convolution("128x16x16x128", "128x16x16x128", _TANH, element="bf16"), 1081312),
        (_convolution("16x32x32x8", "16x32x32x16", _TANH), 2031552),
        (_convolution("16x32x32x8", "16x32x32x16", _SUM, result="tensor<16xf32>"), 524224),
    ],
    ids=["returned", "together", "reduced"],
)
def test_temporaries_are_as_allocated(text: str, allocated: int) -> None:
    """A result with batch and features in tiles is copied; parts are put together; a sum reads them all."""
    assert abs(_temporaries(text) - allocated) <= 64


def test_gradients_of_kernels_have_their_operands_in_tiles() -> None:
    """Images and gradients are copied in bf16, each pixel a tile of two rows: 512 KiB twice, two addresses.

    The gradients are fetched while the images are copied, and the copy of these while the gradients are.
    """
    given, gradient = "tensor<16x32x32x8xf32>", "tensor<16x32x32x16xf32>"
    numbers = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]}"
    groups = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    found = _temporaries(f"""
    func.func @main(%x: {given} {_IMAGES}, %g: {gradient} {_IMAGES}) -> tensor<3x3x8x16xf32> {{
      %0 = stablehlo.convolution(%x, %g) dim_numbers = {numbers} {groups}
        : ({given}, {gradient}) -> tensor<3x3x8x16xf32>
      return %0 : tensor<3x3x8x16xf32>
    }}""")
    assert abs(found - 1114048) <= 64


def test_what_two_convolutions_read_of_images_is_copied_once() -> None:
    """The first layer of a network rounds images, and so does its gradient: both read a copy, batch in lanes.

    Of 16 images of 224 on a device, XLA:TPU copies 49 MiB in bf16, which are needed until the gradient.
    """
    images, made, wide = (
        f"tensor<128x{shape}>" for shape in ("64x64x3x", "16x16x96xbf16", "16x16x2048xbf16")
    )
    given, rounded = (images[:-1] + f"{element}>" for element in ("f32", "bf16"))
    groups = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    found = _temporaries(f"""
  func.func @main(%x: {given} {_IMAGES}, %w: tensor<4x4x3x96xbf16>, %v: tensor<96x2048xbf16>)
      -> tensor<4x4x3x96xbf16> {{
    %0 = stablehlo.convert %x : ({given}) -> {rounded}
    %1 = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {{stride = [4, 4]}} {groups} : ({rounded}, tensor<4x4x3x96xbf16>) -> {made}
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [3] x [0]
      : ({made}, tensor<96x2048xbf16>) -> {wide}
    %3 = stablehlo.optimization_barrier %2 : {wide}
    %4 = stablehlo.dot_general %3, %v, contracting_dims = [3] x [1]
      : ({wide}, tensor<96x2048xbf16>) -> {made}
    %5 = stablehlo.convolution(%0, %4) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],
      window = {{rhs_dilate = [4, 4]}} {groups} : ({rounded}, {made}) -> tensor<4x4x3x96xbf16>
    return %5 : tensor<4x4x3x96xbf16>
  }}""")
    copied, largest = 64 * 64 * 4 * 128 * 2, 16 * 16 * 16 * 2048 * 2
    assert copied + largest <= found <= copied + largest + (3 << 20)
