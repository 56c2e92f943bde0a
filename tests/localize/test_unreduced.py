"""Results that the program leaves unreduced along an axis that shards the operands."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

PROGRAM = """sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>})
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}], unreduced={"b"}>}) {
  %0 = "stablehlo.concatenate"(%x, %x) <{dimension = 0 : i64}>
    {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}], unreduced={"b"}>]>}
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
"""


@pytest.mark.parametrize("wanted", ['{"a"}', "{}"])
def test_axes_become_unreduced_after_the_op(wanted: str) -> None:
    result = propagate(Program.parse(PROGRAM.replace('{"a"}', wanted)))
    _ = [value.sharding for value in result.values]
    local = result.partition()
    assert local.prove().is_equal
    forecast = result.communication(partitioner="shardy")
    assert [use.kind for use in local.communication().sending] == [use.kind for use in forecast.sending]
