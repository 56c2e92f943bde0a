"""Ops that XLA recognizes together, from their text through our propagation, beside XLA."""

from __future__ import annotations

from functools import partial

import pytest

from tests.xla.spmd.compiled import partitioned
from tests.xla.spmd.hlo_programs import comparison_with, reported

MODULE = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
      -> (tensor<RESULTx16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    BODY
    return %r : tensor<RESULTx16xf32>
  }
}
"""


def wrapped(low: int, high: int) -> str:
    """A tensor padded with its own ends, as by `jnp.pad(..., mode="wrap")`."""
    size = 32 + low + high
    body = f"""
    %0 = stablehlo.slice %arg0 [{32 - low}:32, 0:16] : (tensor<32x16xf32>) -> tensor<{low}x16xf32>
    %1 = stablehlo.slice %arg0 [0:{high}, 0:16] : (tensor<32x16xf32>) -> tensor<{high}x16xf32>
    %r = stablehlo.concatenate %0, %arg0, %1, dim = 0
        : (tensor<{low}x16xf32>, tensor<32x16xf32>, tensor<{high}x16xf32>) -> tensor<{size}x16xf32>"""
    return MODULE.replace("BODY", body).replace("RESULT", str(size))


def slice_of_pad(low: int, high: int, start: int, limit: int) -> str:
    """A shift: a slice of a padded tensor."""
    size = 32 + low + high
    body = f"""
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %arg0, %c, low = [{low}, 0], high = [{high}, 0], interior = [0, 0]
        : (tensor<32x16xf32>, tensor<f32>) -> tensor<{size}x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{{"y"}}, {{}}]> : tensor<{size}x16xf32>
    %r = stablehlo.slice %1 [{start}:{limit}, 0:16] : (tensor<{size}x16xf32>) -> tensor<RESULTx16xf32>"""
    return MODULE.replace("BODY", body).replace("RESULT", str(limit - start))


@pytest.mark.parametrize(
    "texts",
    [
        [wrapped(2, 2), wrapped(1, 3), wrapped(8, 8), wrapped(12, 4)],
        [slice_of_pad(4, 0, 0, 32), slice_of_pad(1, 0, 0, 32), slice_of_pad(3, 5, 4, 36)],
    ],
    ids=["wrapped", "slice of pad"],
)
def test_patterns_are_planned_as_one(texts: list[str]) -> None:
    for text, xla in zip(texts, partitioned(texts, 8), strict=True):
        assert comparison_with(xla, partial(reported, text)) == "equal"
        assert set(reported(text)) == {"collective_permute"}
