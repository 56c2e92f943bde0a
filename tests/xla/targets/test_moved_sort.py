"""Sorts along a sharded dimension: shards are moved, so that devices hold tensors of more dimensions."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

SORT = """sdy.mesh @mesh = <["a"=2, "b"=4, "c"=4]>
func.func public @main(%x: tensor<8x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}, {}]>})
    -> (tensor<8x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {"c"}]>}) {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8x8x16xf32>) -> tensor<8x8x16xf32>
  return %0 : tensor<8x8x16xf32>
}"""


@pytest.mark.parametrize("as_compiled", [True, False])
def test_kernels_of_a_gpu_are_of_the_shards_that_a_sort_moves(as_compiled: bool) -> None:
    result = propagate(Program.parse(SORT, as_compiled=as_compiled), progress=False)
    report = result.communication(target="h100")
    assert [use.kind for use in report.sending] == ["all_gather", "all_to_all"]
    assert result.memory("h100").memory_bytes
