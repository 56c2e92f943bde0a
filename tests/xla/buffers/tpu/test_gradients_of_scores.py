"""Gradients of scores of attention, as of rings that keep largest scores: what XLA:TPU allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_ROWS, _ALL = "tensor<4x2048xf32>", "tensor<4x2048x2048xf32>"
_GIVEN, _WIDE = "tensor<4x2048x128xbf16>", "tensor<4x2048x128xf32>"
_COUNTED = f"""
      %count = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [2]
        : ({_ALL}, tensor<f32>) -> {_ROWS}
      %h = stablehlo.divide %g, %count : {_ROWS}"""
_SCALED = f"""
      %h = stablehlo.multiply %g, %n : {_ROWS}"""


def _gradients(largest: str) -> str:
    """The gradients of queries and keys. largest: lines of the gradient of the largest scores, %h."""
    return f"""
    func.func @main(%q: {_GIVEN}, %k: {_GIVEN}, %d: {_GIVEN}, %v: {_GIVEN}, %r: {_ROWS}, %n: {_ROWS})
        -> ({_WIDE}, {_WIDE}, {_ROWS}) {{
      %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : ({_GIVEN}, {_GIVEN}) -> {_ALL}
      %m = stablehlo.reduce(%s init: %least) applies stablehlo.maximum across dimensions = [2]
        : ({_ALL}, tensor<f32>) -> {_ROWS}
      %ms = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({_ROWS}) -> {_ALL}
      %x = stablehlo.subtract %s, %ms : {_ALL}
      %e = stablehlo.exponential %x : {_ALL}
      %p = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : ({_GIVEN}, {_GIVEN}) -> tensor<4x2048x2048xbf16>
      %t = stablehlo.convert %p : (tensor<4x2048x2048xbf16>) -> {_ALL}
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1] : ({_ROWS}) -> {_ALL}
      %a = stablehlo.add %t, %rs : {_ALL}
      %u = stablehlo.multiply %a, %e : {_ALL}
      %g = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [2]
        : ({_ALL}, tensor<f32>) -> {_ROWS}
      %c = stablehlo.compare EQ, %s, %ms : ({_ALL}, {_ALL}) -> tensor<4x2048x2048xi1>
      %f = stablehlo.convert %c : (tensor<4x2048x2048xi1>) -> {_ALL}
      {largest}
      %hs = stablehlo.broadcast_in_dim %h, dims = [0, 1] : ({_ROWS}) -> {_ALL}
      %i = stablehlo.multiply %hs, %f : {_ALL}
      %w = stablehlo.add %u, %i : {_ALL}
      %wk = stablehlo.convert %k : ({_GIVEN}) -> {_WIDE}
      %wq = stablehlo.convert %q : ({_GIVEN}) -> {_WIDE}
      %o = stablehlo.dot_general %w, %wk, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : ({_ALL}, {_WIDE}) -> {_WIDE}
      %l = stablehlo.dot_general %w, %wq, batching_dims = [0] x [0], contracting_dims = [1] x [1]
        : ({_ALL}, {_WIDE}) -> {_WIDE}
      return %o, %l, %g : {_WIDE}, {_WIDE}, {_ROWS}
    }}"""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [(_gradients(_SCALED), 101_023_392), (_gradients(_COUNTED), 134_545_088)],
    ids=["scores are read in any case", "comparisons are stored"],
)
def test_what_readers_read_in_any_case_decides_what_a_product_makes(text: str, allocated: int) -> None:
    """The product alone in bf16, or what is made of it in f32."""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == pytest.approx(allocated, rel=0.03)
