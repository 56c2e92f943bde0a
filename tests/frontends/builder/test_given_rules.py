"""Sharding rules given to ops: the reshards that they require, warnings, rules that do not fit."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from shardy_py.api import Mesh, P, Program, Result, ShardyError, propagate
from shardy_py.frontends.builder import Argument, build, emit, ops, tensor
from shardy_py.propagation.rules import einsum_rule

MESH = Mesh.of(data=4, model=2)
X = tensor((32, 256))
ROWS = Argument(X, P("data", "model"))
CROSSED = Argument(X, P("model", "data"))


def call(notation: str, result: Any = X, **options: Any) -> Any:
    """A function of two tensors that calls a target with that rule."""
    rule = partial(einsum_rule, notation, **options)
    return lambda x, y: ops.custom_call("mine", [x, y], [result], sharding_rule=rule)[0]


def result_of(function: Any, *arguments: Any, record: bool = True) -> Result:
    return propagate(build(function, *arguments, mesh=MESH), record=record)


@pytest.mark.parametrize("record", [True, False])
def test_a_factor_that_needs_replication_is_resharded(record: bool) -> None:
    whole = call("b h, b h -> b h", need_replication=["h"], is_custom=False)
    report = result_of(whole, ROWS, ROWS, record=record).communication()
    assert report.counts == {"all_to_all": 3}  # the axis moves to the rows, and back
    assert {use.axes for use in report.sending} == {(("model", 2),)}
    assert {use.cause.op for use in report.sending} == {"stablehlo.custom_call"}


def test_conflicting_operands_are_resharded() -> None:
    report = result_of(call("b h, b h -> b h", is_custom=False), ROWS, CROSSED).communication()
    assert report.sending
    assert not report.warnings


def test_the_rule_of_a_user_goes_before_the_own_rule_of_an_op() -> None:
    rule = partial(einsum_rule, "b h, b h -> b h", need_replication=["h"])
    result = result_of(lambda x, y: emit("add", x, y, sharding_rule=rule)[0], ROWS, ROWS)
    assert result.communication().counts == {"all_to_all": 3}
    assert "sharding_rule" not in result.text() + result.communicating.text()


@pytest.mark.parametrize(
    ("name", "is_custom"), [("add", False), ("chlo.next_after", False), ("custom_call", True)]
)
def test_rules_are_custom_where_ops_may_have_a_partitioner(name: str, is_custom: bool) -> None:
    target: Any = {"call_target_name": "mine"} if name == "custom_call" else {}

    def text(rule: Any) -> str:
        return build(lambda x: emit(name, x, x, results=X, sharding_rule=rule, **target)[0], X).text()

    notation = "b h, b h -> b h"
    for rule in (notation, partial(einsum_rule, notation)):
        assert (", custom>" in text(rule)) == is_custom
    for given in (True, False):
        assert (", custom>" in text(partial(einsum_rule, notation, is_custom=given))) == given


def test_a_reduction_is_reduced() -> None:
    summed = call("b h, b h -> b", tensor((32,)), reduction=["h"], is_custom=False)
    assert result_of(summed, ROWS, ROWS).communication().counts == {"all_reduce": 1}


@pytest.mark.parametrize("other", [ROWS, CROSSED])
def test_what_a_custom_rule_leaves_to_the_partitioner_is_counted(other: Argument) -> None:
    result = result_of(call("b h, b h -> b h", need_replication=["h"]), ROWS, other)
    report, sent = result.communication(), result.partition().communication()
    assert report.counts == sent.counts
    assert "all_to_all" in report.counts
    assert report.total.bytes == sent.total.bytes
    assert not report.warnings


def test_a_custom_rule_that_fits_does_not_warn() -> None:
    report = result_of(call("b h, b h -> b h"), ROWS, ROWS).communication()
    assert str(report).splitlines()[1:] == ["The program needs no communication."]


def test_a_factor_in_no_result_must_be_marked() -> None:
    message = (
        r"test_given_rules.py:\d+:\d+: error: sharding rule of stablehlo.custom_call: dimension 1 of "
        r"operand 0: expected .*, got factor j of size 256, in no result; mark it"
    )
    with pytest.raises(ShardyError, match=message):
        build(call("b h, b h -> b", tensor((32,))), ROWS, ROWS, mesh=MESH)


def test_rules_in_text_are_counted_too() -> None:
    rule = "#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} need_replication={j}>"
    text = f"""sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}})
    -> tensor<8x8xf32> {{
  %0 = stablehlo.custom_call @f(%arg0) {{sdy.sharding_rule = {rule}}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}}"""
    assert propagate(Program.parse(text)).communication().counts == {"all_to_all": 2}
