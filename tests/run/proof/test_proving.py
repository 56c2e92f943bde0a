"""Proofs of local programs written by hand: what is equal, and how the first wrong value is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shardy_py import Program
from shardy_py.api.local_program import LocalProgram
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.movements import LocalSignature
from shardy_py.run.proof import Answer, ProofOptions, prove
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding
from tests.run.proof.by_hand import partitioned_by_hand

MESH = 'sdy.mesh @mesh = <["x"=4]>'
SPLIT, WHOLE = '[{"x"}, {}]', "[{}, {}]"
DOT = f"""{MESH}
func.func @main(%arg0: tensor<7x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<7x5xf32> {{
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<7x4xf32>, tensor<4x5xf32>) -> tensor<7x5xf32>
  %1 = stablehlo.tanh %0 : tensor<7x5xf32>
  return %1 : tensor<7x5xf32>
}}"""
LOCAL_DOT = """
func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<2x5xf32> {
  %0 = stablehlo.dot %arg0, %arg1 : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %1 = stablehlo.tanh %0 : tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}"""
DOT_PAIRS = {
    "%arg0": ("%arg0", SPLIT),
    "%arg1": ("%arg1", WHOLE),
    "%0": ("%0", SPLIT),
    "%1": ("%1", SPLIT),
}
REDUCE = "applies stablehlo.add across dimensions = [0]"
SUM = f"""{MESH}
func.func @main(%arg0: tensor<7xi32>) -> tensor<i32> {{
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%arg0 init: %0) {REDUCE} : (tensor<7xi32>, tensor<i32>) -> tensor<i32>
  return %1 : tensor<i32>
}}"""
GROUPS = (
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
    "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids"
)
ALL_REDUCE = f""""stablehlo.all_reduce"(%3) <{{{GROUPS}}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %9 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }}) : (tensor<i32>) -> tensor<i32>"""
MASKED = """
  %c = stablehlo.partition_id : tensor<ui32>
  %d = stablehlo.convert %c : (tensor<ui32>) -> tensor<i32>
  %e = stablehlo.constant dense<2> : tensor<i32>
  %f = stablehlo.multiply %d, %e : tensor<i32>
  %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %h = stablehlo.iota dim = 0 : tensor<2xi32>
  %i = stablehlo.add %g, %h : tensor<2xi32>
  %j = stablehlo.constant dense<7> : tensor<2xi32>
  %k = stablehlo.compare LT, %i, %j : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %l = stablehlo.constant dense<0> : tensor<2xi32>
  %m = stablehlo.select %k, %arg0, %l : tensor<2xi1>, tensor<2xi32>
"""


def local_sum(*, masked: bool) -> str:
    value = "%m" if masked else "%arg0"
    return f"""
