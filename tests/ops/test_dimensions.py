"""Dimension numbers, read from attributes as MLIR prints them, are those of the ops."""

from __future__ import annotations

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.record import record_of
from shardy_py.ops.dimensions import (
    ConvolutionDimensions,
    DotDimensions,
    GatherDimensions,
    ScatterDimensions,
    Window,
    own_windows,
    windows_of,
)

PROGRAM = """
func.func @main(%a: tensor<3x8x4x9xf32>, %i: tensor<5x3x1xi32>, %k: tensor<3x3x4x8xf32>, %z: tensor<f32>) {
  %g = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<
    offset_dims = [0, 2], collapsed_slice_dims = [1], operand_batching_dims = [0],
    start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4, 9>} : (tensor<3x8x4x9xf32>, tensor<5x3x1xi32>) -> tensor<4x5x9x3xf32>
  %s = "stablehlo.scatter"(%a, %i, %g) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [0, 2], inserted_window_dims = [1], input_batching_dims = [0],
    scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}
    : (tensor<3x8x4x9xf32>, tensor<5x3x1xi32>, tensor<4x5x9x3xf32>) -> tensor<3x8x4x9xf32>
  %d = stablehlo.dot_general %a, %a, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
    : (tensor<3x8x4x9xf32>, tensor<3x8x4x9xf32>) -> tensor<3x8x4x4xf32>
  %c = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f, 1]x[0, 1, i, o]->[f, 0, 1, b],
    window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [1, 3],
    reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<3x8x4x9xf32>, tensor<3x3x4x8xf32>) -> tensor<8x4x13x3xf32>
  %r = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 1, 3>, window_dilations = array<i64: 1, 1, 1, 2>,
    padding = dense<[[0, 0], [0, 0], [0, 0], [4, 0]]> : tensor<4x2xi64>}
    : (tensor<3x8x4x9xf32>, tensor<f32>) -> tensor<3x8x4x9xf32>
  return
}
"""


def test_dimensions_are_read_from_records() -> None:
    records = {op.name: record_of(op) for op in parse_module(PROGRAM).walk()}
    gather = GatherDimensions.of(records["stablehlo.gather"].attributes)
    scatter = ScatterDimensions.of(records["stablehlo.scatter"].attributes)
    for numbers in (gather, scatter):
        assert (numbers.offsets, numbers.collapsed) == ((0, 2), (1,))
        assert (numbers.index_map, numbers.vector) == ((1,), 2)
        assert numbers.kept(4) == (2, 3)
        assert numbers.windowed(4) == ((2, 0), (3, 2))
        assert numbers.outer(4) == (1, 3)
        assert numbers.batched == ((0, 1),)
        assert numbers.dropped == (1, 0)
    dot = DotDimensions.of(records["stablehlo.dot_general"].attributes)
    assert (dot.batching, dot.contracting) == (((0, 1), (0, 1)), ((3,), (3,)))


def test_windows_are_read_from_records() -> None:
    records = {op.name: record_of(op) for op in parse_module(PROGRAM).walk()}
    attributes = records["stablehlo.convolution"].attributes
    numbers = ConvolutionDimensions.of(attributes)
    assert (numbers.image, numbers.kernel, numbers.result) == ((0, 1, 3, 2), (2, 0, 1, 3), (3, 1, 2, 0))
    assert numbers.spatials == ((1, 0, 1), (3, 1, 2))
    assert windows_of(attributes, numbers.window((3, 3, 4, 8))) == (
        Window(3, 2, 1, 1),
        Window(3, 1, 0, 2, base_dilation=2, dilation=3, is_reversed=True),
    )
    given = own_windows(records["stablehlo.reduce_window"].attributes, 4)
    assert given == (Window(), Window(), Window(), Window(3, low=4, dilation=2))
