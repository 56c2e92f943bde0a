from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes import pass_call
from shardy_py.passes.runner import run_passes

PROGRAM = """
sdy.mesh @mesh = <["a"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @unknown(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule =
      #sdy.op_sharding_rule<([i, j])->([j, i]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.custom_call @unknown_too(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.tanh %1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>}
      : tensor<8x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
"""


def apply(name: str, **options: Any) -> ModuleOp:
    module = parse_module(PROGRAM, "program.mlir")
    return run_passes(module, (pass_call(name, **options),), verify="never")


def rules(module: ModuleOp) -> dict[str, str]:
    return {
        op.name.partition(".")[2]: str(op.attributes["sdy.sharding_rule"].data)  # type: ignore[attr-defined]
        for op in walk_pre_order(module)
        if "sdy.sharding_rule" in op.attributes
    }


PROPAGATION = [f"sdy-{kind}-propagate" for kind in ("basic", "aggressive", "op-priority", "user-priority")]
CUSTOM = {"custom_call": "<([i, j])->([j, i]) {i=8, j=8}, custom>"}
ALL = CUSTOM | {
    "tanh": "<([i, j])->([i, j]) {i=8, j=8}>",
    "add": "<([i, j], [i, j])->([i, j]) {i=8, j=8}>",
}


@pytest.mark.parametrize("name", PROPAGATION)
def test_only_rules_of_the_user_stay_unless_asked(name: str) -> None:
    assert rules(apply(name)) == CUSTOM
    assert rules(apply(name, keep_sharding_rules=True)) == ALL


def test_all_rules_at_once() -> None:
    assert rules(apply("sdy-populate-op-sharding-rules")) == ALL


@pytest.mark.parametrize("name", [*PROPAGATION, "sdy-populate-op-sharding-rules"])
def test_the_first_unknown_op_is_warned_of(name: str) -> None:
    with collected_warnings() as warnings:
        apply(name)
    (warning,) = warnings
    assert warning.severity == "warning"
    assert warning.message == "custom call @unknown is unknown to SDY sharding rule registry"
    assert warning.where is not None
    assert (warning.where.file, warning.where.line) == ("program.mlir", 4)


def test_the_rule_of_the_user_decides() -> None:
    module = apply("sdy-user-priority-propagate")
    shardings = {
        op.name.partition(".")[2]: str(op.attributes["sdy.sharding"].data[0])  # type: ignore[attr-defined]
        for op in walk_pre_order(module)
        if "sdy.sharding" in op.attributes
    }
    assert shardings["tanh"] == '<@mesh, [{?}, {"a", ?}]>'


MISMATCHED = """
func.func @main() -> tensor<4x4xf32> {
  %0:2 = "stablehlo.custom_call"() {call_target_name = "Eigh"} : () -> (tensor<4x4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4x4xf32>
}
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sdy-populate-op-sharding-rules", {}),
        ("sdy-basic-propagate", {}),
        ("sdy-insert-explicit-reshards", {"enable_full_version": True}),
    ],
)
def test_ops_without_the_operands_of_their_rule_are_located(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ShardyError) as caught:
        run_passes(parse_module(MISMATCHED, "program.mlir"), [pass_call(name, **options)])
    message = "'stablehlo.custom_call' op has attributes that do not match its types"
    assert str(caught.value) == f"program.mlir:3:10: error: {message}"


def test_a_group_has_what_the_source_of_an_edge_at_a_boundary_sees() -> None:
    """The edge has the manual axis `c`, the other member of its group has not, as in C++."""
    text = """sdy.mesh @mesh = <["a"=2, "c"=2]>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a", ?}, {?}]>]
      out_shardings=[<@mesh, [{?}, {}], replicated={"c"}>] manual_axes={"c"} (%i: tensor<4x8xf32>) {
    %3 = sdy.data_flow_edge %i sharding=<@mesh, [{"a", ?}, {?}]> : tensor<4x8xf32>
    sdy.return %3 : tensor<4x8xf32>
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{?}, {}], replicated={"c"}> : tensor<4x8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<4x8xf32>
  %2 = stablehlo.abs %1 : tensor<4x8xf32>
  sdy.sharding_group %2 group_id=0 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
"""
    module = run_passes(parse_module(text), (pass_call("sdy-user-priority-propagate"),), verify="never")
    printed = print_module(module)
    assert 'sharding=<@mesh, [{"a", ?}, {}], replicated={"c"}> : tensor<4x8xf32>' in printed
    member = '<[<@mesh, [{"a", ?}, {}]>]>'
    assert f"stablehlo.abs %1 {{sdy.sharding = #sdy.sharding_per_value{member}}}" in printed
