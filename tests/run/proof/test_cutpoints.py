"""Exact proofs of programs that hide what is wrong: by a factor of zero, equal operands, rare indices."""

from __future__ import annotations

import pytest

from shardy_py.run.proof import Answer, ProofOptions, prove
from tests.run.proof.by_hand import partitioned_as_written

MESH = 'sdy.mesh @mesh = <["x"=4]>'


def proven(whole: str, local: str, shardings: dict[str, str]) -> Answer:
    """The proof of programs whose values of one name correspond."""
    return prove(partitioned_as_written(f"{MESH}\n{whole}", local, shardings), ProofOptions())


HIDING = {
    "a factor of zero": ("stablehlo.constant dense<0.0>", "stablehlo.multiply %r, %c"),
    "a quotient of equals": ("stablehlo.tanh %r", "stablehlo.divide %r, %r"),
    "a difference of equals": ("stablehlo.tanh %r", "stablehlo.subtract %r, %r"),
}
CHANGES = {
    "": "%r = stablehlo.sine %arg0 : tensor<8xf32>",
    "reversed": """%q = stablehlo.sine %arg0 : tensor<8xf32>
  %r = stablehlo.reverse %q, dims = [0] : tensor<8xf32>""",
    "rounded": """%p = stablehlo.sine %arg0 : tensor<8xf32>
  %q = stablehlo.convert %p : (tensor<8xf32>) -> tensor<8xf16>
  %r = stablehlo.convert %q : (tensor<8xf16>) -> tensor<8xf32>""",
}


def hiding(kind: str, change: str = "") -> str:
    other, last = HIDING[kind]
    return f"""func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
  {CHANGES[change]}
  %c = {other} : tensor<8xf32>
  %1 = {last} : tensor<8xf32>
  return %1 : tensor<8xf32>
}}"""


@pytest.mark.parametrize("change", ["reversed", "rounded"])
@pytest.mark.parametrize("kind", HIDING)
def test_what_real_numbers_hide_is_seen_by_nan(kind: str, change: str) -> None:
    """NaN and what overflows is not hidden by zero: 0 * NaN is NaN, and so is a quotient, or a difference."""
    constant = ("%c",) if "zero" in kind else ()
    shardings = dict.fromkeys(("%arg0", "%1", *constant), "[{}]")
    assert proven(hiding(kind), hiding(kind), shardings).is_equal
    fault = proven(hiding(kind), hiding(kind, change), shardings).fault
    assert fault is not None
    assert "nan" in (fault.expected, fault.got)


SCATTERED = """func.func @main(%arg0: tensor<4x2xi32>, %arg1: tensor<4xf32>,
                                      %arg2: tensor<4x2xi32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<32x32xf32>
  %0 = "stablehlo.scatter"(%c, %arg0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %z = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<32x32xf32>, tensor<4x2xi32>, tensor<4xf32>) -> tensor<32x32xf32>
  %1 = "stablehlo.gather"(%0, %arg2) <{dimension_numbers = #stablehlo.gather<
    collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>}> : (tensor<32x32xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
LIMITED = """%l = stablehlo.constant dense<0> : tensor<4x2xi32>
  %h = stablehlo.constant dense<31> : tensor<4x2xi32>
  %i = stablehlo.clamp %l, %arg2, %h : tensor<4x2xi32>
  %1 = """


def test_an_index_that_mostly_finds_zeros_is_seen() -> None:
    """A limit matters only where an index beyond it meets one of the few numbers that are not zero."""
    shardings = dict.fromkeys(("%arg0", "%arg2", "%c", "%0"), "[{}, {}]")
    shardings |= dict.fromkeys(("%arg1", "%1"), "[{}]")
    limited = SCATTERED.replace("%1 = ", LIMITED).replace("(%0, %arg2)", "(%0, %i)")
    assert proven(SCATTERED, limited, shardings).is_equal
    assert not proven(SCATTERED, limited.replace("dense<31>", "dense<30>"), shardings).is_equal


def test_what_no_input_shows_is_equal_and_said() -> None:
    """Any row of a constant of equal elements is the same: the index is right for no other operand."""
    whole = """func.func @main(%arg0: tensor<i32>) -> tensor<1x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.dynamic_slice %c, %arg0, %z, sizes = [1, 8] :
      (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}"""
    local = whole.replace("%c, %arg0", "%c, %z")
    shardings = {"%arg0": "[]", "%c": "[{}, {}]", "%1": "[{}, {}]"}
    assert "only" not in str(proven(whole, whole, shardings))
    answer = proven(whole, local, shardings)
    assert answer.is_equal
    assert "right for the operands that reached them only: %0 = stablehlo.dynamic_slice" in str(answer)


def test_values_of_functions_may_be_equal() -> None:
    """sin(x) is equal to tanh(x) at 0, and two functions that nothing is known of at some other numbers."""
    whole = """func.func @main(%arg0: tensor<256xf32>) -> tensor<256xi1> {
  %a = stablehlo.sine %arg0 : tensor<256xf32>
  %b = stablehlo.atan2 %a, %arg0 : tensor<256xf32>
  %1 = stablehlo.compare LT, %b, %a : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xi1>
  return %1 : tensor<256xi1>
}"""
    shardings = dict.fromkeys(("%arg0", "%a", "%b", "%1"), "[{}]")
    assert proven(whole, whole, shardings).is_equal
    assert not proven(whole, whole.replace("LT", "LE"), shardings).is_equal
