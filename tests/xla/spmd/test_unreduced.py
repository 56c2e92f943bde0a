"""Products whose results stay unreduced, from their text through our propagation, beside XLA."""

from __future__ import annotations

from functools import partial

from tests.xla.spmd.compiled import partitioned
from tests.xla.spmd.hlo_programs import comparison_with, reported

PRODUCT = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{ROWS}, {SUMMED}]>},
                         %arg1: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{SUMMED}, {}]>})
      -> (tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [RESULT]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
        : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{ROWS}, {}], unreduced={SUMMED}> : tensor<64x256xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [RESULT]> : tensor<64x256xf32>
    return %2 : tensor<64x256xf32>
  }
}
"""
CASES = (
    ('"x"', '"y"', '{"x"}, {}'),
    ('"x"', '"y"', '{"x"}, {"y"}'),
    ('"x"', '"y"', '{"x", "y"}, {}'),
    ("", '"x", "y"', "{}, {}"),
    ("", '"x", "y"', '{"x"}, {"y"}'),
    ("", '"y"', '{"y"}, {}'),
)
"""The axes of rows and of the sum, and the sharding that the sum gets."""


def test_sums_are_sent_where_they_are_reduced() -> None:
    texts = [
        PRODUCT.replace("ROWS", rows).replace("SUMMED", summed).replace("RESULT", result)
        for rows, summed, result in CASES
    ]
    for text, xla in zip(texts, partitioned(texts, 8), strict=True):
        assert comparison_with(xla, partial(reported, text)) == "equal"
        assert sum(reported(text).values()) > 0
