"""Asynchronous ops whose parts take several ops run at their start; those of one op stay asynchronous."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

SHARDING = '#sdy.sharding<@mesh, [{"x"}, {"y"}]>'
PROGRAM = f"""sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = {SHARDING}}}) -> tensor<ROWSx4xf32> {{
  %0 = "stablehlo.async_start"(%a) ({{
  ^bb0(%b: tensor<8x4xf32>):
    BODY : (tensor<8x4xf32>) -> tensor<ROWSx4xf32>
    stablehlo.return %1 : tensor<ROWSx4xf32>
  }}) : (tensor<8x4xf32>) -> !stablehlo.future<tensor<ROWSx4xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<ROWSx4xf32>>) -> tensor<ROWSx4xf32>
  return %2 : tensor<ROWSx4xf32>
}}
"""
ALL_REDUCE = """%1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %e = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %e : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>}"""
SLICE = "%1 = stablehlo.slice %b [0:8:2, 0:4]"


@pytest.mark.parametrize(("body", "rows", "is_asynchronous"), [(ALL_REDUCE, 8, False), (SLICE, 4, True)])
@pytest.mark.filterwarnings("ignore")
def test_regions_hold_one_op(body: str, rows: int, is_asynchronous: bool) -> None:
    local = propagate(Program.parse(PROGRAM.replace("BODY", body).replace("ROWS", str(rows)))).partition()
    assert local.prove().is_equal
    assert ("async_start" in local.text()) is is_asynchronous
