"""Zeros of both signs are one value to the ops of both programs."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.run.proof import prove
from shardy_py.run.proof.zero_signs import drop_zero_signs

# One device has -0.0, the others 0.0: their sum is 0.0.
TERMS = '{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>}'
PROGRAM = f"""sdy.mesh @mesh = <["x"=2]>
func.func @main() -> tensor<4xRESULT> {{
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %1 = stablehlo.negate %0 {TERMS} : tensor<4xf32>
  %2 = stablehlo.add %1, %1 {TERMS} : tensor<4xf32>
  %3 = sdy.reshard %2 <@mesh, [{{}}]> : tensor<4xf32>
  %4 = OP : (tensor<4xf32>) -> tensor<4xRESULT>
  return %4 : tensor<4xRESULT>
}}"""


@pytest.mark.parametrize(
    ("op", "result"), [("stablehlo.rsqrt %3", "f32"), ("stablehlo.bitcast_convert %3", "i32")]
)
def test_reciprocals_and_bits_of_zeros_are_equal(op: str, result: str) -> None:
    text = PROGRAM.replace("OP", op).replace("RESULT", result)
    prove(propagate(Program.parse(text)).partition().partitioned).check()


def test_only_ops_that_tell_zeros_apart_change() -> None:
    module = parse_module(
        """func.func @main(%a: tensor<2xf64>, %c: tensor<2xcomplex<f64>>, %i: tensor<2xi32>) {
      %0 = stablehlo.sine %a : tensor<2xf64>
      %1 = stablehlo.divide %a, %0 : tensor<2xf64>
      %2 = stablehlo.divide %i, %i : tensor<2xi32>
      %3 = stablehlo.log %c : tensor<2xcomplex<f64>>
      return
    }"""
    )
    drop_zero_signs(module)
    text = print_module(module)
    assert text.count("stablehlo.add") == 3
    assert "stablehlo.divide %arg2, %arg2" in text
    assert "stablehlo.sine %arg0" in text


def test_floats_are_rounded_before_they_become_integers() -> None:
    module = parse_module(
        """func.func @main(%a: tensor<2xf64>, %i: tensor<2xi32>) {
      %0 = stablehlo.convert %a : (tensor<2xf64>) -> tensor<2xi64>
      %1 = stablehlo.convert %a : (tensor<2xf64>) -> tensor<2xf32>
      %2 = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xi64>
      return
    }"""
    )
    drop_zero_signs(module)
    text = print_module(module)
    assert text.count("stablehlo.reduce_precision") == 1
    assert "format = e11m23" in text


def test_all_nans_have_the_same_bits() -> None:
    module = parse_module(
        """func.func @main(%a: tensor<2xf64>) {
      %0 = stablehlo.bitcast_convert %a : (tensor<2xf64>) -> tensor<2xi64>
      return
    }"""
    )
    drop_zero_signs(module)
    assert print_module(module).count("stablehlo.select") == 1
