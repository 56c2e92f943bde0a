"""Checks that no text reaches, for the reader would not make such values; Python can."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.sharding import DimensionSharding, Factor, Mesh, MeshAxis, ShardingRule, TensorSharding

TENSOR = TensorType(f32, [8])
MESH = Mesh((MeshAxis("x", 2),))


def constant(attributes: dict[str, Attribute]) -> Operation:
    op = sdy.ConstantOp(DenseIntOrFPElementsAttr.from_list(TENSOR, [0.0]))
    op.attributes.update(attributes)
    return op


def faults(op: Operation, mesh: Mesh = MESH) -> str:
    block = Block([op, ReturnOp()])
    function = FuncOp("main", FunctionType.from_lists([], []), Region(block))
    with pytest.raises(ShardyError) as caught:
        verify_module(ModuleOp([sdy.MeshOp("mesh", mesh), function]))
    return str(caught.value)


def test_a_priority_below_zero() -> None:
    sharding = TensorSharding("mesh", (DimensionSharding((), priority=-1),))
    held = {"sdy.sharding": sdy.TensorShardingPerValueAttr((sharding,))}
    assert "dim 0 has a negative priority" in faults(constant(held))


def test_a_rule_without_operands() -> None:
    rule = ShardingRule((Factor(8),), (), (((0,),),))
    message = faults(constant({"sdy.sharding_rule": sdy.OpShardingRuleAttr(rule)}))
    assert "number of operands mappings cannot be 0. Op sharding rules can only be defined on" in message


def test_device_ids_in_their_own_order() -> None:
    message = faults(constant({}), Mesh((MeshAxis("x", 2),), (0, 1)))
    assert "if the ordered device ids are the same as iota(product(axes)), no need to specify" in message
