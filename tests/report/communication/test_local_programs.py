"""Collectives of local programs are traced to the op of the whole program that requires each."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.report.communication import communication_json

HEAD = 'sdy.mesh @mesh = <["x"=4]>\nfunc.func @main('
CASES = {
    "sum": (
        """%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32> loc("here")
  return %0 : tensor<8xf32>
}""",
        ("all_reduce", "stablehlo.reduce", -1, "stablehlo.reduce reduces a sharded dimension"),
    ),
    "halo": (
        """%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<16xf32> loc("here")
  return %0 : tensor<16xf32>
}""",
        (
            "collective_permute",
            "stablehlo.reverse",
            -1,
            "stablehlo.reverse reads beyond the local shards of its operands",
        ),
    ),
    "whole operand": (
        """%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.custom_call @unknown(%a) : (tensor<16xf32>) -> tensor<16xf32> loc("here")
  return %0 : tensor<16xf32>
}""",
        (
            "all_gather",
            "stablehlo.custom_call",
            0,
            "operand 0 of stablehlo.custom_call requires another sharding",
        ),
    ),
    "uneven": (
        """%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<10xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
      : tensor<10xf32> loc("here")
  return %0 : tensor<10xf32>
}""",
        ("all_gather", "func.return", 0, "operand 0 of func.return requires another sharding"),
    ),
    "constraint": (
        """%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<16xf32> loc("here")
  return %0 : tensor<16xf32>
}""",
        ("all_gather", "sdy.sharding_constraint", -1, "the program constrains the sharding here"),
    ),
    "written": (
        """%a: tensor<16xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
      manual_axes={"x"} (%b: tensor<4xf32>) {
    %1 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}>
        : (tensor<4xf32>) -> tensor<4xf32> loc("here")
    sdy.return %1 : tensor<4xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}""",
        ("collective_permute", "stablehlo.collective_permute", -1, "written in the program"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_the_op_of_the_whole_program(case: str) -> None:
    body, expected = CASES[case]
    local = propagate(Program.parse(HEAD + body, "f.mlir")).partition()
    report = local.communication()
    use = next(use for use in report.sending if use.kind == expected[0])
    cause = use.cause
    assert (use.kind, cause.op, cause.operand, cause.reason) == expected
    assert cause.is_explicit is (case in ("constraint", "written"))
    assert cause.location.startswith("f.mlir:5" if case == "uneven" else "here")
    assert cause.made_for in set(local.whole.module.walk())
    assert cause.reason in str(report)
    assert [found["cause"]["reason"] for found in communication_json(report)["collectives"]] == [
        other.cause.reason for other in report.collectives
    ]
