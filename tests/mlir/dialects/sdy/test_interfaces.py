"""The interfaces of sdy as ops of another dialect implement them: every pass asks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.mlir.dialects import parse_module, print_module, register_dialect
from shardy_py.mlir.dialects.sdy import (
    ManualAxesAttr,
    ManualDataFlow,
    ShardableDataFlowOpInterface,
    ShardingRuleOpInterface,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.sdy.interfaces import Shardings, Source, index_of
from shardy_py.mlir.dialects.sdy.verify_sharding import sharding_of
from shardy_py.mlir.dialects.traits import required_data_flow
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import find_ops
from shardy_py.ops import TABLE, OpRecord
from shardy_py.passes import pass_call, pipelines
from shardy_py.passes.propagate.auto_partition import first_change, structure
from shardy_py.passes.runner import run_passes
from shardy_py.propagation.rules import einsum_rule
from shardy_py.sharding import ShardingRule


@irdl_op_definition
class EndOp(IRDLOperation):
    name = "other.end"
    values = var_operand_def()
    traits = traits_def(IsTerminator())


@irdl_op_definition
class LocalOp(IRDLOperation):
    """A manual computation of another dialect."""

    name = "other.local"
    inputs = var_operand_def()
    in_shardings = opt_prop_def(TensorShardingPerValueAttr)
    out_shardings = opt_prop_def(TensorShardingPerValueAttr)
    manual_axes = opt_prop_def(ManualAxesAttr)
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(ManualDataFlow())


class StageDataFlow(ShardableDataFlowOpInterface):
    """Keeps all shardings in one attribute: of arguments, then of results."""

    sharding_properties = ("other.all",)

    def _all(self, op: Operation) -> Shardings:
        held = op.attributes.get("other.all")
        return held.data if isinstance(held, TensorShardingPerValueAttr) else ()

    @override
    def block_argument_edge_owners(self, op: Operation) -> Any:
        return op.regions[0].block.args

    @override
    def edge_sources(self, op: Operation, owner: SSAValue) -> tuple[Source, ...]:
        if owner in op.regions[0].block.args:
            return ((op, index_of(owner)),)
        last = op.regions[0].block.last_op
        assert last is not None
        return ((last, index_of(owner)),)

    @override
    def edge_owner_from_target(self, op: Operation, target: SSAValue) -> SSAValue | None:
        return target

    @override
    def block_argument_edge_owner_shardings(self, op: Operation) -> Shardings:
        return self._all(op)[: len(op.operands)]

    @override
    def op_result_edge_owner_shardings(self, op: Operation) -> Shardings:
        return self._all(op)[len(op.operands) :]

    @override
    def set_block_argument_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        results = self.op_result_edge_owner_shardings(op)
        op.attributes["other.all"] = TensorShardingPerValueAttr(shardings + results)

    @override
    def set_op_result_edge_owner_shardings(self, op: Operation, shardings: Shardings) -> None:
        arguments = self.block_argument_edge_owner_shardings(op)
        op.attributes["other.all"] = TensorShardingPerValueAttr(arguments + shardings)


@irdl_op_definition
class StageOp(IRDLOperation):
    name = "other.stage"
    inputs = var_operand_def()
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(StageDataFlow())


class FlipRule(ShardingRuleOpInterface):
    should_keep_output_shardings_divisible = True

    @override
    def sharding_rule(self, record: OpRecord) -> ShardingRule | None:
        (operand,), (result,) = record.operands, record.results
        assert operand is not None
        assert result is not None
        return einsum_rule("i j -> j i", [operand], [result], is_custom=False)


@irdl_op_definition
class FlipOp(IRDLOperation):
    name = "other.flip"
    value = var_operand_def()
    res = var_result_def()
    traits = traits_def(FlipRule())

    def verify_(self) -> None:
        if len(self.value) != 1:
            raise VerifyException("flips one value")


OTHER = Dialect("other", [EndOp, LocalOp, StageOp, FlipOp])


@pytest.fixture(scope="module", autouse=True)
def _dialect() -> Iterator[None]:
    before = dict(TABLE)
    register_dialect(OTHER)
    yield
    TABLE.clear()
    TABLE.update(before)


def applied(module: ModuleOp, name: str, **options: Any) -> ModuleOp:
    return run_passes(module, (pass_call(name, **options),))


def run(text: str, *names: str) -> str:
    module = parse_module(text)
    verify_module(module)
    for name in names:
        applied(module, name)
    return print_module(module)


PROPAGATE = ("sdy-add-data-flow-edges", "sdy-basic-propagate", "sdy-sink-data-flow-edges")
LOCAL = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>}) -> tensor<16xf32> {
  %0 = "other.local"(%arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"a", ?}]>]>,
      manual_axes = #sdy<manual_axes{"a"}>,
      out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a", ?}]>]>}> ({
  ^bb0(%arg1: tensor<8xf32>):
    %1 = stablehlo.abs %arg1 : tensor<8xf32>
    "other.end"(%1) : (tensor<8xf32>) -> ()
  }) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""
STAGE = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<16xf32> {
  %0 = "other.stage"(%arg0) ({
  ^bb0(%arg1: tensor<16xf32>):
    %1 = stablehlo.abs %arg1 : tensor<16xf32>
    "other.end"(%1) : (tensor<16xf32>) -> ()
  }) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""
FLIP = """
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%arg0: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
    -> tensor<4x6xf32> {
  %0 = "other.flip"(%arg0) : (tensor<6x4xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
"""


def test_manual_axes_stay_outside() -> None:
    text = run(LOCAL, *PROPAGATE)
    assert 'in_shardings = #sdy.sharding_per_value<[<@mesh, [{"a", "b", ?}]>]>' in text
    assert 'out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a", "b", ?}]>]>' in text
    assert 'stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b", ?}]>]>}' in text
    assert "data_flow_edge" not in text


def test_shardings_are_kept_where_the_interface_says() -> None:
    text = run(STAGE, *PROPAGATE)
    assert '{other.all = #sdy.sharding_per_value<[<@mesh, [{"a", ?}]>, <@mesh, [{"a", ?}]>]>}' in text
    assert "stablehlo.abs %arg1 {sdy.sharding" in text
    closed = run(text, "sdy-close-shardings")
    assert '{other.all = #sdy.sharding_per_value<[<@mesh, [{"a"}]>, <@mesh, [{"a"}]>]>}' in closed
    module = parse_module(closed)
    (stage,) = find_ops(module, "other.stage")
    assert str(sharding_of(stage.regions[0].block.args[0])) == '<@mesh, [{"a"}]>'
    assert str(sharding_of(stage.results[0])) == '<@mesh, [{"a"}]>'


def test_reshards_go_before_sources() -> None:
    text = run(STAGE, *PROPAGATE).replace(
        'other.all = #sdy.sharding_per_value<[<@mesh, [{"a", ?}]>',
        'other.all = #sdy.sharding_per_value<[<@mesh, [{"b", ?}]>',
    )
    # The minimal version leaves it to the partitioner.
    assert "sdy.reshard" not in run(text, "sdy-insert-explicit-reshards")
    full = applied(parse_module(text), "sdy-insert-explicit-reshards", enable_full_version=True)
    assert 'sdy.reshard %arg0 <@mesh, [{"b", ?}]>' in print_module(full)


def test_a_new_sharding_is_no_other_change() -> None:
    module = parse_module(run(STAGE, *PROPAGATE))
    before = structure(module)
    (stage,) = find_ops(module, "other.stage")
    flow = required_data_flow(stage)
    opened = tuple(replace(s, dimensions=s.dimensions) for s in flow.op_result_edge_owner_shardings(stage))
    flow.set_op_result_edge_owner_shardings(stage, opened)
    assert first_change(before, structure(module)) is None


def test_an_op_brings_its_rule() -> None:
    text = run(FLIP, "sdy-basic-propagate")
    assert 'sdy.sharding_per_value<[<@mesh, [{?}, {"b", ?}]>]>' in text
    rules = run(FLIP, "sdy-populate-op-sharding-rules")
    assert "<([i, j])->([j, i]) {i=6, j=4}>" in rules
    # 4 does not divide 6, but must divide what the op gives; 2 does.
    even = run(text, "sdy-update-non-divisible-input-output-shardings")
    assert 'sdy.sharding_per_value<[<@mesh, [{?}, {"b":(1)2, ?}]>]>' in even


TWICE = FLIP.replace("(%arg0)", "(%arg0, %arg0)").replace(
    ": (tensor<6x4xf32>)", ": (tensor<6x4xf32>, tensor<6x4xf32>)"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            STAGE.replace('"other.end"(%1) : (tensor<16xf32>) -> ()', '"other.end"() : () -> ()'),
            "'other.stage' op lacks an operand, a result, a block argument or a terminator",
        ),
        (
            STAGE.replace(
                "^bb0(%arg1: tensor<16xf32>)", "^bb0(%arg1: tensor<16xf32>, %arg2: tensor<16xf32>)"
            ),
            "'other.stage' op lacks an operand, a result, a block argument or a terminator",
        ),
        (
            STAGE.replace("-> tensor<16xf32> {\n  %0", "-> tensor<8xf32> {\n  %0")
            .replace("}) : (tensor<16xf32>) -> tensor<16xf32>", "}) : (tensor<16xf32>) -> tensor<8xf32>")
            .replace("return %0 : tensor<16xf32>", "return %0 : tensor<8xf32>"),
            "'other.stage' op has a data-flow edge between values of different shapes: "
            "'tensor<16xf32>' and 'tensor<8xf32>'",
        ),
        (TWICE, "'other.flip' op flips one value"),
    ],
)
def test_faults_of_their_use_are_named(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        verify_module(parse_module(text))
    assert message in str(caught.value)


def test_the_whole_pipeline_knows_them() -> None:
    for text in (LOCAL, STAGE, FLIP):
        module = parse_module(text)
        with collected_warnings() as warnings:
            run_passes(module, pipelines.propagation_passes(), verify="each")
        assert warnings == []
        assert "data_flow_edge" not in print_module(module)
