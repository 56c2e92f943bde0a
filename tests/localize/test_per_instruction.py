"""Ops that are partitioned one by one, which are invalid on padded tensors."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes

CONVOLUTION = """sdy.mesh @mesh = <["z"=2]>
func.func @main(%a: tensor<3x8x6xf32>) -> tensor<3x8x12xf32> {
  %c = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"z"}, {}]>]>}
      dense<1.0> : tensor<12x1x1xf32>
  %0 = stablehlo.convolution(%a, %c) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {}
      {batch_group_count = 1, feature_group_count = 6 : i64}
      : (tensor<3x8x6xf32>, tensor<12x1x1xf32>) -> tensor<3x8x12xf32>
  return %0 : tensor<3x8x12xf32>
}
"""


@pytest.mark.filterwarnings("ignore")
def test_a_grouped_convolution_whose_kernel_would_be_padded() -> None:
    """One input feature a group is sharded in two."""
    module = run_passes(parse_module(CONVOLUTION), [pass_call("sdy-per-instruction-partitioning")])
    assert "stablehlo.all_gather" in print_module(module)
