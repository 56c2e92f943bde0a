"""What XLA:GPU simplifies before it partitions, on a small program for each rule.

The figures are those of XLA:GPU and XLA:TPU for such programs, of jax 0.10.2.
"""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate

_MESH = 'sdy.mesh @mesh = <["x"=4]>'
_ROWS = 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>'
_COLUMNS = 'sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>'


def _shapes(text: str, target: str = "h100") -> list[tuple[str, tuple[int | None, ...], int]]:
    """Kind, shape before it on each device, and runs of each collective."""
    report = propagate(Program.parse(text), progress=False).communication(target=target)
    return [(use.kind, use.type.shape, use.times) for use in report.sending]


_TRANSPOSED = f"""
{_MESH}
func.func @main(%a: tensor<64x32xf32> {{{_COLUMNS}}}, %b: tensor<32x16xf32> {{{_ROWS}}})
    -> tensor<16x64xf32> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  USES
}}
"""


@pytest.mark.parametrize(
    ("target", "uses", "shape"),
    [
        ("h100", "return %1 : tensor<16x64xf32>", (16, 64)),
        ("tpu-v5p", "return %1 : tensor<16x64xf32>", (16, 64)),
        (
            "h100",
            "%2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>\n"
            "  %3 = stablehlo.add %1, %2 : tensor<16x64xf32>\n  return %3 : tensor<16x64xf32>",
            (64, 16),
        ),
    ],
)
def test_a_product_that_only_a_transposition_uses_is_made_transposed(
    target: str, uses: str, shape: tuple[int, int]
) -> None:
    assert _shapes(_TRANSPOSED.replace("USES", uses), target)[0] == ("all_reduce", shape, 1)


_TWICE = f"""
{_MESH}
func.func @main(%a: tensor<8x16x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}, {{}}]>}})
    -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<16x32xf32>) -> tensor<16x1x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.OP across dimensions = [0, 1, 2]
      : (tensor<16x1x32xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}}
"""


@pytest.mark.parametrize(("op", "shape"), [("add", ()), ("maximum", (16, 32))])
def test_a_sum_of_sums_is_one(op: str, shape: tuple[int, ...]) -> None:
    assert _shapes(_TWICE.replace("OP", op)) == [("all_reduce", shape, 1)]


_SELECTED = f"""
{_MESH}
func.func @main(%a: tensor<64x32xTYPE> {{{_ROWS}}}) -> (tensor<64x4xTYPE>, tensor<64x4xi32>) {{
  %0, %1 = chlo.top_k(%a, k = 4) : tensor<64x32xTYPE> -> (tensor<64x4xTYPE>, tensor<64x4xi32>)
  return %0, %1 : tensor<64x4xTYPE>, tensor<64x4xi32>
}}
"""


@pytest.mark.parametrize(("target", "columns"), [("h100", 32), ("tpu-v5e", 512)])
def test_what_is_selected_is_gathered(target: str, columns: int) -> None:
    text = _SELECTED.replace("TYPE", "f32").replace("64x32x", f"64x{columns}x")
    assert _shapes(text, target) == [("all_gather", (16, 4), 1)]


def test_integers_are_sorted_where_their_rows_are() -> None:
    """Unlike on the host, the selection is a sort before shardings are propagated."""
    text = _SELECTED.replace("TYPE", "i32")
    assert _shapes(text) == []
    assert _shapes(text, "cpu")


_SAME_SUMS = f"""
{_MESH}
func.func @main(%a: tensor<8x16xf32> {{{_ROWS}}}) -> (tensor<16xf32>, tensor<16xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %2 = stablehlo.tanh %0 : tensor<16xf32>
  %3 = stablehlo.cosine %1 : tensor<16xf32>
  return %2, %3 : tensor<16xf32>, tensor<16xf32>
}}
"""


def test_equal_sums_are_sent_twice() -> None:
    report = propagate(Program.parse(_SAME_SUMS), progress=False).communication(target="h100")
    assert [(use.kind, use.held_bytes, len(use.before)) for use in report.sending] == [("all_reduce", 128, 2)]


_STACKED_SUM = f"""
{_MESH}
func.func @main(%w: tensor<3x64x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}, {{}}]>}})
    -> tensor<3x16xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<3x16xf32>
  %0:3 = stablehlo.while(%i = %zero, %sum = %none, %v = %w)
      : tensor<i32>, tensor<3x16xf32>, tensor<3x64x16xf32>
  cond {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %start = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, 64, 16]
        : (tensor<3x64x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x64x16xf32>) -> tensor<64x16xf32>
    %4 = stablehlo.reduce(%3 init: %start) applies stablehlo.add across dimensions = [0]
        : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.cosine %3 : tensor<64x16xf32>
    %6 = stablehlo.reduce(%5 init: %start) applies stablehlo.add across dimensions = [0]
        : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
    %7 = ADDED
    %8 = stablehlo.reshape %7 : (tensor<16xf32>) -> tensor<1x16xf32>
    %9 = stablehlo.dynamic_update_slice %sum, %8, %i, %zero
        : (tensor<3x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<3x16xf32>
    %10 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %10, %9, %v : tensor<i32>, tensor<3x16xf32>, tensor<3x64x16xf32>
  }}
  return %0#1 : tensor<3x16xf32>
}}
"""


def test_a_sum_of_two_is_added_up_before_it_leaves_a_loop() -> None:
    text = _STACKED_SUM.replace("ADDED", "stablehlo.add %4, %6 : tensor<16xf32>")
    assert [use[1:] for use in _shapes(text)] == [((3, 16), 1)]
