"""Values of bf16 on the host, beside what XLA of jax 0.10.2, 0.11.2 and 0.12.0 allocates for them."""

from __future__ import annotations

import pytest

from shardy_py.api import Program, propagate
from shardy_py.base import releases

OLD, NEW = releases.JAX_0_10, releases.JAX_0_11
EACH = pytest.mark.parametrize("release", [OLD, NEW, releases.JAX_0_12], ids=lambda each: each.name)


def temporaries(text: str, release: releases.Release) -> int:
    """The bytes of temporaries on the host."""
    with releases.of(release):
        return (
            propagate(Program.parse(text, as_compiled=True), progress=False)
            .memory(partitioner="xla")
            .estimate.temporaries
        )


@EACH
def test_a_product_that_is_rewritten_stays_narrow_since_jax_0_11(release: releases.Release) -> None:
    """The second operand is copied for the product, so that XLA would transpose the first one at first."""
    text = """
    func.func @main(%p: tensor<4x16x512x128xbf16>, %d: tensor<4x512x16x64xbf16>)
        -> tensor<4x16x128x64xbf16> {
      %0 = stablehlo.dot_general %p, %d, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1]
        : (tensor<4x16x512x128xbf16>, tensor<4x512x16x64xbf16>) -> tensor<4x16x128x64xbf16>
      return %0 : tensor<4x16x128x64xbf16>
    }"""
    assert temporaries(text, release) == (27_262_976 if release is OLD else 4_194_304)


@pytest.mark.parametrize(
    ("x", "order", "made", "size"),
    [
        ("4x512x16x8", (2, 0, 3, 1), "16x4x8x512", 524_288),
        ("32x512x16", (2, 0, 1), "16x32x512", 3_276_800),
    ],
)
def test_a_transposed_operand_is_in_order_once_it_is_reshaped(
    x: str, order: tuple[int, ...], made: str, size: int
) -> None:
    """With two free dimensions XLA reshapes it for the product; with one the product is of f32."""
    whole, last = f"{made.rpartition('x')[0]}x64", len(order) - 1
    text = f"""
    func.func @main(%x: tensor<{x}xbf16>, %y: tensor<16x512x64xbf16>) -> tensor<{whole}xbf16> {{
      %0 = stablehlo.transpose %x, dims = {[*order]} : (tensor<{x}xbf16>) -> tensor<{made}xbf16>
      %1 = stablehlo.dot_general %0, %y, batching_dims = [0] x [0], contracting_dims = [{last}] x [1]
        : (tensor<{made}xbf16>, tensor<16x512x64xbf16>) -> tensor<{whole}xbf16>
      return %1 : tensor<{whole}xbf16>
    }}"""
    assert temporaries(text, releases.JAX_0_12) == size


@EACH
def test_layers_that_a_loop_slices_stay_narrow_since_jax_0_11(release: releases.Release) -> None:
    text = """
    func.func @main(%x: tensor<64x256xbf16>, %w: tensor<4x256x256xbf16>) -> tensor<64x256xbf16> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:3 = stablehlo.while(%v = %w, %i = %zero, %c = %x)
          : tensor<4x256x256xbf16>, tensor<i32>, tensor<64x256xbf16>
        cond {
          %n = stablehlo.constant dense<4> : tensor<i32>
          %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %1 = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 256, 256]
            : (tensor<4x256x256xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x256xbf16>
          %2 = stablehlo.reshape %1 : (tensor<1x256x256xbf16>) -> tensor<256x256xbf16>
          %3 = stablehlo.dot_general %c, %2, contracting_dims = [1] x [0]
            : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xbf16>
          %4 = stablehlo.tanh %3 : tensor<64x256xbf16>
          %5 = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %v, %5, %4 : tensor<4x256x256xbf16>, tensor<i32>, tensor<64x256xbf16>
        }
      return %0#2 : tensor<64x256xbf16>
    }"""
    layers = 4 * 256 * 256 * 4
    found = temporaries(text, release)
    assert (found >= layers) == (release is OLD)


@EACH
def test_what_is_gathered_once_is_read_by_all_products(release: releases.Release) -> None:
    """The weights of a layer, for its product and for that of its gradient."""
    text = """
    sdy.mesh @mesh = <["x"=8]>
    func.func @main(
        %x: tensor<64x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        %y: tensor<64x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        %w: tensor<1024x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
        -> (tensor<64x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
            tensor<64x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<64x1024xbf16>, tensor<1024x2048xbf16>) -> tensor<64x2048xbf16>
      %1 = stablehlo.tanh %y : tensor<64x2048xbf16>
      %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [1]
        : (tensor<64x2048xbf16>, tensor<1024x2048xbf16>) -> tensor<64x1024xbf16>
      return %0, %2 : tensor<64x2048xbf16>, tensor<64x1024xbf16>
    }"""
    assert temporaries(text, release) == (9_502_720 if release is OLD else 12_615_680)


@pytest.mark.parametrize(("held_back", "size"), [(True, 327_684), (False, 524_292)])
def test_nothing_behind_a_barrier_leaves_a_loop(held_back: bool, size: int) -> None:
    """XLA has 84 bytes more, of numbers. The weights are of f32 in each iteration, or before the loop."""
    barrier = """%v, %d = stablehlo.optimization_barrier %w1, %c : tensor<256x256xbf16>, tensor<64x256xf32>"""
    weights, carried = ("%v", "%d") if held_back else ("%w1", "%c")
    sort = """{{dimension = {0} : i64}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) : (tensor<256x256xf32>) -> tensor<256x256xf32>"""
    text = f"""
    func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xbf16>) -> tensor<64x256xf32> {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %0:3 = stablehlo.while(%w1 = %w, %i = %zero, %c = %x)
          : tensor<256x256xbf16>, tensor<i32>, tensor<64x256xf32>
        cond {{
          %n = stablehlo.constant dense<5> : tensor<i32>
          %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          {barrier if held_back else ""}
          %2 = stablehlo.convert {weights} : (tensor<256x256xbf16>) -> tensor<256x256xf32>
          %3 = stablehlo.dot_general {carried}, %2, contracting_dims = [1] x [0]
            : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
          %4 = stablehlo.tanh %3 : tensor<64x256xf32>
          %5 = stablehlo.slice %4 [0:1, 0:256] : (tensor<64x256xf32>) -> tensor<1x256xf32>
          %6 = stablehlo.reshape %5 : (tensor<1x256xf32>) -> tensor<256xf32>
          %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
          %8 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<256xf32>) -> tensor<256x256xf32>
          %9 = stablehlo.multiply %7, %8 : tensor<256x256xf32>
          %10 = "stablehlo.sort"(%9) <{sort.format(0)}
          %11 = "stablehlo.sort"(%10) <{sort.format(1)}
          %12 = stablehlo.slice %11 [0:64, 0:256] : (tensor<256x256xf32>) -> tensor<64x256xf32>
          %13 = stablehlo.add %4, %12 : tensor<64x256xf32>
          %14 = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %w1, %14, %13 : tensor<256x256xbf16>, tensor<i32>, tensor<64x256xf32>
        }}
      return %0#2 : tensor<64x256xf32>
    }}"""
    assert temporaries(text, NEW) == size
