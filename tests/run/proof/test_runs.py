"""The runs of exact proofs: each is to show what few inputs show, with any seed."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.run.proof import ProofOptions, prove
from shardy_py.run.proof.exact_runs import RunKind, rounds_of, turned
from tests.run.proof.by_hand import partitioned_by_hand

MESH = 'sdy.mesh @mesh = <["x"=4]>'
SEEDS = range(4)


def verdicts(whole: str, local: str) -> set[bool]:
    """Whether the programs are proven equal, by proofs with several seeds."""
    made = partitioned_by_hand(f"{MESH}\n{whole}", local, {})
    return {prove(made, ProofOptions(seed=seed)).is_equal for seed in SEEDS}


KEYS = """func.func @main(%arg0: tensor<2x2xf32>) -> tensor<2x2xi32> {
  %k = stablehlo.convert %arg0 : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %i = stablehlo.iota dim = 1 : tensor<2x2xi32>
  %s:2 = "stablehlo.sort"(%k, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>, %c: tensor<i32>, %d: tensor<i32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<2x2xi8>, tensor<2x2xi32>) -> (tensor<2x2xi8>, tensor<2x2xi32>)
  return %s#1 : tensor<2x2xi32>
}"""


def test_integers_that_floats_become_are_equal_in_some_runs() -> None:
    assert verdicts(KEYS, KEYS) == {True}
    assert verdicts(KEYS, KEYS.replace("LT", "LE")) == {False}


COMPARED = """func.func @main(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i1> {
  %l = stablehlo.compare LT, %arg0, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %l : tensor<i1>
}"""


def test_single_integers_are_equal_in_some_runs() -> None:
    assert verdicts(COMPARED, COMPARED.replace("LT", "LE")) == {False}


BRANCHES = """func.func @main(%arg0: tensor<i32>, %arg1: tensor<16xf32>) -> tensor<f32> {
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.case"(%arg0) ({
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.constant dense<2.0> : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.reduce(%arg1 init: %n) applies stablehlo.maximum across dimensions = [0] :
        (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""


def test_each_branch_runs_in_each_order_of_residues() -> None:
    """A maximum that begins with 1 is wrong in that order only in which nearly all residues are below."""
    assert verdicts(BRANCHES, BRANCHES) == {True}
    assert verdicts(BRANCHES, BRANCHES.replace("0xFF800000", "1.0")) == {False}


def test_runs_are_turned_with_their_integers() -> None:
    kinds = (RunKind("middle"), RunKind("lowest"))
    again = [(kind.order, kind.turn, kind.place) for kind in turned(kinds, 5, 3)]
    assert again == [("middle", 1, 5), ("lowest", 1, 6), ("middle", 2, 5), ("lowest", 2, 6)]
    assert turned(kinds, 0, 0) == turned(kinds, 0, 1) == ()


FILLED = """func.func @main(%arg0: tensor<24xi32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0> : tensor<24xi32>
  %m = stablehlo.constant dense<6> : tensor<24xi32>
  %0 = stablehlo.compare LT, %arg0, %m : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  %1 = stablehlo.compare GE, %arg0, %z : (tensor<24xi32>, tensor<24xi32>) -> tensor<24xi1>
  %2 = stablehlo.and %0, %1 : tensor<24xi1>
  %3 = stablehlo.convert %arg0 : (tensor<24xi32>) -> tensor<24xf32>
  %n = stablehlo.constant dense<0x7FC00000> : tensor<24xf32>
  %4 = stablehlo.select %2, %3, %n : tensor<24xi1>, tensor<24xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.reduce(%4 init: %c) applies stablehlo.add across dimensions = [0] :
      (tensor<24xf32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}"""


def test_indices_are_all_in_range_in_some_runs() -> None:
    """One index out of range makes a sum NaN, whatever else is wrong with it."""
    assert verdicts(FILLED, FILLED) == {True}
    assert verdicts(FILLED, FILLED.replace("dense<0.0>", "dense<1.0>")) == {False}


LARGEST = """func.func @main(%arg0: tensor<10xi32>) -> tensor<i32> {
  %c = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.maximum across dimensions = [0] :
      (tensor<10xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}"""


def test_each_element_is_the_largest_in_some_runs() -> None:
    lacking = LARGEST.replace(
        "%0 =",
        """%p = stablehlo.slice %arg0 [0:9] : (tensor<10xi32>) -> tensor<9xi32>
  %0 =""",
    ).replace("reduce(%arg0", "reduce(%p")
    lacking = lacking.replace("(tensor<10xi32>, tensor<i32>)", "(tensor<9xi32>, tensor<i32>)")
    assert verdicts(LARGEST, lacking) == {False}


def test_small_programs_have_more_runs() -> None:
    assert [rounds_of(elements) for elements in (100, 1 << 13, 1 << 15, 1 << 20)] == [4, 2, 1, 1]


CONVOLVED = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<2x3x4xf32>, %k: tensor<3x4x3xf32>) -> tensor<2x2x3xf32> {
  %a = stablehlo.divide %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>}
      : tensor<2x3x4xf32>
  %b = stablehlo.tanh %k {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {}]>]>}
      : tensor<3x4x3xf32>
  %c = "stablehlo.convolution"(%a, %b) <{
      dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64,
      batch_group_count = 1 : i64, window_strides = array<i64: 2>,
      padding = dense<[[1, 2]]> : tensor<1x2xi64>}> : (tensor<2x3x4xf32>, tensor<3x4x3xf32>)
      -> tensor<2x2x3xf32>
  return %c : tensor<2x2x3xf32>
}"""


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_of_a_kernel_may_meet_nan(seed: int) -> None:
    """Each device has two of three rows of the kernel, so one has a row of zeros, as XLA's program has."""
    made = propagate(Program.parse(CONVOLVED)).partition()
    answer = made.prove(seed=seed)
    assert answer.is_equal, answer
