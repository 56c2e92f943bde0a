"""What XLA's backend for the host simplifies before it fuses: transposes, equal ops, sums of a library."""

from __future__ import annotations

import pytest

from tests.report.memory.allocated import estimate

KIB = 1024


def temporaries(body: str, arguments: str, result: str, sharding: str = "") -> int:
    """The bytes of temporaries of a function with this body, which returns %r."""
    text = f"func.func @main({arguments}) -> ({result} {sharding}) {{\n{body}\nreturn %r : {result}\n}}"
    return estimate(f'sdy.mesh @mesh = <["x"=8]>\n{text}').temporaries


@pytest.mark.parametrize(
    ("permutation", "stored"),
    [("[0, 2, 1]", 0), ("[1, 0, 2]", 8 * 32 * 32 * 4)],  # rows and columns; batches, which stay
)
def test_products_read_through_transposes_of_rows_and_columns(permutation: str, stored: int) -> None:
    given = "8x32x32" if permutation == "[0, 2, 1]" else "32x8x32"
    body = f"""
      %t = stablehlo.transpose %a, dims = {permutation} : (tensor<{given}xf32>) -> tensor<8x32x32xf32>
      %r = stablehlo.dot_general %b, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<8x32x32xf32>, tensor<8x32x32xf32>) -> tensor<8x32x32xf32>
    """
    arguments = f"%a: tensor<{given}xf32>, %b: tensor<8x32x32xf32>"
    assert temporaries(body, arguments, "tensor<8x32x32xf32>") == stored


def test_the_transpose_of_a_product_is_a_product() -> None:
    body = """
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
      %r = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    """
    assert temporaries(body, "%a: tensor<64x16xf32>, %b: tensor<16x32xf32>", "tensor<32x64xf32>") == 0


def _sort(source: str, made: str) -> str:
    return f"""
      %{made} = "stablehlo.sort"(%{source}) <{{dimension = 0 : i64}}> ({{
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
      }}) : (tensor<1024xf32>) -> tensor<1024xf32>
    """


@pytest.mark.parametrize(
    ("between", "count"), [("", 1), ("%d = stablehlo.optimization_barrier %a : tensor<1024xf32>", 2)]
)
def test_equal_ops_are_one_but_behind_a_barrier(between: str, count: int) -> None:
    second = "d" if between else "a"
    body = f"""
      {between}
      {_sort("a", "0")}
      {_sort(second, "1")}
      %r = stablehlo.dot_general %0, %1, contracting_dims = [] x []
        : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024x1024xf32>
    """
    assert temporaries(body, "%a: tensor<1024xf32>", "tensor<1024x1024xf32>") == count * 4 * KIB


def test_a_sum_of_the_library_takes_in_the_product_that_it_sums() -> None:
    body = """
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
      %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<128x64xf32>, tensor<f32>) -> tensor<128xf32>
    """
    assert temporaries(body, "%a: tensor<128x64xf32>, %b: tensor<64x64xf32>", "tensor<128xf32>") == 0


def test_parts_of_a_concatenation_are_reduced_one_by_one() -> None:
    body = """
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.concatenate %a, %b, dim = 0
        : (tensor<8x256xf32>, tensor<8x256xf32>) -> tensor<16x256xf32>
      %r = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<16x256xf32>, tensor<f32>) -> tensor<256xf32>
    """
    assert temporaries(body, "%a: tensor<8x256xf32>, %b: tensor<8x256xf32>", "tensor<256xf32>") <= KIB


def test_windows_that_reach_far_read_an_operand_that_is_gathered_and_padded() -> None:
    sharded = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
    body = """
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.reduce_window"(%a, %z) <{
          window_dimensions = array<i64: 512, 1>, padding = dense<[[511, 0], [0, 0]]> : tensor<2x2xi64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.maximum %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) : (tensor<512x64xf32>, tensor<f32>) -> tensor<512x64xf32>
    """
    found = temporaries(body, f"%a: tensor<512x64xf32> {sharded}", "tensor<512x64xf32>", sharded)
    assert found == (512 + 64 + 511) * 64 * 4
