"""Values of f32 that XLA:TPU stores in bf16, as only their own fusion reads them exactly."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_ROWS, _SQUARE, _NARROW = "tensor<2048x2048xf32>", "tensor<2048x2048xf32>", "tensor<2048x256xf32>"


def _text(precision: str, made: str, lines: str = "") -> str:
    """A hidden layer that sums of its activations and a product read; `made` is what the product reads."""
    return f"""
    func.func @main(%x: {_ROWS}, %w: {_SQUARE}, %b: {_ROWS}, %v: {_NARROW})
        -> (tensor<2048xf32>, {_NARROW}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({_ROWS}, {_SQUARE}) -> {_ROWS}
      {lines}
      %1 = stablehlo.tanh {made} : {_ROWS}
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
        : ({_ROWS}, tensor<f32>) -> tensor<2048xf32>
      %3 = stablehlo.dot_general {made}, %v, contracting_dims = [1] x [0]{precision}
        : ({_ROWS}, {_NARROW}) -> {_NARROW}
      return %2, %3 : tensor<2048xf32>, {_NARROW}
    }}"""


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        (_text("", "%0"), 8_486_816),
        (_text("", "%s", f"%s = stablehlo.add %0, %b : {_ROWS}"), 8_486_816),
        (_text(", precision = [HIGHEST, HIGHEST]", "%0"), 16_875_424),
    ],
    ids=["product", "biased", "exact"],
)
def test_only_readers_in_other_fusions_count(text: str, allocated: int) -> None:
    """The sum is computed with the product, of f32; the other product reads bf16 in any case."""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    assert result.memory("tpu-v5p").estimate.temporaries == pytest.approx(allocated, rel=0.02)
