"""Plans of programs: HLO before XLA's partitioner, held against HLO after it."""

from __future__ import annotations

import pytest

from shardy_py.xla.spmd.model import CollectivePlan
from tests.xla.spmd.compiled import Hlo, partitioned
from tests.xla.spmd.hlo_programs import planned

HEAD = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
  %a: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
  %b: tensor<128x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
  %c: tensor<128x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}
)"""
MATMUL = "contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>"
_LOOP = """
  %{name}:2 = stablehlo.while(%j = %i, %sum = {start}) : tensor<i32>, tensor<64x32xf32>
    cond {{
      %less = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }} do {{
      %p = stablehlo.dot_general %a, %c, {product}
      %q = stablehlo.add %sum, %p : tensor<64x32xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %q : tensor<i32>, tensor<64x32xf32>
    }}"""
PROGRAMS = {
    "one gather for two products": f"""{HEAD} -> (tensor<64x32xf32>, tensor<64x32xf32>) {{
  %0 = stablehlo.dot_general %a, %c, {MATMUL}
  %1 = stablehlo.tanh %a : tensor<64x128xf32>
  %2 = stablehlo.dot_general %1, %c, {MATMUL}
  return %0, %2 : tensor<64x32xf32>, tensor<64x32xf32>
}}""",
    "sums of rows": f"""{HEAD} -> (tensor<64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}]>}}, tensor<32xf32>) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, {MATMUL}
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %1, %2 : tensor<64xf32>, tensor<32xf32>
}}""",  # noqa: E501
    "a loop": f"""{HEAD} -> tensor<128x32xf32> {{
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%j = %i, %w = %c) : tensor<i32>, tensor<128x32xf32>
    cond {{
      %less = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }} do {{
      %p = stablehlo.dot_general %w, %b, contracting_dims = [1] x [1] : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x128xf32>
      %q = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x32xf32>) -> tensor<128x32xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %q : tensor<i32>, tensor<128x32xf32>
    }}
  return %0#1 : tensor<128x32xf32>
}}""",  # noqa: E501
    "a weight that is gathered in each of two loops": f"""{HEAD} -> tensor<64x32xf32> {{
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<64x32xf32>
  {_LOOP.format(name="first", start="%z", product=MATMUL)}
  {_LOOP.format(name="second", start="%first#1", product=MATMUL)}
  return %second#1 : tensor<64x32xf32>
}}""",
    "rows of a table, and their updates": """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
  %t: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
  %i: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}
) -> (tensor<16x8xf32>, tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : (tensor<64x8xf32>, tensor<16x1xi32>) -> tensor<16x8xf32>
  %1 = stablehlo.tanh %0 : tensor<16x8xf32>
  %2 = "stablehlo.scatter"(%t, %i, %1) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<64x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<64x8xf32>
  return %0, %2 : tensor<16x8xf32>, tensor<64x8xf32>
}""",  # noqa: E501
}
"""By what they show."""


@pytest.fixture(scope="module")
def compiled() -> dict[str, tuple[str, str]]:
    """By program, HLO before and after the partitioner."""
    found = partitioned(list(PROGRAMS.values()))
    return {name: (each.before, each.after) for name, each in zip(PROGRAMS, found, strict=True)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_send_what_xla_sends(compiled: dict[str, tuple[str, str]], name: str) -> None:
    before, after = compiled[name]
    theirs = CollectivePlan(tuple(Hlo(after).collectives()))
    assert planned(before, 8).plan.bytes_by_kind == theirs.bytes_by_kind != {}