func.func @main(%arg0: tensor<2xi32>) -> tensor<i32> {{
  %2 = stablehlo.constant dense<0> : tensor<i32>{MASKED if masked else ""}
  %3 = stablehlo.reduce({value} init: %2) {REDUCE} : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  %4 = {ALL_REDUCE}
  return %4 : tensor<i32>
}}"""


def proven(whole: str, local: str, pairs: dict[str, tuple[str, str]], *, floats: bool = False) -> Answer:
    return prove(partitioned_by_hand(whole, local, pairs), ProofOptions(floats=floats))


def test_an_uneven_product_is_equal() -> None:
    answer = proven(DOT, LOCAL_DOT, DOT_PAIRS)
    assert answer.is_equal
    assert len(answer.tally.compared) == 2
    assert (answer.tally.elements, answer.tally.padded) == (70, 10)
    assert str(answer).startswith("equal: 2 of 2 values compared, 70 elements on 4 devices")


def test_the_first_wrong_value_is_named() -> None:
    answer = proven(DOT, LOCAL_DOT.replace("tanh", "sine"), DOT_PAIRS)
    assert answer.fault is not None
    assert answer.fault.name == "%1 = stablehlo.sine, the part of %1 = stablehlo.tanh"
    assert answer.fault.where is not None
    assert answer.fault.where.line == 4
    assert (answer.fault.device, answer.fault.index) == (0, (0, 0))
    with pytest.raises(ShardyError, match="on device 0 at"):
        answer.check()


def test_the_index_in_the_whole_tensor_is_named() -> None:
    local = LOCAL_DOT.replace(
        "%1 = stablehlo.tanh %0 : tensor<2x5xf32>",
        """%a = stablehlo.partition_id : tensor<ui32>
  %b = stablehlo.constant dense<2> : tensor<ui32>
  %c = stablehlo.compare EQ, %a, %b : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %d = stablehlo.tanh %0 : tensor<2x5xf32>
  %1 = stablehlo.select %c, %0, %d : tensor<i1>, tensor<2x5xf32>""",
    )
    pairs = DOT_PAIRS | {_name_of(local, "stablehlo.select"): DOT_PAIRS["%1"]}
    del pairs["%1"]
    fault = proven(DOT, local, pairs).fault
    assert fault is not None
    assert (fault.device, fault.index, fault.whole_index) == (2, (0, 0), (4, 0))


@pytest.mark.parametrize("masked", [True, False])
def test_padding_must_not_matter(*, masked: bool) -> None:
    answer = proven(SUM, local_sum(masked=masked), {"%arg0": ("%arg0", '[{"x"}]')})
    assert answer.is_equal == masked
    assert not masked or answer.tally.padded == 0


def test_replicas_agree() -> None:
    text = f"""{MESH}
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}}"""
    local = """
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<f32>
  %2 = stablehlo.constant dense<1.0e-30> : tensor<f32>
  %3 = stablehlo.multiply %1, %2 : tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
  %6 = stablehlo.multiply %4, %4 : tensor<4xf32>
  %7 = stablehlo.add %5, %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}"""
    pairs = {"%arg0": ("%arg0", "[{}]"), _name_of(local, "stablehlo.add", 1): ("%0", "[{}]")}
    assert not proven(text, local, pairs).is_equal
    assert proven(text, local, pairs, floats=True).is_equal
    local = local.replace("1.0e-30", "1.0e-8")
    fault = proven(text, local, pairs, floats=True).fault
    assert fault is not None
    assert fault.what == "replicas on devices 0 and 1 differ"


def test_iterations_correspond() -> None:
    def loop(shape: str, body: str) -> str:
        return f"""
