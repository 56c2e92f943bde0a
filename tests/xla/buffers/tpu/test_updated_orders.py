"""What loops update along a dimension, and what they stack, as XLA:TPU allocates it on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=8]>\n'
_NEAR = 64 << 10
"""The bytes of the counters of loops and of addresses of tuples."""


def _temporaries(text: str) -> int:
    result = propagate(Program.parse(_MESH + text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


_CACHE, _NEW = "tensor<8x256x512xf32>", "tensor<8x512xf32>"


def _cache(made: str) -> str:
    """A loop that writes rows into a cache, at its dimension 1, and adds what `made` computes of it."""
    return f"""
    func.func @main(%x: {_NEW}, %given: {_CACHE} {{tf.aliasing_output = 1 : i32}}) -> ({_NEW}, {_CACHE}) {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %steps = stablehlo.constant dense<16> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %0:3 = stablehlo.while(%i = %zero, %h = %x, %c = %given) : tensor<i32>, {_NEW}, {_CACHE}
      cond {{
        %2 = stablehlo.compare LT, %i, %steps : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }} do {{
        %2 = stablehlo.tanh %h : {_NEW}
        %3 = stablehlo.reshape %2 : ({_NEW}) -> tensor<8x1x512xf32>
        %4 = stablehlo.dynamic_update_slice %c, %3, %zero, %i, %zero
          : ({_CACHE}, tensor<8x1x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {_CACHE}
        {made}
        %6 = stablehlo.add %2, %5 : {_NEW}
        %7 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %7, %6, %4 : tensor<i32>, {_NEW}, {_CACHE}
      }}
      return %0#1, %0#2 : {_NEW}, {_CACHE}
    }}"""


_SUMMED = f"""
        %5 = stablehlo.reduce(%4 init: %none) applies stablehlo.add across dimensions = [1]
          : ({_CACHE}, tensor<f32>) -> {_NEW}"""


def test_an_argument_is_copied_into_the_order_in_which_a_loop_updates_it() -> None:
    """The part has 8x512 in tiles, the argument 256x512: both ends of the loop are copies, in one memory."""
    assert abs(_temporaries(_cache(_SUMMED)) - (4 << 20)) <= 3 * _NEAR


def test_products_of_matrices_keep_the_order_of_what_a_loop_updates() -> None:
    product = f"""
        %q = stablehlo.broadcast_in_dim %2, dims = [0, 2] : ({_NEW}) -> tensor<8x4x512xf32>
        %s = stablehlo.dot_general %q, %4, batching_dims = [0] x [0], contracting_dims = [2] x [2]
          : (tensor<8x4x512xf32>, {_CACHE}) -> tensor<8x4x256xf32>
        %t = stablehlo.reduce(%s init: %none) applies stablehlo.add across dimensions = [1, 2]
          : (tensor<8x4x256xf32>, tensor<f32>) -> tensor<8xf32>
        %5 = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<8xf32>) -> {_NEW}"""
    assert _temporaries(_cache(product)) < 1 << 20


def _stacked(shape: str, part: str, row: str, indices: str) -> str:
    """A loop that stacks its 4096 values."""
    return f"""
    func.func @main(%x: {row}) -> {shape} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %steps = stablehlo.constant dense<4096> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : tensor<f32>
      %start = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> {shape}
      %0:3 = stablehlo.while(%i = %zero, %h = %x, %c = %start) : tensor<i32>, {row}, {shape}
      cond {{
        %2 = stablehlo.compare LT, %i, %steps : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      }} do {{
        %2 = stablehlo.sine %h : {row}
        %3 = stablehlo.reshape %2 : ({row}) -> {part}
        %4 = stablehlo.dynamic_update_slice %c, %3, %i{indices}
          : ({shape}, {part}, tensor<i32>{", tensor<i32>" * indices.count("%")}) -> {shape}
        %5 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %5, %2, %4 : tensor<i32>, {row}, {shape}
      }}
      return %0#2 : {shape}
    }}"""


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (_stacked("tensor<4096x4xf32>", "tensor<1x4xf32>", "tensor<4xf32>", ", %zero"), 2 << 20),
        (_stacked("tensor<4096x4x8xf32>", "tensor<1x4x8xf32>", "tensor<4x8xf32>", ", %zero, %zero"), 8 << 20),
    ],
    ids=["vectors", "matrices"],
)
def test_stacked_values_are_one_behind_the_other(text: str, size: int) -> None:
    """Tiles of 8x128 for eight vectors, of 4x128 for each matrix; the result has 4096 in lanes."""
    assert abs(_temporaries(text) - size) <= 3 * _NEAR
