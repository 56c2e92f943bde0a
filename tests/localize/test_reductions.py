"""Reductions along sharded dimensions by combiners for which sdy has no all-reduce, also of uneven parts."""

from __future__ import annotations

import pytest

from shardy_py import Options, Program, propagate
from shardy_py.run.proof import prove

ARGMAX = """
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %2 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }"""


def program(sizes: str, axes: str, body: str, result: str) -> str:
    sharding = f"{{sdy.sharding = #sdy.sharding<@mesh, [{axes}]>}}"
    return f"""sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<{sizes}xf32> {sharding}, %arg1: tensor<f32>)
    -> {result} {{
{body}
  return %0 : {result}
}}
"""


@pytest.mark.parametrize(
    ("sizes", "axes", "dimensions", "result"),
    [
        ("8x6", '{"x"}, {"y"}', "0", "tensor<6xf32>"),
        ("7x5", '{"x"}, {"y"}', "0", "tensor<5xf32>"),
        ("7x5", '{"x"}, {"y"}', "0, 1", "tensor<f32>"),
        ("11x3", '{"x", "y"}, {}', "0", "tensor<3xf32>"),
        ("2x3", '{"x"}, {"y"}', "0", "tensor<3xf32>"),  # parts without elements
    ],
)
def test_products(sizes: str, axes: str, dimensions: str, result: str) -> None:
    """The initial value counts once, parts without elements are one, and nothing is gathered."""
    body = (
        "  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.multiply"
        f" across dimensions = [{dimensions}] : (tensor<{sizes}xf32>, tensor<f32>) -> {result}"
    )
    options = Options(update_non_divisible_input_output_shardings=False)
    local = propagate(Program.parse(program(sizes, axes, body, result)), options).partition()
    assert local.communication().counts["all_reduce"] == 1
    assert prove(local.partitioned).is_equal
    assert not local.warnings


@pytest.mark.parametrize(("sizes", "axes"), [("8x6", '{"x"}, {"y"}'), ("11x5", '{"x", "y"}, {}')])
def test_any_combiner(sizes: str, axes: str) -> None:
    """The results of parts are gathered, not the operand, and reduced again."""
    columns = sizes.split("x")[1]
    body = f"""  %index = stablehlo.iota dim = 0 : tensor<{sizes}xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %best, %0 = stablehlo.reduce(%arg0 init: %low), (%index init: %zero) across dimensions = [0]
    : (tensor<{sizes}xf32>, tensor<{sizes}xi32>, tensor<f32>, tensor<i32>)
      -> (tensor<{columns}xf32>, tensor<{columns}xi32>){ARGMAX}"""
    options = Options(update_non_divisible_input_output_shardings=False)
    local = propagate(
        Program.parse(program(sizes, axes, body, f"tensor<{columns}xi32>")), options
    ).partition()
    assert prove(local.partitioned).is_equal
    assert f"tensor<{sizes}xf32>" not in local.text()


def test_sums_from_an_initial_value() -> None:
    """It is added once, after the all-reduce. The sums before it do not occur in the whole program."""
    body = (
        "  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0]"
        " : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>"
    )
    local = propagate(Program.parse(program("8x6", '{"x"}, {"y"}', body, "tensor<6xf32>"))).partition()
    answer = prove(local.partitioned)
    assert answer.is_equal, answer.fault
    assert "stablehlo.add" in local.text().split("all_reduce")[1]