func.func @main(%arg0: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%x = %arg0, %i = %0) : tensor<{shape}xf32>, tensor<i32> cond {{
    %3 = stablehlo.constant dense<5> : tensor<i32>
    %4 = stablehlo.compare LT, %i, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }} do {{
    %3 = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %i, %3 : tensor<i32>
    {body}
    stablehlo.return %5, %4 : tensor<{shape}xf32>, tensor<i32>
  }}
  return %1#0 : tensor<{shape}xf32>
}}"""

    body = "%5 = stablehlo.cosine %x : tensor<{}xf32>"
    whole = MESH + loop("7", body.format("7"))
    local = loop("2", body.format("2"))
    pairs = {"%arg0": ("%arg0", '[{"x"}]')}
    for op in ("stablehlo.cosine", "stablehlo.while"):
        pairs[_name_of(local, op)] = (_name_of(whole, op), '[{"x"}]')
    answer = proven(whole, local, pairs)
    assert answer.is_equal
    assert answer.tally.values == 6


def _name_of(text: str, op: str, number: int = 0) -> str:
    names = [value.name for value in Program.parse(text).values if value.op_name == op]
    return names[number]


def test_runs_take_and_return_whole_arrays() -> None:
    partitioned = partitioned_by_hand(DOT, LOCAL_DOT, DOT_PAIRS)
    local = LocalProgram(Program(partitioned.whole), partitioned)
    a, b = (np.random.default_rng(0).random(shape, np.float32) for shape in ((7, 4), (4, 5)))
    np.testing.assert_allclose(local.run([a, b])["result 0"], np.tanh(a @ b), rtol=1e-6)
    assert local.devices == 4
    assert local.memory().largest(1)
    assert not local.communication().sending


COUNT = f"""{MESH}
func.func @main(%arg0: tensor<7xf32>) -> tensor<i32> {{
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<5.0> : tensor<7xf32>
  %2 = stablehlo.compare GT, %arg0, %1 : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  %3 = stablehlo.convert %2 : (tensor<7xi1>) -> tensor<7xi32>
  %4 = stablehlo.reduce(%3 init: %0) {REDUCE} : (tensor<7xi32>, tensor<i32>) -> tensor<i32>
  return %4 : tensor<i32>
}}"""
LOCAL_COUNT = f"""
func.func @main(%arg0: tensor<2xf32>) -> tensor<i32> {{
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<5.0> : tensor<2xf32>
  %2 = stablehlo.compare GT, %arg0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %c = stablehlo.convert %2 : (tensor<2xi1>) -> tensor<2xi32>
  %3 = stablehlo.reduce(%c init: %0) {REDUCE} : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  %4 = {ALL_REDUCE}
  return %4 : tensor<i32>
}}"""


def test_padding_is_poisoned_with_numbers_too() -> None:
    answer = proven(COUNT, LOCAL_COUNT, {"%arg0": ("%arg0", '[{"x"}]')}, floats=True)
    assert answer.runs == ("padding NaN", "padding 1e30")
    assert answer.fault is not None
    assert answer.fault.where is not None
    assert answer.fault.where.line == 7


def test_what_is_nan_is_computed_from_positive_inputs_again() -> None:
    text = f"""{MESH}
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = stablehlo.log %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}}"""
    local = """
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.log %arg0 : tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    split = '[{"x"}]'
    answer = proven(text, local, {"%arg0": ("%arg0", split), "%0": ("%0", split)}, floats=True)
    assert answer.is_equal
    assert answer.runs == ("padding NaN", "positive inputs")
    assert answer.tally.nans == 0


def test_ties_make_the_bound_useless_and_are_counted() -> None:
    text = """sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<1.0e16> : tensor<8xf32>
  %1 = stablehlo.multiply %arg0, %0 : tensor<8xf32>
  %2 = stablehlo.sine %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}"""
    local = text.split("\n", 1)[1].replace("8xf32", "2xf32")
    split = '[{"x"}]'
    pairs = {name: (name, split) for name in ("%arg0", "%0", "%1")}
    answer = proven(text, local, pairs, floats=True)
    assert answer.is_equal
    assert len(answer.tally.loose) == 1
    assert "1 values have bounds above 0.001" in str(answer)


@pytest.mark.parametrize("is_noted", [True, False])
def test_arguments_are_split_as_the_local_program_takes_them(*, is_noted: bool) -> None:
    def program(size: int, attributes: str = "") -> str:
        return f"""
func.func @main(%arg0: tensor<{size}xf32> {attributes}) -> tensor<{size}xf32> {{
  %0 = stablehlo.tanh %arg0 : tensor<{size}xf32>
  return %0 : tensor<{size}xf32>
}}"""

    rows = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    whole = 'sdy.mesh @mesh = <["x"=2, "y"=2]>' + program(8, rows)
    made = partitioned_by_hand(whole, program(4), {"%0": ("%0", '[{"y"}]')})
    columns = TensorSharding("mesh", (DimensionSharding((AxisRef("y" if is_noted else "x"),)),))
    signature = LocalSignature("main", (columns,), (columns,))
    answer = prove(replace(made, events=(*made.events, signature)))
    assert answer.is_equal == is_noted


def test_a_scalar_for_a_tensor_is_named() -> None:
    partitioned = partitioned_by_hand(DOT, LOCAL_DOT, DOT_PAIRS)
    local = LocalProgram(Program(partitioned.whole), partitioned)
    with pytest.raises(ShardyError, match=r"got a scalar float32"):
        local.run([1, np.zeros((4, 5), np.float32)])
