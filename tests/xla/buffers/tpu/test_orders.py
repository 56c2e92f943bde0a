"""Orders, slices, sums and parts of tuples: programs with the temporaries that XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
_ADDRESSES = 64
"""The bytes of tuples themselves, which XLA counts once and the forecast not at all."""


def _sharded(*axes: str) -> str:
    dimensions = ", ".join(f'{{"{axis}"}}' if axis else "{}" for axis in axes)
    return f"{{sdy.sharding = #sdy.sharding<@mesh, [{dimensions}]>}}"


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


_ROWS, _PARTS = _sharded("x", ""), "tensor<32x128x8x32xbf16>"
GATHERED = f"""
func.func @main(%x: tensor<16x64x384xbf16> {_sharded("", "", "x")}, %w: tensor<384x512xbf16>)
    -> (tensor<16x64x512xbf16> {_sharded("", "", "")}) {{
  %0 = sdy.sharding_constraint %x <@mesh, [{{}}, {{}}, {{}}]> : tensor<16x64x384xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [2] x [0]
    : (tensor<16x64x384xbf16>, tensor<384x512xbf16>) -> tensor<16x64x512xbf16>
  return %1 : tensor<16x64x512xbf16>
}}"""
"""Parts of 96 lanes: rows of the whole are padded to 128 instead."""
SLICED = f"""
func.func @main(%x: tensor<32x128x256xbf16> {_sharded("x", "", "")}, %w: tensor<256x8x96xbf16>)
    -> (tensor<32x8x128x128xbf16> {_sharded("x", "", "", "")}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
    : (tensor<32x128x256xbf16>, tensor<256x8x96xbf16>) -> tensor<32x128x8x96xbf16>
  %q = stablehlo.slice %0 [0:32, 0:128, 0:8, 0:32] : (tensor<32x128x8x96xbf16>) -> {_PARTS}
  %k = stablehlo.slice %0 [0:32, 0:128, 0:8, 32:64] : (tensor<32x128x8x96xbf16>) -> {_PARTS}
  %1 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : ({_PARTS}, {_PARTS}) -> tensor<32x8x128x128xbf16>
  return %1 : tensor<32x8x128x128xbf16>
}}"""
"""The second product reads the first one where it slices it."""
TURNED = f"""
func.func @main(%x: tensor<4096x8xf32> {_ROWS}) -> (tensor<8192xf32> {_sharded("x")}) {{
  %0 = "stablehlo.sort"(%x) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}) : (tensor<4096x8xf32>) -> tensor<4096x8xf32>
  %2 = stablehlo.slice %0 [0:4096, 0:2] : (tensor<4096x8xf32>) -> tensor<4096x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<4096x2xf32>) -> tensor<8192xf32>
  return %3 : tensor<8192xf32>
}}"""
"""What is sorted is in columns, and so is the slice: a copy of that is reshaped."""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [(GATHERED, 1605600), (SLICED, 1605600), (TURNED, 589760)],
    ids=["gathered", "sliced", "turned"],
)
def test_temporaries_are_as_allocated(text: str, allocated: int) -> None:
    assert abs(_temporaries(text) - allocated) <= _ADDRESSES


def test_combined_scatters_of_sums_are_one_op() -> None:
    """Both sums are in memory at once; the first one is fetched while the second is made."""
    text = f"""
    func.func @main(%x: tensor<1024x512xf32> {_ROWS}, %g: tensor<1024x512xf32> {_ROWS},
                    %h: tensor<1024x1024xf32> {_ROWS})
        -> (tensor<512x1024xf32> {_ROWS}, tensor<512x512xf32> {_ROWS}) {{
      %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
        : (tensor<1024x512xf32>, tensor<1024x512xf32>) -> tensor<512x512xf32>
      %1 = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0]
        : (tensor<1024x512xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
      return %1, %0 : tensor<512x1024xf32>, tensor<512x512xf32>
    }}"""
    # XLA has the addresses of results where it returns them, which the forecast counts once more.
    assert abs(_temporaries(text) - 3243936 - (32 << 10)) <= 2 * _ADDRESSES


def _any(columns: int) -> str:
    """A program that sums rows of a product with NaN in the columns in which one of them is."""
    made, bits = f"tensor<1024x{columns}xf32>", f"tensor<{columns}xi1>"
    wide = f"tensor<1024x{columns}xi1>"
    return f"""
    func.func @main(%x: {made} {_ROWS}, %w: tensor<{columns}x{columns}xf32>)
        -> (tensor<1024xf32> {_sharded("x")}) {{
      %no = stablehlo.constant dense<false> : tensor<i1>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %nan = stablehlo.constant dense<0x7FC00000> : {made}
      %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : ({made}, tensor<{columns}x{columns}xf32>) -> {made}
      %0 = stablehlo.compare NE, %p, %p : ({made}, {made}) -> {wide}
      %1 = stablehlo.reduce(%0 init: %no) applies stablehlo.or across dimensions = [0]
        : ({wide}, tensor<i1>) -> {bits}
      %2 = stablehlo.broadcast_in_dim %1, dims = [1] : ({bits}) -> {wide}
      %3 = stablehlo.select %2, %nan, %p : {wide}, {made}
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
        : ({made}, tensor<f32>) -> tensor<1024xf32>
      return %4 : tensor<1024xf32>
    }}"""


def test_sums_of_booleans_are_of_words_in_vmem() -> None:
    """What is summed and the sum are fetched; rows of words that are not full are copied before."""
    assert abs(_temporaries(_any(512)) - 655232) <= 2 * _ADDRESSES
    assert abs(_temporaries(_any(448)) - 622432) <= 512


def test_parts_of_tuples_of_one_tile_are_fetched_at_once() -> None:
    """Means of rows and of their squares: of 1 KiB each they are copied into VMEM, larger ones are not."""

    def normalized(rows: int) -> str:
        held, column = f"tensor<16x{rows}x128xf32>", f"tensor<16x{rows}xf32>"
        cubes = _sharded("x", "", "")
        return f"""
        func.func @main(%x: {held} {cubes}, %w: tensor<128x128xf32>, %v: tensor<128x256xf32>)
            -> (tensor<16x{rows}x256xf32> {cubes}) {{
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
            : ({held}, tensor<128x128xf32>) -> {held}
          %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [2]
            : ({held}, tensor<f32>) -> {column}
          %square = stablehlo.multiply %y, %y : {held}
          %squares = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [2]
            : ({held}, tensor<f32>) -> {column}
          %both = stablehlo.add %sum, %squares : {column}
          %norm = stablehlo.rsqrt %both : {column}
          %norms = stablehlo.broadcast_in_dim %norm, dims = [0, 1] : ({column}) -> {held}
          %scaled = stablehlo.multiply %y, %norms : {held}
          %z = stablehlo.dot_general %scaled, %v, contracting_dims = [2] x [0]
            : ({held}, tensor<128x256xf32>) -> tensor<16x{rows}x256xf32>
          return %z : tensor<16x{rows}x256xf32>
        }}"""

    assert abs(_temporaries(normalized(64)) - 260000) <= 2 * _ADDRESSES
    assert abs(_temporaries(normalized(512)) - 1171360) <= 2 * _ADDRESSES


def _cumulated(shape: tuple[int, ...], dimension: int) -> str:
    """A program that adds up elements along a dimension."""
    type_, size = f"tensor<{'x'.join(map(str, shape))}xf32>", shape[dimension]
    along = [int(d == dimension) for d in range(len(shape))]
    windows = ", ".join(str(size if own else 1) for own in along)
    padding = ", ".join(f"[{(size - 1) * own}, 0]" for own in along)
    return f"""
    func.func @main(%x: {type_}) -> {type_} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %zero) <{{window_dimensions = array<i64: {windows}>,
        padding = dense<[{padding}]> : tensor<{len(shape)}x2xi64>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : ({type_}, tensor<f32>) -> {type_}
      return %0 : {type_}
    }}"""


@pytest.mark.parametrize(
    ("shape", "dimension", "allocated"),
    [
        ((1024, 512), 0, 49152),
        ((16, 256, 512), 1, 163840),
        ((1 << 18,), 0, 1130464),
        ((8, 1 << 15), 1, 1177504),
    ],
)
def test_sums_of_rows_are_made_in_their_order(shape: tuple[int, ...], dimension: int, allocated: int) -> None:
    """In VMEM, before they are copied into the result, whose memory has the windows, or a copy of rows.

    Their totals are of less than 64 KiB.
    """
    assert abs(_temporaries(_cumulated(shape, dimension)) - allocated) <= 128 << 10


@pytest.mark.parametrize(
    ("rows", "width", "size"),
    [(262_144, 2, 128), (327_680, 2, 0), (524_288, 64, 0), (524_296, 64, 256), (524_288, 100, 256)],
)
def test_a_table_is_put_into_rows_for_a_scatter_unless_that_pads_much(
    rows: int, width: int, size: int
) -> None:
    """In rows a table has 128 lanes, in columns its own: XLA puts it into columns from 128 MiB more on."""
    table, updates = f"tensor<{rows}x{width}xf32>", f"tensor<1024x{width}xf32>"
    text = f"""func.func @main(%t: {table}, %u: {updates}, %i: tensor<1024x1xi32>) -> {table} {{
      %0 = "stablehlo.scatter"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
          update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
          index_vector_dim = 1>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : ({table}, tensor<1024x1xi32>, {updates}) -> {table}
      return %0 : {table}
    }}"""
    assert round(_temporaries(text) / 2**20) == size
