"""Slices of products on TPUs: products make them alone, as the pass convolution-folding of XLA:TPU has it.

The bytes are those that XLA:TPU (v5p) allocates for temporaries of these programs, of jax 0.10.2.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_PRODUCT = """
  %p = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0]
    : (tensor<8x256x256xf32>, tensor<256x2048xf32>) -> tensor<8x256x2048xf32>"""
_ADDED = """
  %q = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<2048xf32>) -> tensor<8x256x2048xf32>
  %s = stablehlo.add %p, %q : tensor<8x256x2048xf32>"""
_CASES = {
    "all rows but some": (_PRODUCT, "p", "0:8, 0:248, 0:2048", "8x248x2048", 0),
    "the last row": (_PRODUCT, "p", "0:8, 255:256, 0:2048", "8x1x2048", 0),
    "half of the columns": (_PRODUCT, "p", "0:8, 0:256, 0:1024", "8x256x1024", 0),
    "of every second row all are made": (_PRODUCT, "p", "0:8, 0:256:2, 0:2048", "8x128x2048", 8421344),
    "of a sum all is made": (_PRODUCT + _ADDED, "s", "0:8, 0:248, 0:2048", "8x248x2048", 8421344),
}


@pytest.mark.parametrize("case", _CASES)
def test_a_slice_of_a_product_is_made_alone(case: str) -> None:
    """A product stores the elements that are used, and no more."""
    body, value, bounds, made, expected = _CASES[case]
    text = f"""
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x256x256xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}},
    %b: tensor<256x2048xf32>, %c: tensor<2048xf32>) -> tensor<{made}xf32> {{{body}
  %r = stablehlo.slice %{value} [{bounds}] : (tensor<8x256x2048xf32>) -> tensor<{made}xf32>
  %e = stablehlo.exponential %r : tensor<{made}xf32>
  return %e : tensor<{made}xf32>
}}"""
    result = propagate(Program.parse(text, as_compiled=False), progress=False)
    found = result.memory("tpu-v5p").estimate.temporaries
    assert abs(found - expected) < 0.02 * 8421344
